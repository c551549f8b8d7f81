"""Which dead letters are meant: the filter of `hookline dlq` and of the console."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.hooks import type_pattern

if TYPE_CHECKING:
    import re

    from hookline.contract import DeadLetterClass
    from hookline.deadletters._letters import StoredLetter


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice of dead letters; an empty part chooses all, and every part must agree.

    ``hooks``: one of them failed. ``types``: patterns in which ``*`` stands for any text, dots included. ``sources``: exact. ``ids``: ``partition/offset``.
    Times are those of the failure in milliseconds, ``since_ms`` included and ``until_ms`` not. ``limit`` keeps the first ones in the order of the dead-letter
    topic, the same for a list and for a plan; it is applied by them, not by `matches`.
    """

    hooks: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    classes: tuple[DeadLetterClass, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int | None = None
    ids: tuple[str, ...] = ()
    _patterns: tuple[re.Pattern[str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(map(type_pattern, self.types)))

    def matches(self, stored: StoredLetter) -> bool:
        """Tell whether a dead letter is chosen. A record without an event matches no type and no source."""
        return (
            _is_one_of(stored.id, self.ids)
            and _is_one_of(stored.letter.letter_class, self.classes)
            and (not self.hooks or not set(self.hooks).isdisjoint(stored.hooks))
            and (not self.sources or (stored.event is not None and stored.event.source in self.sources))
            and (not self.types or (stored.event is not None and self._wants(stored.event.type)))
            and self._covers(stored.failed_at_ms)
        )

    def _wants(self, type: str) -> bool:
        return any(pattern.fullmatch(type) for pattern in self._patterns)

    def _covers(self, moment_ms: int | None) -> bool:
        if moment_ms is None:
            return self.since_ms is None and self.until_ms is None
        return (self.since_ms is None or moment_ms >= self.since_ms) and (
            self.until_ms is None or moment_ms < self.until_ms
        )


def _is_one_of(value: object, allowed: tuple[object, ...]) -> bool:
    return not allowed or value in allowed
