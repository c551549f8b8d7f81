"""Hooks as the stage calls them: with their names, limits and counters at hand."""

from __future__ import annotations

import inspect
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ._hook import DEFAULT_TIMEOUT_SECONDS, takes_delivery
from ._policy import HookPolicy
from ._registry import by_name, declined_by
from ._superseded import count_superseded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from hookline.contract import Event
    from hookline.telemetry import Metrics

    from ._admission import Admission
    from ._hook import Hook, Resolver

_PLANS_REMEMBERED: Final = 1_024


class WiredHook:
    """A hook, how it is treated, and what is counted of it."""

    __slots__ = (
        "coroutine_function", "errors", "hook", "in_flight", "is_free", "limits", "name", "note_superseded", "oks", "policy", "seconds",
        "takes_delivery",
    )  # fmt: skip

    def __init__(self, name: str, hook: Hook, metrics: Metrics, policy: HookPolicy, admission: Admission) -> None:
        self.name = name
        self.hook = hook
        own = getattr(hook, "policy", None)
        self.policy = policy.over(own) if isinstance(own, HookPolicy) else policy
        self.takes_delivery = takes_delivery(hook)
        """Whether `handle` wants the delivery beside the event."""
        self.in_flight = metrics.hook_in_flight.labels(hook=name)
        self.coroutine_function: Callable[[Event], Coroutine[Any, Any, None]] | None = (
            cast("Any", hook.handle) if inspect.iscoroutinefunction(hook.handle) else None
        )
        """Its `handle`; None when that is a plain function."""
        self.seconds = metrics.hook_seconds.labels(hook=name)
        self.oks = metrics.hook_attempts_total.labels(hook=name, outcome="ok")
        self.errors = metrics.hook_attempts_total.labels(hook=name, outcome="error")
        self.note_superseded = count_superseded(metrics, name)
        self.limits = admission.limits_of(self)
        """Those of its name: others may have it too, since a resolver may make hooks anew for each event."""
        self.is_free = not (
            self.policy.is_bounded
            or self.limits.is_narrow
            or self.takes_delivery
            or isinstance(hook, AbstractAsyncContextManager)
        )
        """Whether it may be called whenever nothing is held: it need not be entered before, and has no bound of its own."""

    @property
    def ended(self) -> int:
        """How many runs of it have ended so far."""
        return int(self.oks.total + self.errors.total)

    def limit_seconds(self) -> float:
        """Tell how long a run may take; raises what the hook raises when it is asked for its own limit."""
        seconds = self.policy.timeout_seconds
        return float(getattr(self.hook, "timeout_seconds", DEFAULT_TIMEOUT_SECONDS) if seconds is None else seconds)

    def count(self, change: int) -> None:
        """Count a run that did not end at once: one more while it goes on."""
        limits = self.limits
        limits.running += change
        self.in_flight.value = limits.running


class Plan:
    """The hooks of an event by name, in the resolver's order."""

    __slots__ = ("declines", "hooks", "is_free", "only", "serves")

    def __init__(
        self,
        hooks: dict[str, WiredHook],
        serves: Callable[[str], bool] | None,
        declines: Callable[[str, Event], bool],
    ) -> None:
        self.hooks = hooks
        self.serves = serves
        """Which hooks the stage runs, of those that a republication names; None for all."""
        self.declines = declines
        """Tells of a hook that a republication names whether its condition does not want the event any more."""
        self.only = next(iter(hooks.values())) if len(hooks) == 1 else None
        """The hook when there is one and no more."""
        self.is_free = all(hook.is_free for hook in hooks.values())
        """Whether all of them may be called whenever somebody likes."""


class Wiring:
    """Tells the hooks of an event, wired.

    A resolver that answers with the very same tuple again, as `Hooks` does for each type, is not looked through again.
    """

    def __init__(
        self,
        resolver: Resolver,
        metrics: Metrics,
        policies: Mapping[str, HookPolicy],
        admission: Admission,
        serves: Callable[[str], bool] | None = None,
    ) -> None:
        self._resolver = resolver
        self._serves = serves
        self._policies = policies
        self._metrics = metrics
        self._wire = partial(WiredHook, metrics=metrics, admission=admission)
        self._wired: dict[int, WiredHook] = {}
        self._plans: dict[int, tuple[Sequence[Hook], Plan]] = {}

    def of(self, event: Event) -> Plan:
        """Tell the hooks of an event.

        Raises whatever the resolver raises, and DuplicateHookError, for a resolver that lists no hooks is not refused
        when it is wired.
        """
        hooks = self._resolver.for_event(event)
        known = self._plans.get(id(hooks))
        if known is not None and known[0] is hooks:
            return known[1]
        plan = Plan(
            {name: self._wired_of(name, hook) for name, hook in by_name(hooks).items()}, self._serves, self._declines
        )
        if type(hooks) is tuple and len(self._plans) < _PLANS_REMEMBERED:
            self._plans[id(hooks)] = hooks, plan
        return plan

    def _declines(self, name: str, event: Event) -> bool:
        declines = declined_by(self._resolver, name, event)
        if declines:
            self._metrics.skipped_total.inc(hook=name)
        return declines

    def _wired_of(self, name: str, hook: Hook) -> WiredHook:
        known = self._wired.get(id(hook))
        if known is None or known.hook is not hook or known.name != name:
            if len(self._wired) >= _PLANS_REMEMBERED:  # of a resolver that makes its hooks anew
                self._wired.clear()
            policy = self._policies.get(name) or HookPolicy()
            known = self._wired[id(hook)] = self._wire(name, hook, policy=policy)
        return known
