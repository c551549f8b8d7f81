"""The part of a domain's hooks that one stage runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._registry import declined_by, hooks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.contract import Event

    from ._hook import Hook, Resolver

_REMEMBERED: Final = 1_024


class ServedHooks:
    """A resolver that leaves out the hooks whose names `serves` denies.

    It answers with the very same tuple wherever the other resolver does, since a stage looks through a tuple only once.
    """

    def __init__(self, resolver: Resolver, serves: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._serves = serves
        self._known: dict[int, tuple[Sequence[Hook], Sequence[Hook]]] = {}
        self.hooks = tuple(hook for hook in hooks_of(resolver) if serves(hook.name))

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks of an event that are run here. Raises whatever the other resolver raises."""
        hooks = self._resolver.for_event(event)
        known = self._known.get(id(hooks))
        if known is not None and known[0] is hooks:
            return known[1]
        served = tuple(hook for hook in hooks if self._serves(hook.name))
        if type(hooks) is tuple and len(self._known) < _REMEMBERED:
            self._known[id(hooks)] = hooks, served
        return served

    def declines(self, name: str, event: Event) -> bool:
        """Tell whether a hook would want such events, and its condition says no to this one."""
        return declined_by(self._resolver, name, event)
