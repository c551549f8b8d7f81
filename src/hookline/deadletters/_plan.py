"""A plan to republish: what would be sent where, what is left out, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hookline.contract import JsonValue, Origin
    from hookline.deadletters._filter import Filter
    from hookline.deadletters._letters import StoredLetter
    from hookline.deadletters._republished import RepublishedIndex


class LeftOut(StrEnum):
    """Why a chosen dead letter is not in the plan."""

    REPUBLISHED_BEFORE = "republished_before"
    COPY = "copy"
    ORIGIN_UNKNOWN = "origin_unknown"
    ORIGIN_NOT_A_HOOK_TOPIC = "origin_not_a_hook_topic"
    TOO_MANY_REDRIVES = "too_many_redrives"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class PlannedLetter:
    """A dead letter, the topic it goes back to, and the hooks that run again (None: all that the event resolves to)."""

    stored: StoredLetter
    topic: str
    hooks: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What `DeadLetters.execute` will do. ``letters`` are in the order of the dead-letter topic; ``left_out`` pairs an id with its reason.

    ``operation`` names the act in every record it writes. ``again`` lets identities run that have completed since.
    """

    operation: str
    created_ms: int
    again: bool
    all_hooks: bool
    letters: tuple[PlannedLetter, ...] = ()
    left_out: tuple[tuple[str, LeftOut], ...] = ()

    @property
    def per_topic(self) -> Counter[str]:
        """How many letters go to which topic."""
        return Counter(planned.topic for planned in self.letters)

    @property
    def per_reason(self) -> Counter[tuple[str, str]]:
        """How many letters failed in which hook by which code; a letter counts once for each of its hooks."""
        return Counter(
            (hook, planned.stored.letter.code) for planned in self.letters for hook in planned.stored.hooks or ("",)
        )

    @property
    def left_out_counts(self) -> Counter[LeftOut]:
        """How many letters are left out for which reason."""
        return Counter(why for _, why in self.left_out)

    def document(self) -> dict[str, JsonValue]:
        """Return the plan as JSON."""
        return {
            "operation": self.operation,
            "again": self.again,
            "all_hooks": self.all_hooks,
            "planned": len(self.letters),
            "topics": dict(sorted(self.per_topic.items())),
            "reasons": [
                {"hook": hook or None, "code": code, "count": count}
                for (hook, code), count in sorted(self.per_reason.items())
            ],
            "left_out": {str(why): count for why, count in sorted(self.left_out_counts.items())},
            "letters": [planned.stored.id for planned in self.letters],
        }


@dataclass(slots=True)
class Planner:
    """Sorts chosen letters into those that go and those that do not.

    ``max_redrives`` ends a loop of failing and republishing; ``resumes`` names an operation whose letters do not go twice, not even ``again``.
    """

    hook_topics: Collection[str]
    dead_letter_topic: str
    index: RepublishedIndex
    again: bool
    all_hooks: bool
    max_redrives: int
    resumes: str | None = None
    _of_failure: dict[tuple[str, Origin], list[StoredLetter]] = field(default_factory=lambda: defaultdict(list))

    def sort(
        self, letters: Iterable[StoredLetter], chosen: Filter
    ) -> tuple[list[PlannedLetter], list[tuple[str, LeftOut]]]:
        """Go through the chosen letters in order, up to the filter's limit of planned ones."""
        planned: list[PlannedLetter] = []
        left_out: list[tuple[str, LeftOut]] = []
        for stored in letters:
            why = self._objection(stored) or (
                LeftOut.LIMIT if chosen.limit is not None and len(planned) >= chosen.limit else None
            )
            if why is not None:
                left_out.append((stored.id, why))
            elif stored.origin is not None:
                planned.append(PlannedLetter(stored, stored.origin.topic, self._hooks(stored)))
        return planned, left_out

    def _objection(self, stored: StoredLetter) -> LeftOut | None:
        if stored.origin is None:
            return LeftOut.ORIGIN_UNKNOWN
        if stored.origin.topic not in self.hook_topics or stored.origin.topic == self.dead_letter_topic:
            return LeftOut.ORIGIN_NOT_A_HOOK_TOPIC
        if self._was_sent(stored):
            return LeftOut.REPUBLISHED_BEFORE
        if stored.letter.redrives >= self.max_redrives:
            return LeftOut.TOO_MANY_REDRIVES
        return self._copy(stored)

    def _was_sent(self, stored: StoredLetter) -> bool:
        if self.again:
            return self.resumes is not None and self.index.was_sent_by(stored, self.resumes)
        return self.index.contains(stored)

    def _copy(self, stored: StoredLetter) -> LeftOut | None:
        if stored.failure is None:
            return None
        before = self._of_failure[stored.failure]
        if any(other.covers(stored) for other in before):
            return LeftOut.COPY
        before.append(stored)
        return None

    def _hooks(self, stored: StoredLetter) -> tuple[str, ...] | None:
        return None if self.all_hooks or not stored.hooks else stored.hooks
