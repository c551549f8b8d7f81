"""What was republished before, told from Kafka alone.

A republished record carries the position of its dead letter in ``hookline-redrive-letter``, so the hook topic, read back from the time of the oldest letter in
question, names every letter that was sent. Where retention has taken those records, a later dead letter of the same first failure with more redrives says it too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from hookline.contract import Redrive, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.contract import Headers, Origin
    from hookline.deadletters._letters import StoredLetter

LETTER_HEADER = "hookline-redrive-letter"
AT_HEADER = "hookline-redrive-at"


@dataclass(slots=True)
class RepublishedIndex:
    """The letters that are known to have been republished, and by which operations."""

    _operations: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By letter and operation, when it was last sent: milliseconds since 1970, infinite when that is not told."""
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
        letter = _last(headers, LETTER_HEADER)
        if letter is None:
            return
        redrive = Redrive.from_headers(headers)
        operation = (redrive.operation if redrive else None) or ""
        sent = self._operations[letter.decode("utf-8", "replace")]
        sent[operation] = max(_time_ms(_last(headers, AT_HEADER)), sent.get(operation, 0.0))

    def contains(self, stored: StoredLetter) -> bool:
        """Tell whether a letter, or another copy of the same failure, was republished."""
        return bool(self._senders(stored)) or self._came_back(stored)

    def was_sent_by(self, stored: StoredLetter, operation: str) -> bool:
        """Tell whether one operation has republished the letter or a copy of it."""
        return operation in self._senders(stored)

    def _senders(self, stored: StoredLetter) -> set[str]:
        """Name the operations that sent a letter, or a copy: one that failed after a copy was sent is a failure of its own."""
        own = str(stored.position)
        found = set(self._operations.get(own, ()))
        for other in self._of_failure.get(stored.failure, ()) if stored.failure else ():
            if other.covers(stored):
                sent = self._operations.get(str(other.position), {})
                found |= {operation for operation, at_ms in sent.items() if (stored.failed_at_ms or 0) <= at_ms}
        return found

    def _came_back(self, stored: StoredLetter) -> bool:
        keys = _first_failures(stored)
        return bool(keys) and all(self._redrives.get(key, 0) > stored.letter.redrives for key in keys)


def _first_failures(stored: StoredLetter) -> list[tuple[str, Origin, str]]:
    """Name who failed first with which record: a group with a record, for each hook, or for no hook in particular."""
    if stored.origin is None:
        return []
    return [(stored.letter.group, stored.origin, hook) for hook in stored.hooks or ("",)]


def _last(headers: Headers, wanted: str) -> bytes | None:
    return next((value for name, value in reversed(headers) if name == wanted and value), None)


def _time_ms(text: bytes | None) -> float:
    try:
        return inf if text is None else parse_time(text.decode())
    except ValueError:
        return inf
