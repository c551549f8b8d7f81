"""What a commit says beyond its offset: the string in its metadata.

    text     = "" | "hl1." base64url(flags body crc32)              `_marks_bytes` says how
    flags    = bit 1: the owner let the partition go in order
    body     = position section*
    section  = 1 frontier      frontier - position
             | 2 open          gap*, length - 1*                    as columns: equal numbers side by side deflate to nothing
             | 3 states        epoch, (attempt - 1, minute, length of saved, saved)*
             | 4 runs          gap*, length - 1*, index into states*
             | 5 started       gap*
             | 6 crashes       gap*, count*
             | 7 note          the handler's own bytes

A gap counts from the end of what stands before it in its section, at first from the position. The epoch is the earliest
minute, counted from 2026-01-01 and zigzagged; a minute is 0 for none, else 1 + minutes since the epoch.

Versions. A text of version N is written only by releases whose predecessor reads N, so that a roll forward and back
loses nothing. Within a version sections may be added, if ignoring them only forgets: a reader skips those that it does
not know, and flags likewise. What must not be ignored needs a new version. That texts of each release decode to what they
meant is the contract; which bytes are written may change within a version.

    Exception
    └── MarksError            the text says nothing; carries its kind
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ._marks_bytes import (
    LARGEST_BODY,
    pack_body,
    pack_numbers,
    read_bytes,
    read_number,
    seal,
    unpack,
    unpack_body,
    unseal,
)
from ._marks_ranges import from_columns, from_gaps, join_equal, join_neighbours, split_columns, to_columns, to_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

_CLEAN = 2
_FRONTIER, _OPEN, _STATES, _RUNS, _STARTED, _CRASHES, _NOTE = range(1, 8)
_VERSION = 1
_PREFIX = re.compile(r"hl([1-9][0-9]{0,3})\.")
_MINUTE_OF_2026 = 29_453_760  # 2026-01-01T00:00Z


class MarksError(Exception):
    """A text that says nothing.

    `kind` is `foreign` (another program's, or written for another offset, as when a mirror translates offsets and keeps
    the metadata), `torn` (ours, but damaged or cut short) or `newer` (of a version that this release cannot read).
    """

    def __init__(self, kind: Literal["foreign", "torn", "newer"]) -> None:
        super().__init__(f"commit metadata is {kind}")
        self.kind: Literal["foreign", "torn", "newer"] = kind


@dataclass(frozen=True, slots=True)
class RetryState:
    """Where an unsettled record stands: one in retry, or one running of which parts have ended.

    `attempt` (at least 1) is the number of its next attempt, `first_failed_minute` counts from 1970 (None when nothing
    failed yet), `saved` is the handler's own.
    """

    attempt: int
    first_failed_minute: int | None
    saved: bytes


@dataclass(frozen=True, slots=True)
class Marks:
    """What is known of the delivered offsets from the committed position on.

    A delivered offset below `frontier` that lies in no range of `open` is settled; from the frontier on nothing is known
    of settlement. `states` gives the state of every unsettled offset within a range. Ranges are half-open and ascend.
    `clean` says that the owner let the partition go in order. `started` are the offsets of the batch that runs under
    suspicion, `crashes` counts for an offset how often the process ended while it ran alone; both ascend. `note` is the
    handler's own, about all of the group.
    """

    frontier: int
    open: tuple[tuple[int, int], ...]
    states: tuple[tuple[int, int, RetryState], ...]
    clean: bool
    started: tuple[int, ...] = ()
    crashes: tuple[tuple[int, int], ...] = ()
    note: bytes = b""

    def is_settled(self, offset: int) -> bool:
        """Tell whether a delivered offset is known to be settled; those below the committed position are."""
        if offset >= self.frontier:
            return False
        after = bisect_left(self.open, (offset + 1,))
        return not after or offset >= self.open[after - 1][1]

    def state_of(self, offset: int) -> RetryState | None:
        """Tell the state of an unsettled offset, None for none known; of a settled one the answer means nothing."""
        after = bisect_left(self.states, (offset + 1,))
        if not after or offset >= self.states[after - 1][1]:
            return None
        return self.states[after - 1][2]


@dataclass(frozen=True, slots=True)
class Encoded:
    """The text of marks; whether it says all of them; and how much all would take, as a share of what there is."""

    text: str
    whole: bool
    share: float


def gather_marks(  # noqa: PLR0913 - what marks are, each by name
    position: int,
    frontier: int,
    delivered: Iterable[int],
    open: AbstractSet[int],  # noqa: A002 - the field that it becomes, and what the tracker calls it
    states: Mapping[int, RetryState],
    *,
    clean: bool,
    started: Collection[int] = (),
    crashes: Collection[tuple[int, int]] = (),
    note: bytes = b"",
) -> Marks:
    """Sum up a partition.

    `delivered` ascends from the position and may have holes; ranges go over them, since what was never delivered is
    never asked for. What `started` and `crashes` say of offsets below the position is left out: it has settled.
    """
    ranges, waiting = join_neighbours(delivered, open) if open else ([], [])
    return Marks(
        frontier=frontier,
        open=tuple(ranges),
        states=tuple(join_equal(waiting, states)) if states else (),
        clean=clean,
        started=tuple(sorted(offset for offset in started if offset >= position)) if started else (),
        crashes=tuple(sorted(crash for crash in crashes if crash[0] >= position)) if crashes else (),
        note=note,
    )


def merge_marks(marks: Marks, found: Marks) -> Marks:
    """Add what an owner before left of offsets from the frontier on: those that were not delivered again yet.

    Below the frontier, and of `clean`, `started` and `note`, nothing is taken over.
    """
    frontier = marks.frontier
    crashes = {offset: count for offset, count in found.crashes if offset >= frontier} | dict(marks.crashes)
    return Marks(
        frontier=max(frontier, found.frontier),
        open=marks.open + tuple((max(start, frontier), end) for start, end in found.open if end > frontier),
        states=marks.states
        + tuple((max(start, frontier), end, state) for start, end, state in found.states if end > frontier),
        clean=marks.clean,
        started=marks.started,
        crashes=tuple(sorted(crashes.items())),
        note=marks.note,
    )


def encode_marks(marks: Marks, position: int, limit: int = 4000) -> Encoded:
    """Write marks as text of at most `limit` characters.

    When all is too long, states go first, from the far end, and then settled offsets, from the far end: the frontier
    comes down. The rest is kept, at last without the note, or the text is empty, which reads as a partition that nothing
    is known of. Raises ValueError for marks that contradict themselves: out of order, below the position, an attempt below 1.
    """
    draft = _Draft(marks, position)
    runs, ranges = len(marks.states), len(marks.open)
    full = draft.body(runs, ranges)
    text = draft.seal(full)
    share = max(len(text) / max(limit, 1), len(full) / LARGEST_BODY)
    if _fits(full, text, limit):
        return Encoded(text, whole=True, share=share)
    text = _longest(runs, lambda kept: draft.body(kept, ranges), draft.seal, limit)
    text = text or _longest(ranges, lambda kept: draft.body(0, kept), draft.seal, limit)
    if not text and marks.note:
        text = encode_marks(replace(marks, note=b""), position, limit).text
    return Encoded(text, whole=False, share=share)


def decode_marks(text: str, position: int) -> Marks:
    """Read the text that was committed with an offset; MarksError when it says nothing, and no other error.

    No text means that a tool set the offset, or an engine without marks: nothing is known, and nobody is suspected.
    """
    if not text:
        return Marks(frontier=position, open=(), states=(), clean=True)
    prefix = _PREFIX.match(text)
    if not prefix:
        raise MarksError("foreign")
    if int(prefix[1]) > _VERSION:
        raise MarksError("newer")
    try:
        flags, body = unseal(text[prefix.end() :])
        written_for, sections = unpack_body(body)
        marks = _read(sections, written_for, clean=bool(flags & _CLEAN))
    except ValueError as error:
        raise MarksError("torn") from error
    if written_for != position:
        raise MarksError("foreign")
    return marks


class _Draft:
    """Marks as columns of numbers, so that leaving some out costs a slice."""

    __slots__ = ("_flags", "_frontier", "_open", "_position", "_rest", "_runs", "_starts", "_states")

    def __init__(self, marks: Marks, position: int) -> None:
        table: dict[RetryState, int] = {}
        indexes = [table.setdefault(state, len(table)) for _, _, state in marks.states]
        counts = [count for _, count in marks.crashes]
        self._flags = _CLEAN if marks.clean else 0
        self._position = position
        self._frontier = marks.frontier
        self._starts = [start for start, _ in marks.open]
        self._open = to_columns(marks.open, position)
        self._runs = (*to_columns([(start, end) for start, end, _ in marks.states], position), indexes)
        self._states = list(_pack_states(table))
        self._rest = (
            (_STARTED, pack_numbers(to_gaps(marks.started, position))),
            (_CRASHES, pack_numbers(to_gaps([offset for offset, _ in marks.crashes], position) + counts)),
            (_NOTE, marks.note),
        )

    def body(self, runs: int, ranges: int) -> bytes:
        """Write the first runs of states and the first open ranges, and what is settled before the next range."""
        frontier = min([self._frontier, *self._starts[ranges : ranges + 1]])
        gaps, lengths, indexes = (column[:runs] for column in self._runs)
        states = self._states[: max(indexes) + 2] if indexes else ()
        ahead = frontier - self._position
        return pack_body(
            self._position,
            (
                (_FRONTIER, pack_numbers([ahead]) if ahead else b""),
                (_OPEN, pack_numbers(self._open[0][:ranges] + self._open[1][:ranges])),
                (_STATES, b"".join(states)),
                (_RUNS, pack_numbers(gaps + lengths + indexes)),
                *self._rest,
            ),
        )

    def seal(self, body: bytes) -> str:
        """Write a body as text."""
        return f"hl{_VERSION}.{seal(self._flags, body)}"


def _pack_states(table: Collection[RetryState]) -> Iterator[bytes]:
    """Write the epoch, and then each state."""
    minutes = [state.first_failed_minute for state in table if state.first_failed_minute is not None]
    epoch = min(minutes, default=_MINUTE_OF_2026)
    since = epoch - _MINUTE_OF_2026
    if table:
        yield pack_numbers([since << 1 if since >= 0 else -since << 1 | 1])
    for state in table:
        minute = 0 if state.first_failed_minute is None else 1 + state.first_failed_minute - epoch
        yield pack_numbers([state.attempt - 1, minute, len(state.saved)]) + state.saved


def _fits(body: bytes, text: str, limit: int) -> bool:
    return len(text) <= limit and len(body) <= LARGEST_BODY


def _longest(count: int, body: Callable[[int], bytes], seal: Callable[[bytes], str], limit: int) -> str:
    """Search for the text that keeps most, of fewer than count; empty when not even keeping none fits."""
    best, low, high = "", 0, count
    while low < high:
        kept = (low + high) // 2
        written = body(kept)
        text = seal(written)
        if _fits(written, text, limit):
            best, low = text, kept + 1
        else:
            high = kept
    return best


def _read(sections: Mapping[int, bytes], position: int, *, clean: bool) -> Marks:
    states = _unpack_states(sections.get(_STATES, b""))
    (ahead,) = unpack(sections.get(_FRONTIER) or bytes(1))
    gaps, lengths = split_columns(unpack(sections.get(_OPEN, b"")), 2)
    run_gaps, run_lengths, indexes = split_columns(unpack(sections.get(_RUNS, b"")), 3)
    crash_gaps, counts = split_columns(unpack(sections.get(_CRASHES, b"")), 2)
    if indexes and max(indexes) >= len(states):
        raise ValueError("a state that the table does not have")
    runs = zip(from_columns(run_gaps, run_lengths, position), indexes, strict=True)
    return Marks(
        frontier=position + ahead,
        open=tuple(from_columns(gaps, lengths, position)),
        states=tuple((start, end, states[index]) for (start, end), index in runs),
        clean=clean,
        started=tuple(from_gaps(unpack(sections.get(_STARTED, b"")), position)),
        crashes=tuple(zip(from_gaps(crash_gaps, position), counts, strict=True)),
        note=sections.get(_NOTE, b""),
    )


def _unpack_states(packed: bytes) -> list[RetryState]:
    states: list[RetryState] = []
    since, at = read_number(packed, 0) if packed else (0, 0)
    before_first = _MINUTE_OF_2026 - 1 + (-(since >> 1) if since & 1 else since >> 1)
    while at < len(packed):
        attempts, at = read_number(packed, at)
        minute, at = read_number(packed, at)
        saved, at = read_bytes(packed, at)
        states.append(RetryState(attempts + 1, before_first + minute if minute else None, saved))
    return states
