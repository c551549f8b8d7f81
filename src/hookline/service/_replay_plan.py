"""What a replay is asked for, what it would do, and what its group's commits say of where it begins and ends.

Exception
└── ReplayError      a replay cannot begin or go on; its text says what to do

note = version end first        what every commit of a replay carries: two offsets of its partition, as varints
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hookline.consume import Marks, encode_marks, pack_numbers, read_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks import Place
    from hookline.kafka import Position, Record

_NOTE_VERSION: Final = 2
"""Beside that of a roster, whose place the note takes."""


class ReplayError(Exception):
    """A replay cannot begin or go on; its text says why, where and what to do."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Which events a hook is to be given again: from a time on, up to another one, of some types (`*` crosses dots)."""

    hook: str
    since_ms: int
    until_ms: int | None = None
    type: str = "*"

    @property
    def digest(self) -> str:
        """Name the request: the same one goes on with what it has begun."""
        said = json.dumps([self.hook, self.since_ms, self.until_ms, self.type])
        return hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is left of one partition: from `start` up to, and without, `end`, and how many events of that the hook gets.

    `first` is where the replay began.
    """

    partition: int
    start: int
    end: int
    events: int
    first: int

    def contains(self, offset: int) -> bool:
        """Tell whether an offset is left."""
        return self.start <= offset < self.end

    def opening(self) -> Position:
        """Write the commit with which the replay begins."""
        marks = Marks(frontier=self.start, open=(), states=(), clean=True, note=self.note())
        return self.start, encode_marks(marks, self.start).text

    def note(self) -> bytes:
        """Write down where the replay ends and began, for whoever goes on with it."""
        return _note(self.end, self.first)


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What a replay would do. `goes_on` says that it has begun before."""

    request: ReplayRequest
    group: str
    stretches: tuple[Stretch, ...]
    goes_on: bool

    @property
    def events(self) -> int:
        """How many events the hook gets; one that was published twice counts twice, and is run once."""
        return sum(stretch.events for stretch in self.stretches)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to read."""
        return all(stretch.start >= stretch.end for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far a replay has come since it was begun here; `waits_for` tells what keeps the hook, nothing when it runs."""

    done: int
    duplicates: int
    dead_letters: int
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """How a replay went: events that the hook was given and is done with, repeats of them, dead letters, and whether that is all.

    `held_because` tells why the hook was stopped: it is broken, or its receiver is gone. `was_gone` says that the group
    was not there any more: another process has ended the same replay.
    """

    done: int
    duplicates: int
    dead_letters: int
    is_complete: bool
    held_because: str = ""
    was_gone: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Where a replay begins and ends in each partition, and what its group knows already."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]
    firsts: Mapping[int, int]
    places: Mapping[int, Place]
    frozen_ends: Mapping[int, int]

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Tell what to read for a plan."""
        return {
            number: (start, self.ends[number]) for number, start in self.starts.items() if start < self.ends[number]
        }

    def is_open(self, record: Record) -> bool:
        """Tell whether a record is not settled yet."""
        place = self.places.get(record.partition)
        return place is None or not place.marks.is_settled(record.offset)


def _note(end: int, first: int) -> bytes:
    return bytes((_NOTE_VERSION,)) + pack_numbers([end, first])


NOTHING_HERE: Final = _note(0, 0)
"""What a partition says in which the replay has nothing to do, as one that the topic did not have when it began."""


def read_note(place: Place) -> tuple[int, int] | None:
    """Read where a replay ends and began; None when its group does not say so any more."""
    note = place.marks.note
    if note[:1] != bytes((_NOTE_VERSION,)):
        return None
    end, at = read_number(note, 1)
    return end, read_number(note, at)[0] if at < len(note) else place.offset
