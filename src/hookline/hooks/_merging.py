"""What several groups know of one partition, put together: pure, so that it can be tried in every order.

What a group has settled for a hook is settled for good. So to put groups together is to join what they have settled; the
position is the first offset at which somebody has work left.

A charge says that the process went down while a record ran alone, in one group, with the hooks of that group. Another group
must not condemn the record for it: it is named as one that ran, so that it runs alone first, and is charged anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from hookline.consume import MOST_CHARACTERS, Marks, MarksError, RetryState, decode_marks, encode_marks

from ._memory import entry_of, has_ended, hash_of, read_saved, write_saved
from ._roster import read_beginning, read_roster, write_beginning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.kafka import Position

    from ._memory import Entry

_SETTLED: Final = "settled"
_Said: TypeAlias = "str | RetryState | None"
"""Of the offsets of a range: settled, or open with a state or without."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a group stands in a partition, and what it knows of the offsets from there on."""

    offset: int
    marks: Marks

    @classmethod
    def read(cls, position: Position) -> Place:
        """Read a commit; one whose metadata says nothing knows nothing."""
        offset, text = position
        try:
            return cls(offset, decode_marks(text, offset))
        except MarksError:
            return cls.at(offset)

    @classmethod
    def at(cls, offset: int) -> Place:
        """Stand at an offset and know nothing of what follows."""
        return cls(offset, Marks(frontier=offset, open=(), states=(), clean=True))

    @classmethod
    def beginning(cls, offset: int) -> Place:
        """Begin at an offset: what lies before it is left out, and not settled."""
        place = cls.at(offset)
        return replace(place, marks=replace(place.marks, note=write_beginning(offset)))

    def write(self, limit: int = MOST_CHARACTERS) -> Position:
        """Write a commit with at most so much metadata; what does not fit is forgotten, which runs it again."""
        return self.offset, encode_marks(self.marks, self.offset, limit).text

    def handed_over(self) -> Place:
        """Tell the same to another group: nobody is charged there yet, and whom this one runs says nothing of it."""
        marks = self.marks
        started = sorted({*marks.started, *(offset for offset, _ in marks.crashes)})
        is_clean = marks.clean and not marks.crashes
        return replace(self, marks=replace(marks, clean=is_clean, started=tuple(started), crashes=(), note=b""))

    def has_settled(self, offset: int) -> bool:
        """Tell whether the group itself has settled an offset, not only begun behind it."""
        return self.marks.is_settled(offset) and offset >= read_beginning(self.marks.note)

    def runs(self, *names: str) -> bool | None:
        """Tell whether the group runs a hook of one of these names; None when it does not say."""
        roster = read_roster(self.marks.note)
        return None if roster is None else not roster.isdisjoint(map(hash_of, names))


def join_into_shared(
    shared: Place, own: Mapping[str, Place], note: bytes, former: Mapping[str, str] | None = None
) -> Place:
    """Tell where the shared group stands once it runs these hooks too, whose groups stand where `own` says.

    What the shared group has settled, it has settled for all hooks but these, and for these where its roster names them.
    `former` maps names of hooks to those under which they may have been saved.
    """
    names = {name: (name, *_former(name, former)) for name in own}
    runs = {name: bool(shared.runs(*names[name])) for name in own}

    def say(offset: int) -> _Said:
        rest_is_settled = shared.marks.is_settled(offset)
        states = [state for place in (shared, *own.values()) if (state := _state(place, offset)) is not None]
        base = None if rest_is_settled else shared.marks.state_of(offset)
        entries = {hash_of(""): entry_of("", done=True)} if rest_is_settled else read_saved(base.saved if base else b"")
        has_work = not rest_is_settled
        for name, place in own.items():
            if place.marks.is_settled(offset) or (rest_is_settled and runs[name]):
                entries.pop(hash_of(name), None)
                if hash_of("") not in entries:
                    entries[hash_of(name)] = entry_of(name, done=True)
                continue
            has_work = True
            entry = _further(entries.get(hash_of(name)), _entry(place, offset, names[name]))
            if entry is not None or hash_of("") in entries:
                entries[hash_of(name)] = entry or entry_of(name, done=False)
        return _open(states, entries) if has_work else _SETTLED

    return _fold([shared, *own.values()], say, note)


def join_into_own(own: Place, other: Place, *names: str) -> Place | None:
    """Tell where a hook's own group stands when another group has run the hook too; None when that adds nothing.

    `names` are those that the hook has or had.
    """
    return _joined(own, other, names, own.marks.is_settled, own.marks.note)


def join_former_into_own(own: Place, former: Place, *names: str) -> Place | None:
    """Tell the same of the group that the hook had under its former name.

    Before its own group began, the hook was the former one: what that has left there is left.
    """
    beginnings = read_beginning(own.marks.note), read_beginning(former.marks.note)
    note = (
        own.marks.note if beginnings[0] <= beginnings[1] else write_beginning(beginnings[1]) if beginnings[1] else b""
    )

    def is_settled(offset: int) -> bool:
        return own.has_settled(offset) or offset < min(beginnings)

    return _joined(own, former, names, is_settled, note)


def _joined(
    own: Place, other: Place, names: Sequence[str], is_settled: Callable[[int], bool], note: bytes
) -> Place | None:
    def say(offset: int) -> _Said:
        if is_settled(offset) or other.has_settled(offset):
            return _SETTLED
        return max((_state(own, offset), _state(other, offset)), key=how_far)

    def how_far(state: RetryState | None) -> tuple[bool, int]:
        entries = read_saved(state.saved) if state else {}
        known = [entries[hash_of(name)] for name in names if hash_of(name) in entries]
        return any(map(has_ended, known)), max((entry[3] for entry in known), default=-1 if state is None else 0)

    places = [own, other]
    adds = any((say(start) == _SETTLED) != own.marks.is_settled(start) for start, _ in _ranges(places))
    return _fold(places, say, note) if adds else None


def _fold(places: Sequence[Place], say: Callable[[int], _Said], note: bytes) -> Place:
    """Put together what is said of each range."""
    open_ranges: list[tuple[int, int]] = []
    states: list[tuple[int, int, RetryState]] = []
    frontier = max(place.marks.frontier for place in places)
    for start, end in _ranges(places):
        said = say(start)
        if said == _SETTLED:
            continue
        first = open_ranges.pop()[0] if open_ranges and open_ranges[-1][1] == start else start
        open_ranges.append((first, end))
        if isinstance(said, RetryState):
            is_same = bool(states) and states[-1][1:] == (start, said)
            states.append((states.pop()[0] if is_same else start, end, said))
    position = open_ranges[0][0] if open_ranges else frontier
    handed_over = [place.handed_over() for place in places]
    return Place(
        position,
        Marks(
            frontier=frontier,
            open=tuple(open_ranges),
            states=tuple(states),
            clean=all(place.marks.clean for place in handed_over),
            started=tuple(sorted({each for place in handed_over for each in place.marks.started if each >= position})),
            note=note,
        ),
    )


def _ranges(places: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Give the ranges over whose offsets no group's word changes."""
    edges = set[int]()
    for place in places:
        edges |= {place.offset, place.marks.frontier, read_beginning(place.marks.note)}
        edges.update(edge for span in place.marks.open for edge in span)
        edges.update(edge for start, end, _ in place.marks.states for edge in (start, end))
    return pairwise(sorted(edges))


def _state(place: Place, offset: int) -> RetryState | None:
    return None if place.marks.is_settled(offset) else place.marks.state_of(offset)


def _entry(place: Place, offset: int, names: Sequence[str]) -> Entry | None:
    """Tell what a group has saved of its hook, under the hook's name of today."""
    state = place.marks.state_of(offset)
    entries = read_saved(state.saved) if state else {}
    found = next((entries[hash_of(name)] for name in names if hash_of(name) in entries), None)
    return None if found is None else (hash_of(names[0]), *found[1:])


def _further(shared: Entry | None, own: Entry | None) -> Entry | None:
    """Choose what is known of a hook: what has ended has, else its own group knows better."""
    return shared if own is None or (shared is not None and has_ended(shared)) else own


def _open(states: Sequence[RetryState], entries: Mapping[bytes, Entry]) -> RetryState | None:
    saved = write_saved(entries.values())
    if not saved and not states:
        return None
    minutes = [state.first_failed_minute for state in states if state.first_failed_minute is not None]
    attempt = max((state.attempt for state in states), default=1)
    return RetryState(attempt, min(minutes, default=None), saved)


def _former(name: str, former: Mapping[str, str] | None) -> tuple[str, ...]:
    return (former[name],) if former and name in former else ()
