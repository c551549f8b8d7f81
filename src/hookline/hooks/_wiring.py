"""Hooks as the stage calls them: with their names, limits and counters at hand."""

from __future__ import annotations

import inspect
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ._registry import by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Coroutine, Sequence

    from hookline.contract import Event
    from hookline.telemetry import Metrics

    from ._hook import Hook, Resolver

_PLANS_REMEMBERED: Final = 1_024


class WiredHook:
    """A hook and what is counted of it."""

    __slots__ = ("coroutine_function", "errors", "hook", "in_flight", "is_free", "name", "oks", "running", "seconds")

    def __init__(self, name: str, hook: Hook, metrics: Metrics, limited: Container[str]) -> None:
        self.name = name
        self.hook = hook
        self.running = 0
        """How many runs of it go on."""
        self.is_free = name not in limited and not isinstance(hook, AbstractAsyncContextManager)
        """Whether it may be called whenever somebody likes: it need not be entered before, and has no limit of its own."""
        self.in_flight = metrics.hook_in_flight.labels(hook=name)
        self.coroutine_function: Callable[[Event], Coroutine[Any, Any, None]] | None = (
            cast("Any", hook.handle) if inspect.iscoroutinefunction(hook.handle) else None
        )
        """Its `handle`; None when that is a plain function."""
        self.seconds = metrics.hook_seconds.labels(hook=name)
        self.oks = metrics.hook_attempts_total.labels(hook=name, outcome="ok")
        self.errors = metrics.hook_attempts_total.labels(hook=name, outcome="error")

    def count(self, change: int) -> None:
        """Count a run that did not end at once: one more while it goes on."""
        self.running += change
        self.in_flight.value = self.running


class Plan:
    """The hooks of an event by name, in the resolver's order."""

    __slots__ = ("hooks", "is_free", "only")

    def __init__(self, hooks: dict[str, WiredHook]) -> None:
        self.hooks = hooks
        self.only = next(iter(hooks.values())) if len(hooks) == 1 else None
        """The hook when there is one and no more."""
        self.is_free = all(hook.is_free for hook in hooks.values())
        """Whether all of them may be called whenever somebody likes."""


class Wiring:
    """Tells the hooks of an event, wired.

    A resolver that answers with the very same tuple again, as `Hooks` does for each type, is not looked through again.
    """

    def __init__(self, resolver: Resolver, metrics: Metrics, limited: Container[str]) -> None:
        self._resolver = resolver
        self._wire = partial(WiredHook, metrics=metrics, limited=limited)
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
        plan = Plan({name: self._wired_of(name, hook) for name, hook in by_name(hooks).items()})
        if type(hooks) is tuple and len(self._plans) < _PLANS_REMEMBERED:
            self._plans[id(hooks)] = hooks, plan
        return plan

    def _wired_of(self, name: str, hook: Hook) -> WiredHook:
        known = self._wired.get(id(hook))
        if known is None or known.hook is not hook or known.name != name:
            if len(self._wired) >= _PLANS_REMEMBERED:  # of a resolver that makes its hooks anew
                self._wired.clear()
            known = self._wired[id(hook)] = self._wire(name, hook)
        return known
