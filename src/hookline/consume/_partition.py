"""One assignment of one partition: lanes, watermark, intake and brake."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from ._ahead import FetchedAhead
from ._marks import Marks, encode_marks, gather_marks, merge_marks
from ._tracker import OffsetTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.kafka import Position, Record

    from ._dedupe import CompletedWindow
    from ._delivery import Delivery, Fingerprint, Identity
    from ._marks import Encoded, RetryState
    from ._suspects import Suspects

_SPAN_WINDOWS = 50
FULL_SHARE = 0.75
"""How full the metadata may be before the intake brakes."""

LaneKey: TypeAlias = bytes | int | None
"""What orders records: the key by default; the offset for what waits for nobody, None for a whole partition."""


class LaneState(Enum):
    """What a lane does."""

    IDLE = "idle"
    """Nothing: it waits for a slot, or for somebody."""
    RUNNING = "running"
    RESTING = "resting"
    """Its first record waits for its next attempt."""
    BURYING = "burying"
    """Its first record waits for its dead letter to be confirmed."""


class Lane:
    """The records of one subject, run one after another. Alive only while it has work."""

    __slots__ = ("key", "partition", "queue", "ready_length", "state", "task", "timer")

    def __init__(self, partition: Partition, key: LaneKey) -> None:
        self.partition = partition
        self.key = key
        self.queue: deque[Delivery] = deque()
        self.state = LaneState.IDLE
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.ready_length = 0
        """Its length when it was last put among the ready lanes; 0 while it is none of them."""

    def wait_for_twin(self, delivery: Delivery) -> None:
        """Wait until another record of the same identity, which has begun in another lane, is settled."""
        self.state = LaneState.IDLE
        self.partition.stepped_aside(self)
        if delivery.identity is not None:
            self.partition.twins.setdefault(delivery.identity, []).append(self)

    def cut_off(self) -> None:
        """Cancel what it does; no outcome of it counts any more."""
        if self.queue:
            self.queue[0].cut_off = True
            self.queue[0].note_waiting(None)
        if self.timer is not None:
            self.timer.cancel()
        if self.task is not None:
            self.task.cancel()


class Partition:
    """One assignment of one partition.

    Its identity is the epoch: a partition that is revoked and assigned again is another object, and what ends late in
    the old one changes nothing, since nobody commits from a closed one.

    The consumer thread writes `ahead`, `*taken*`, `braked`, `paused`, `full_since` and `lag_records`, the event loop all
    else, and each side only reads the other's; but both set `closing` and `closed`, only ever to True.
    """

    __slots__ = (
        "active", "ahead", "begun", "braked", "busy", "closed", "closing", "code", "committed", "completed", "final", "found", "full_since", "held",
        "held_back", "lag_records", "lanes", "last_taken", "never_given_up", "note", "number", "paused", "quiet", "released_bytes",
        "released_records", "suspects", "taken_bytes", "taken_records", "tracker", "twins",
    )  # fmt: skip

    def __init__(
        self, number: int, completed: CompletedWindow, position: int | None = None, found: Marks | None = None
    ) -> None:
        self.number = number
        self.completed = completed
        self.tracker = OffsetTracker(position)
        self.found = found
        """What the owner before left, as long as it tells of records that were not delivered yet."""
        self.lanes: dict[LaneKey, Lane] = {}
        self.active: dict[int, Delivery] = {}
        """By offset: what was begun and is not settled, and what was begun by an owner before."""
        self.busy: set[Lane] = set()
        """Lanes where something runs that deserves the time of a drain: a handler, or the write of a dead letter."""
        self.quiet: asyncio.Future[None] | None = None
        """Somebody waits for `busy` to be empty."""
        self.begun: dict[Identity, Delivery] = {}
        """By identity: what has begun and is not settled."""
        self.twins: dict[Identity, list[Lane]] = {}
        """By identity that has begun: lanes whose first record has it too, and waits."""
        self.held_back: deque[Record] | None = None
        """Not None: records wait here for the partition to be opened."""
        self.suspects: Suspects | None = None
        """Not None: the owner before went down, and one of these records may have done it."""
        self.never_given_up: dict[int, Identity] = {}
        """By offset, of records that an owner before left unsettled: those without a dead letter. What another group has
        settled of them, it has completed."""
        self.note = b""
        """What the owner before noted in its commits; it goes on standing there where the handler notes nothing itself."""
        self.committed: Position | None = None
        self.code: Encoded | None = None
        """The metadata as last written."""
        self.final: Position | None = None
        """What to commit when it is let go in good order."""
        self.ahead = FetchedAhead(self.tracker.last)
        """What was fetched and waits for room."""
        self.taken_records = self.taken_bytes = 0
        self.last_taken = self.tracker.last
        self.released_records = self.released_bytes = 0
        self.lag_records: int | None = None
        """Records on the topic from the position on, as the client last heard; None before it heard."""
        self.held = 0
        """Dead letters that could not be written yet; while there are any the intake brakes."""
        self.braked = False
        """Whether there is no room, after what there was room for has been handed over."""
        self.paused: bool | None = None
        """What the client was told last; None before it was told anything, since it may remember an earlier epoch."""
        self.full_since: float | None = None
        """Since when it wants to be paused and is not, by the monotonic clock."""
        self.closing = False
        """No record starts any more."""
        self.closed = False
        """No completion counts any more."""

    @property
    def is_plain(self) -> bool:
        """Whether a record may be begun as it comes: nothing is known of it, and nothing keeps it."""
        return self.held_back is None and self.found is None

    @property
    def records(self) -> int:
        """Records taken from the client and not settled."""
        return self.taken_records - self.released_records

    @property
    def size_bytes(self) -> int:
        """Bytes of the records taken from the client and not settled."""
        return self.taken_bytes - self.released_bytes

    @property
    def position(self) -> int | None:
        """The offset to commit, None before the first record."""
        return self.tracker.position

    def take(self, records: int, size_bytes: int, last_offset: int) -> None:
        """Count records in, on the consumer thread."""
        self.last_taken = last_offset
        self.taken_records += records
        self.taken_bytes += size_bytes

    def release(self, record: Record) -> None:
        """Count a record out, on the event loop."""
        self.released_records += 1
        self.released_bytes += record.size_bytes

    def lane_of(self, key: LaneKey) -> Lane:
        """Give the lane of a key, a new one when it has no work now."""
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(self, key)
        return lane

    def hold_back(self, record: Record) -> None:
        """Keep a record until the partition is opened."""
        if self.held_back is not None:
            self.held_back.append(record)
        if self.suspects is not None:
            self.suspects.arrived(record.offset)

    def note_begun(self, delivery: Delivery) -> None:
        """Note a record that was begun and is not settled."""
        self.active[delivery.record.offset] = delivery
        if delivery.identity is not None:
            self.begun[delivery.identity] = delivery

    def note_completed(self, delivery: Delivery, fingerprint: Fingerprint) -> None:
        """Note a record that is done, if it has an identity."""
        identity, offset = delivery.identity, delivery.record.offset
        if identity is not None:
            self.completed.add(self.never_given_up.pop(offset, identity), offset, fingerprint)

    def note_stuck(self, delivery: Delivery) -> None:
        """Note that an attempt cannot be ended: whoever waits for it waits no longer."""
        if self.suspects is not None:
            self.suspects.ended(delivery.record.offset)

    def note_ended(self, delivery: Delivery) -> list[Lane]:
        """Note a record that is settled; gives the lanes that waited for it."""
        self.active.pop(delivery.record.offset, None)
        if self.suspects is not None:
            self.suspects.ended(delivery.record.offset)
        if delivery.identity is None or self.begun.get(delivery.identity) is not delivery:
            return []
        del self.begun[delivery.identity]
        return self.twins.pop(delivery.identity, [])

    def parks(self, lane: Lane) -> bool:
        """Tell whether a lane has to wait until no record of the partition is under suspicion any more."""
        return self.suspects is not None and self.suspects.parks(lane)

    def stepped_aside(self, lane: Lane) -> None:
        """Note that a lane will not run for a while."""
        if self.suspects is not None:
            self.suspects.stepped_aside(lane)

    @contextmanager
    def at_work(self, lane: Lane) -> Iterator[None]:
        """Mark a lane busy."""
        self.busy.add(lane)
        try:
            yield
        finally:
            self.note_idle(lane)

    def note_idle(self, lane: Lane) -> None:
        """Note that a lane is busy no more."""
        self.busy.discard(lane)
        if self.quiet is not None and not self.busy and not self.quiet.done():
            self.quiet.set_result(None)

    async def until_quiet(self) -> None:
        """Wait until no lane is busy."""
        while self.busy:
            if self.quiet is None or self.quiet.done():
                self.quiet = asyncio.get_running_loop().create_future()
            await asyncio.shield(self.quiet)  # others may wait for it too

    def room(self, most_records: int, most_bytes: int) -> int:
        """Tell how many more records may be handed over; none while it is braked, which is to be noted in `braked`.

        Full is also when too much is settled behind one record that is not: each such offset is remembered; and when
        the metadata of a commit can hardly tell more. With nothing in hand it never rests for that: where a broker takes
        next to no metadata, even what is always said would be too much.
        """
        is_braked = (
            self.held > 0
            or self.closing
            or self.records >= most_records
            or self.size_bytes >= most_bytes
            or self.tracker.span >= most_records * _SPAN_WINDOWS
            or (self.records > 0 and self.code is not None and self.code.share >= FULL_SHARE)
        )
        return 0 if is_braked else most_records - self.records

    def wants_pause(self, most_ahead: int, most_bytes: int) -> bool:
        """Tell whether fetching should rest: too much waits for room. Once paused it rests until half of it has gone.

        What waits and what is in hand share one bound of bytes. What waits is not read, so that its keys and headers are
        reckoned from what was.
        """
        share = 2 if self.paused else 1
        waiting_bytes = max(self.ahead.size_bytes, len(self.ahead) * self.taken_bytes // max(self.taken_records, 1))
        return self.closing or (
            len(self.ahead) * share >= most_ahead
            or (len(self.ahead) > 0 and (self.size_bytes + waiting_bytes) * share >= most_bytes)
        )

    def encode(
        self, limit: int, state_of: Callable[[Delivery], RetryState | None], *, clean: bool, note: bytes = b""
    ) -> Encoded | None:
        """Write down what an offset cannot say, and the handler's note; None before there is a position.

        What is let go in order is clean, unless there are suspects left: they are the next owner's then.
        """
        position = self.tracker.position
        if position is None:
            return None
        states = {offset: state for offset, each in self.active.items() if (state := state_of(each)) is not None}
        tracker, suspects = self.tracker, self.suspects
        marks = gather_marks(
            position,
            tracker.last + 1,
            tracker.delivered,
            tracker.unsettled,
            states,
            clean=clean and (suspects is None or suspects.are_over()),
            started=suspects.started(clean=clean) if suspects else (),
            crashes=suspects.crashes(clean=clean) if suspects else (),
            note=note,
        )
        if self.found is not None:
            marks = merge_marks(marks, self.found)
        self.code = encode_marks(marks, position, limit)
        return self.code
