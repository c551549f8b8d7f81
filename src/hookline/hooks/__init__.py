"""The stage: which hooks an event belongs to, and how each of them fares.

decode -> validate -> `Hooks.for_event` -> run all together -> collect errors -> decide for each hook.
"""

from ._blocking import hook_in
from ._conditions import Condition, ConditionError, InvalidConditionError
from ._gates import CLOSED_BY_HOOKLINE, Gate, Gates
from ._hook import DEFAULT_TIMEOUT_SECONDS, DeliveryHook, Hook, HookDelivery, Resolver
from ._log import EventLog
from ._memory import EarlierFailureError
from ._merging import Place, join_former_into_own, join_into_own, join_into_shared
from ._own_letters import HookNotRunError, OwnLetters
from ._policy import BreakerPolicy, GuardPolicy, HookPolicy
from ._registry import DuplicateHookError, Hooks, MergedHooks, hooks_of, type_pattern
from ._roster import read_beginning, read_roster, write_roster
from ._rules import Rule, RuledHooks
from ._runs import HookGoneError
from ._served import ServedHooks
from ._stage import Stage, StagePolicy
from ._superseded import is_superseded
from ._trial import Trial, TrialOutcome, Trials
from ._troubles import HookTrouble, ReceiverGoneError, TroubleKind
from ._valid import InvalidHookError

__all__ = [
    "CLOSED_BY_HOOKLINE",
    "DEFAULT_TIMEOUT_SECONDS",
    "BreakerPolicy",
    "Condition",
    "ConditionError",
    "DeliveryHook",
    "DuplicateHookError",
    "EarlierFailureError",
    "EventLog",
    "Gate",
    "Gates",
    "GuardPolicy",
    "Hook",
    "HookDelivery",
    "HookGoneError",
    "HookNotRunError",
    "HookPolicy",
    "HookTrouble",
    "Hooks",
    "InvalidConditionError",
    "InvalidHookError",
    "MergedHooks",
    "OwnLetters",
    "Place",
    "ReceiverGoneError",
    "Resolver",
    "Rule",
    "RuledHooks",
    "ServedHooks",
    "Stage",
    "StagePolicy",
    "Trial",
    "TrialOutcome",
    "Trials",
    "TroubleKind",
    "hook_in",
    "hooks_of",
    "is_superseded",
    "join_former_into_own",
    "join_into_own",
    "join_into_shared",
    "read_beginning",
    "read_roster",
    "type_pattern",
    "write_roster",
]
