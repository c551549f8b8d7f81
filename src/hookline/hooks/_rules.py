"""Which of the hooks that settings name want an event: by its type, its source, and a condition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ._conditions import Condition, ConditionError
from ._registry import by_name, type_pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    from hookline.contract import Event

    from ._hook import Hook

_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True)
class Rule:
    """One hook and the events that it wants: all patterns as in `Hooks`, and the condition holds if there is one."""

    hook: Hook
    types: Sequence[str] = ("*",)
    sources: Sequence[str] = ("*",)
    when: Condition | None = None


class RuledHooks:
    """Hooks by rules, each with one of its own; a `Resolver`.

    Hooks without a condition cost no more than those of `Hooks`: equal answers are the very same tuple. A condition that
    cannot be answered for an event is the failure of its hook and harms no other: what is resolved then fails in the
    hook's name. Raises DuplicateHookError when two hooks have one name.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._asked = tuple(_Asked(rule) for rule in rules)
        self._hooks = tuple(by_name(asked.hook for asked in self._asked).values())
        self._of = lru_cache(_REMEMBERED)(self._find)
        self._any_source = all(asked.any_source for asked in self._asked)
        self._answers: dict[tuple[int, ...], tuple[Hook, ...]] = {}

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks, each once."""
        return self._hooks

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks that want the event, in the order of their rules."""
        candidates = self._of(event.type, "" if self._any_source else event.source)
        if candidates.hooks is not None:
            return candidates.hooks
        answers = (asked.answer(event) for asked in candidates.asked)
        return self._same(tuple(hook for hook in answers if hook is not None))

    def declines(self, name: str, event: Event) -> bool:
        """Tell whether a hook would want events of this type and source, and its condition says no to this one."""
        candidates = self._of(event.type, "" if self._any_source else event.source)
        return any(asked.hook.name == name and asked.answer(event) is None for asked in candidates.asked)

    def _find(self, event_type: str, source: str) -> _Candidates:
        asked = tuple(each for each in self._asked if each.may_want(event_type, source))
        plain = all(each.when is None for each in asked)
        return _Candidates(asked, self._same(tuple(each.hook for each in asked)) if plain else None)

    def _same(self, hooks: tuple[Hook, ...]) -> tuple[Hook, ...]:
        """Return the tuple that was returned for these hooks before, so that whoever plans by it plans once."""
        key = tuple(map(id, hooks))
        if len(self._answers) >= _REMEMBERED:
            return self._answers.get(key, hooks)
        return self._answers.setdefault(key, hooks)


class _Asked:
    """A rule as it is asked."""

    __slots__ = ("_sources", "_types", "_undecided", "any_source", "hook", "when")

    def __init__(self, rule: Rule) -> None:
        self.hook = rule.hook
        self.when = rule.when
        self.any_source = "*" in rule.sources
        self._types = [type_pattern(pattern) for pattern in rule.types]
        self._sources = [type_pattern(pattern) for pattern in rule.sources]
        self._undecided: Hook | None = None if rule.when is None else _Undecided(rule.hook, rule.when)

    def may_want(self, event_type: str, source: str) -> bool:
        """Tell whether type and source are wanted."""
        return _matches(self._types, event_type) and (self.any_source or _matches(self._sources, source))

    def answer(self, event: Event) -> Hook | None:
        """Give the hook, None when its condition says no, or what fails in its name when it says nothing."""
        if self.when is None:
            return self.hook
        try:
            return self.hook if self.when.holds(event) else None
        except ConditionError:
            return self._undecided


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The rules that an event's type and source leave, and the hooks when no condition has to be asked."""

    asked: tuple[_Asked, ...]
    hooks: tuple[Hook, ...] | None


class _Undecided:
    """Stands in for a hook whose condition cannot be answered for an event."""

    def __init__(self, hook: Hook, when: Condition) -> None:
        self.name = hook.name
        self.policy = getattr(hook, "policy", None)
        """The hook's own: what bounds it is known by its name."""
        self._when = when

    async def handle(self, event: Event) -> None:
        """Raise why it cannot be answered."""
        self._when.holds(event)
        raise ConditionError("it could not be answered for this event, and a moment later it could")


def _matches(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)
