"""What becomes of a record, decided by pure functions.

An attempt ends as one of a closed union, matched exhaustively where it is settled::

    Outcome
     ├ Done        the handler returned: settled
     ├ Duplicate   its identity has completed before: settled
     ├ Retry       run again later; the record stays unsettled, its subject waits
     ├ Hold        the same, and it counts as nothing
     └ GiveUp      write a dead letter; settled once that is confirmed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tenacity import RetryCallState, Retrying, stop_after_attempt, stop_after_delay, wait_exponential_jitter

from hookline.contract import DeadLetterClass, HookFailure
from hookline.errs import RETRY_AFTER_LIMIT_SECONDS

if TYPE_CHECKING:
    from hookline.errs import Verdict

    from ._delivery import Identity

_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Done:
    """The handler returned; the record's identity, if it has one, is complete from now on."""


DONE: Final = Done()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The record's identity had completed before, at `offset`; nothing was run.

    `agrees` is False when it says something else than that record: somebody mints ids wrongly.
    """

    identity: Identity
    offset: int
    agrees: bool = True


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the record again after a wait that holds no slot, no thread and no poll."""

    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Run the record again after a wait that counts as no attempt: it could not even begin."""

    delay_seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Write a dead letter.

    `code` is a stable word in snake case, `message` one line for people, `failures` a member per part that failed.
    """

    letter_class: DeadLetterClass
    code: str
    message: str
    failures: tuple[HookFailure, ...] = ()


Outcome: TypeAlias = Done | Duplicate | Retry | Hold | GiveUp


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long failures are tried again.

    Attempts bound what is retryable by itself; time bounds what fails because a dependency is away, so that a
    receiver's restart costs no dead letter. Waits double from `initial_seconds` up to `max_seconds`, with a tenth of
    jitter.
    """

    max_attempts: int = 5
    initial_seconds: float = 1.0
    max_seconds: float = 60.0
    dependency_seconds: float = 21_600.0

    def delay_seconds(self, attempt: int) -> float:
        """Tell the wait after failed attempt number `attempt`, counted from 1."""
        wait = wait_exponential_jitter(
            multiplier=self.initial_seconds, max=self.max_seconds, jitter=self.initial_seconds * _JITTER
        )
        return float(wait(_state(attempt, 0.0)))

    def is_spent(self, verdict: Verdict, attempt: int, elapsed_seconds: float) -> bool:
        """Tell whether a retryable failure has used up its bound: time for a dependency, attempts otherwise."""
        stop = (
            stop_after_delay(self.dependency_seconds) if verdict.dependency else stop_after_attempt(self.max_attempts)
        )
        return bool(stop(_state(attempt, elapsed_seconds)))


def decide(
    verdict: Verdict, attempt: int, elapsed_seconds: float, policy: RetryPolicy, *, at_least_seconds: float = 0.0
) -> Retry | DeadLetterClass:
    """Decide what follows failed attempt number `attempt`.

    `elapsed_seconds` runs from the first failure; `at_least_seconds` is a wait that the dependency asked for
    (`Retry-After`), honoured up to an hour.
    """
    if not verdict.retryable:
        return DeadLetterClass.PERMANENT
    if policy.is_spent(verdict, attempt, elapsed_seconds):
        return DeadLetterClass.EXHAUSTED
    asked_seconds = min(at_least_seconds, RETRY_AFTER_LIMIT_SECONDS)
    return Retry(max(policy.delay_seconds(attempt), asked_seconds))


def _state(attempt: int, elapsed_seconds: float) -> RetryCallState:
    """Build the view of an attempt that tenacity's wait and stop functions read; nothing here sleeps or calls."""
    state = RetryCallState(_UNUSED, None, (), {})
    state.attempt_number = attempt
    state.start_time = 0.0
    state.outcome_timestamp = elapsed_seconds
    return state


_UNUSED = Retrying()
