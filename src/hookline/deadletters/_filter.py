"""Which dead letters are meant: the filter of `hookline dlq` and of the console."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

    def matches(self, stored: StoredLetter) -> bool:
        """Tell whether a dead letter is chosen. A record without an event matches no type and no source."""
        return (
            _is_one_of(stored.id, self.ids)
            and _is_one_of(stored.letter.letter_class, self.classes)
            and (not self.hooks or not set(self.hooks).isdisjoint(stored.hooks))
            and (not self.sources or (stored.event is not None and stored.event.source in self.sources))
            and (not self.types or (stored.event is not None and matches_any(stored.event.type, self.types)))
            and self._covers(stored.failed_at_ms)
        )

    def _covers(self, moment_ms: int | None) -> bool:
        if moment_ms is None:
            return self.since_ms is None and self.until_ms is None
        return (self.since_ms is None or moment_ms >= self.since_ms) and (
            self.until_ms is None or moment_ms < self.until_ms
        )


def matches_any(type: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a type matches one of the patterns, in which only ``*`` is special."""
    return any(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), type, re.DOTALL) for pattern in patterns)


def _is_one_of(value: object, allowed: tuple[object, ...]) -> bool:
    return not allowed or value in allowed
