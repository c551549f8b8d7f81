"""One assignment of one partition: lanes, watermark, intake and brake."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from ._delivery import Delivery
from ._tracker import OffsetTracker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator

    from hookline.kafka import Record

    from ._dedupe import CompletedWindow

_SPAN_WINDOWS = 50

LaneKey: TypeAlias = bytes | int
"""The record's key; for a null key, which has no order, the offset: a lane of its own."""


class Lane:
    """The records of one subject, run one after another. Alive only while it has work."""

    __slots__ = ("busy", "key", "queue", "task")

    def __init__(self, key: LaneKey) -> None:
        self.key = key
        self.queue: deque[Delivery] = deque()
        self.task: asyncio.Task[None] | None = None
        self.busy = False
        """Whether something runs that deserves the time of a drain: a handler, or the write of a dead letter."""

    def cut_off(self) -> None:
        """Cancel what it does; no outcome of it counts any more."""
        if self.queue:
            self.queue[0].cut_off = True
        if self.task is not None:
            self.task.cancel()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Mark the lane busy."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False


class Partition:
    """One assignment of one partition.

    Its identity is the epoch: a partition that is revoked and assigned again is another object, and what ends late in
    the old one changes nothing, since nobody commits from a closed one.

    The consumer thread writes `*taken*`, `paused` and `lag_records`, the event loop all else, and each side only reads
    the other's; but both set `closing` and `closed`, only ever to True.
    """

    __slots__ = (
        "closed", "closing", "committed", "completed", "held", "lag_records", "lanes", "last_taken", "number", "paused",
        "released_bytes", "released_records", "taken_bytes", "taken_records", "tracker",
    )  # fmt: skip

    def __init__(self, number: int, completed: CompletedWindow) -> None:
        self.number = number
        self.completed = completed
        self.tracker = OffsetTracker()
        self.lanes: dict[LaneKey, Lane] = {}
        self.committed: int | None = None
        self.taken_records = self.taken_bytes = 0
        self.last_taken = -1
        self.released_records = self.released_bytes = 0
        self.lag_records: int | None = None
        """Records on the topic from the position on, as the client last heard; None before it heard."""
        self.held = 0
        """Dead letters that could not be written yet; while there are any the intake brakes."""
        self.paused: bool | None = None
        """What the client was told last; None before it was told anything, since it may remember an earlier epoch."""
        self.closing = False
        """No record starts any more."""
        self.closed = False
        """No completion counts any more."""

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

    def take(self, record: Record) -> None:
        """Count a record in, on the consumer thread."""
        self.last_taken = record.offset
        self.taken_records += 1
        self.taken_bytes += record.size_bytes

    def release(self, record: Record) -> None:
        """Count a record out, on the event loop."""
        self.released_records += 1
        self.released_bytes += record.size_bytes

    def enqueue(self, record: Record) -> Lane | None:
        """Put a record into its lane and return the lane; None when the record had been delivered before."""
        if not self.tracker.deliver(record.offset):
            return None
        key = record.offset if record.key is None else record.key
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(key)
        lane.queue.append(Delivery(record))
        return lane

    def wants_pause(self, most_records: int, most_bytes: int) -> bool:
        """Tell whether fetching should rest: full, or braked. Once paused it rests until the half is worked off.

        Full is also when too much is settled behind one record that is not: each such offset is remembered.
        """
        if self.held or self.closing:
            return True
        share = 2 if self.paused else 1
        return (
            self.records * share >= most_records
            or self.size_bytes * share >= most_bytes
            or self.tracker.span * share >= most_records * _SPAN_WINDOWS
        )


def uncommitted(partitions: Iterable[Partition]) -> dict[Partition, int]:
    """Tell the offset to commit for each partition whose position has moved since the last commit."""
    return {
        partition: partition.position
        for partition in partitions
        if partition.position is not None and partition.position != partition.committed
    }
