"""What was republished before, told from Kafka alone.

A republished record carries the position of its dead letter in ``hookline-redrive-letter``, so the hook topic, read back from the time of the oldest letter in
question, names every letter that was sent. Where retention has taken those records, a later dead letter of the same first failure with more redrives says it too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.contract import Redrive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.contract import Headers, Origin
    from hookline.deadletters._letters import StoredLetter

LETTER_HEADER = "hookline-redrive-letter"


@dataclass(slots=True)
class RepublishedIndex:
    """The letters that are known to have been republished, and by which operations."""

    _operations: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _redrives: dict[tuple[str, Origin, str], int] = field(default_factory=dict)
    _of_failure: dict[tuple[str, Origin], list[StoredLetter]] = field(default_factory=lambda: defaultdict(list))

    def add_letters(self, letters: Iterable[StoredLetter]) -> None:
        """Learn from dead letters: which hooks came back with more redrives, and which letters are of one failure."""
        for stored in letters:
            for key in _first_failures(stored):
                self._redrives[key] = max(stored.letter.redrives, self._redrives.get(key, 0))
            if stored.failure is not None:
                self._of_failure[stored.failure].append(stored)

    def add_headers(self, headers: Headers) -> None:
        """Learn from a record of a hook topic."""
        letter = next((value for name, value in reversed(headers) if name == LETTER_HEADER and value), None)
        if letter is None:
            return
        redrive = Redrive.from_headers(headers)
        self._operations[letter.decode("utf-8", "replace")].add((redrive.operation if redrive else None) or "")

    def contains(self, stored: StoredLetter) -> bool:
        """Tell whether a letter, or another copy of the same failure, was republished."""
        return any(position in self._operations for position in self._positions(stored)) or self._came_back(stored)

    def was_sent_by(self, stored: StoredLetter, operation: str) -> bool:
        """Tell whether one operation has republished the letter or a copy of it."""
        return any(operation in self._operations.get(position, ()) for position in self._positions(stored))

    def _positions(self, stored: StoredLetter) -> set[str]:
        others = self._of_failure.get(stored.failure, []) if stored.failure else []
        return {str(other.position) for other in others if other.covers(stored)} | {str(stored.position)}

    def _came_back(self, stored: StoredLetter) -> bool:
        keys = _first_failures(stored)
        return bool(keys) and all(self._redrives.get(key, 0) > stored.letter.redrives for key in keys)


def _first_failures(stored: StoredLetter) -> list[tuple[str, Origin, str]]:
    """Name who failed first with which record: a group with a record, for each hook, or for no hook in particular."""
    if stored.origin is None:
        return []
    return [(stored.letter.group, stored.origin, hook) for hook in stored.hooks or ("",)]
