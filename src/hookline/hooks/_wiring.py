"""Hooks as the stage calls them: with their names, limits and counters at hand."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Final

from ._registry import by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Event
    from hookline.telemetry import Metrics

    from ._hook import Hook, Resolver

_PLANS_REMEMBERED: Final = 1_024


class WiredHook:
    """A hook and what is counted of it."""

    __slots__ = ("errors", "hook", "is_coroutine", "name", "oks", "seconds")

    def __init__(self, name: str, hook: Hook, metrics: Metrics) -> None:
        self.name = name
        self.hook = hook
        self.is_coroutine = inspect.iscoroutinefunction(hook.handle)
        self.seconds = metrics.hook_seconds.labels(hook=name)
        self.oks = metrics.hook_attempts_total.labels(hook=name, outcome="ok")
        self.errors = metrics.hook_attempts_total.labels(hook=name, outcome="error")


class Wiring:
    """Tells the hooks of an event, wired.

    A resolver that answers with the very same tuple again, as `Hooks` does for each type, is not looked through again.
    """

    def __init__(self, resolver: Resolver, metrics: Metrics) -> None:
        self._resolver = resolver
        self._wire = partial(WiredHook, metrics=metrics)
        self._wired: dict[int, WiredHook] = {}
        self._plans: dict[int, tuple[Sequence[Hook], dict[str, WiredHook]]] = {}

    def of(self, event: Event) -> dict[str, WiredHook]:
        """Tell the hooks of an event by name, in the resolver's order.

        Raises whatever the resolver raises, and DuplicateHookError, for a resolver that lists no hooks is not refused
        when it is wired.
        """
        hooks = self._resolver.for_event(event)
        plan = self._plans.get(id(hooks))
        if plan is not None and plan[0] is hooks:
            return plan[1]
        wired = {name: self._wired_of(name, hook) for name, hook in by_name(hooks).items()}
        if type(hooks) is tuple and len(self._plans) < _PLANS_REMEMBERED:
            self._plans[id(hooks)] = hooks, wired
        return wired

    def _wired_of(self, name: str, hook: Hook) -> WiredHook:
        known = self._wired.get(id(hook))
        if known is None or known.hook is not hook or known.name != name:
            if len(self._wired) >= _PLANS_REMEMBERED:  # of a resolver that makes its hooks anew
                self._wired.clear()
            known = self._wired[id(hook)] = self._wire(name, hook)
        return known
