"""The resolver by type patterns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ._valid import listed_by, require_resolver, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookline.contract import Event

    from ._hook import DeliveryHook, Hook, Resolver

_TYPES_REMEMBERED = 1_024


class DuplicateHookError(ValueError):
    """Two hooks of one domain have the same name, so that neither a dead letter nor a metric could tell them apart."""


class Hooks:
    """Hooks by the types of events they want.

    `Hooks({"batch.*": [CommentOnFailure()], "*": [audit]})`: in a pattern `*` stands for any characters, dots included.
    A hook that several patterns match runs once. Raises InvalidHookError for what cannot be a hook, such as a class, an
    object without `handle(event)`, or a hook that stands in no list, and DuplicateHookError when two have one name.
    """

    def __init__(self, hooks_by_pattern: Mapping[str, Iterable[Hook | DeliveryHook]]) -> None:
        self._rules = [(type_pattern(pattern), hooks) for pattern, hooks in rules_of(hooks_by_pattern)]
        self._hooks = _distinct(hook for _, hooks in self._rules for hook in hooks)
        _refuse_equal_names(self._hooks)
        self._of_type = lru_cache(_TYPES_REMEMBERED)(self._find)

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks, each once."""
        return self._hooks

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks whose patterns match the event's type, each once."""
        return self._of_type(event.type)

    def _find(self, event_type: str) -> tuple[Hook, ...]:
        return _distinct(hook for pattern, hooks in self._rules if pattern.fullmatch(event_type) for hook in hooks)


class MergedHooks:
    """Several resolvers as one, such as hooks from a file beside hooks from code.

    Raises InvalidHookError when one of them is no resolver or lists what cannot be a hook, and DuplicateHookError when
    two of the hooks that they list have one name.
    """

    def __init__(self, *resolvers: Resolver) -> None:
        for resolver in resolvers:
            require_resolver(resolver)
        self._resolvers = resolvers
        self._hooks = _distinct(hook for resolver in resolvers for hook in hooks_of(resolver))
        _refuse_equal_names(self._hooks)
        self._merged: dict[tuple[int, ...], tuple[list[Sequence[Hook]], tuple[Hook, ...]]] = {}

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks that the resolvers list, each once."""
        return self._hooks

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks that any of the resolvers names, each once; to the same tuples it answers with the same."""
        answers = [resolver.for_event(event) for resolver in self._resolvers]
        key = tuple(map(id, answers))
        known = self._merged.get(key)
        if known is not None:  # it holds the answers, so their ids are nobody else's
            return known[1]
        merged = _distinct(hook for hooks in answers for hook in hooks)
        if all(type(hooks) is tuple for hooks in answers) and len(self._merged) < _TYPES_REMEMBERED:
            self._merged[key] = answers, merged
        return merged

    def declines(self, name: str, event: Event) -> bool:
        """Tell whether a hook of one of the resolvers would want such events, and its condition says no to this one."""
        return any(declined_by(resolver, name, event) for resolver in self._resolvers)


def declined_by(resolver: Resolver, name: str, event: Event) -> bool:
    """Tell whether a resolver says that a hook of this name wants such events, and its condition says no to this one."""
    declines = getattr(resolver, "declines", None)
    return declines is not None and bool(declines(name, event))


def by_name(hooks: Iterable[Hook]) -> dict[str, Hook]:
    """Give hooks by their names, each once. Raises DuplicateHookError when two of them have one name."""
    distinct = _distinct(hooks)
    _refuse_equal_names(distinct)
    return {hook.name: hook for hook in distinct}


def hooks_of(resolver: Resolver) -> tuple[Hook, ...]:
    """Tell the hooks that a resolver lists in its attribute `hooks`; none when it has no such list.

    Raises InvalidHookError when something in it cannot be a hook.
    """
    return listed_by(resolver)


def type_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of event types, for `fullmatch`: `*` stands for any characters, dots included, and nothing else is special."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def _distinct(hooks: Iterable[Hook]) -> tuple[Hook, ...]:
    return tuple({id(hook): hook for hook in hooks}.values())


def _refuse_equal_names(hooks: Sequence[Hook]) -> None:
    seen = set[str]()
    for hook in hooks:
        if hook.name in seen:
            raise DuplicateHookError(f"two hooks are named {hook.name!r}; give one of them another name")
        seen.add(hook.name)
