"""Kafka in memory: a hook topic, its dead letters, what a group has committed, and the group's only member."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from hookline.kafka import Acknowledgement, DeliveryTimeoutError, Record

from ._topic import Log, message_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from hookline.contract import Headers
    from hookline.kafka import CommitError, GroupListener, Position, UnreadRecord


@dataclass(eq=False, slots=True)
class Store:
    """What outlives a process."""

    topic: Log
    letters: Log
    wall: Callable[[], float]
    positions: dict[int, Position] = field(default_factory=dict)
    """By partition: what is committed, and its metadata."""
    letters_are_away: bool = False

    @property
    def partitions(self) -> range:
        """The partitions of the hook topic."""
        return range(len(self.topic.records))

    def append(self, key: bytes | None, value: bytes | None, headers: Headers) -> Record:
        """Put a record on the hook topic, in the partition of its key."""
        number = crc32(key or b"") % len(self.partitions)
        return self.topic.append(self._record(self.topic.name, number, key, value, headers))

    def bury(self, key: bytes | None, value: bytes | None, headers: Headers) -> Record:
        """Put a record on the dead-letter topic."""
        return self.letters.append(self._record(self.letters.name, 0, key, value, headers))

    def uncommitted(self) -> list[Record]:
        """List the records from the committed positions on."""
        starts = {number: self.positions.get(number, (0, ""))[0] for number in self.partitions}
        return [each for number, start in starts.items() for each in self.topic.records[number] if each.offset >= start]

    def _record(self, topic: str, number: int, key: bytes | None, value: bytes | None, headers: Headers) -> Record:
        return Record(topic, number, 0, int(self.wall() * 1000), key, value, headers)


class MemoryConsumer:
    """The only member of its group; a `GroupConsumer` to the poller. Whoever holds it tells it to take and let go."""

    def __init__(self, store: Store, has_more: Callable[[], None], listener: GroupListener) -> None:
        self._store = store
        self._has_more = has_more
        self._listener = listener
        self._granted: list[int] = list(store.partitions)
        self._fetch_at: dict[int, int] = {}
        self._paused: set[int] = set()
        self._answers: list[CommitError | None] = []

    # Told from outside.

    def grant(self) -> None:
        """Give it all partitions, at the next poll."""
        self._granted = list(self._store.partitions)

    def take(self) -> list[int]:
        """Stop fetching; gives the partitions that it had."""
        numbers = sorted(self._fetch_at)
        self._fetch_at.clear()
        return numbers

    # Asked by the poller.

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Tell what has to be told, then give records; never waits."""
        del timeout_seconds
        while self._answers:
            self._listener.committed(self._answers.pop(0))
        if self._granted:
            self._assign()
        records = self._fetch(most)
        if records:
            self._has_more()
        return [message_of(record) for record in records]

    def pause(self, partitions: Sequence[int]) -> None:
        """Stop fetching."""
        self._paused |= set(partitions)

    def resume(self, partitions: Sequence[int]) -> None:
        """Fetch again."""
        self._paused -= set(partitions)
        self._has_more()

    def seek(self, partition: int, offset: int) -> None:
        """Fetch from an offset on."""
        self._fetch_at[partition] = offset

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Take a commit; the answer is told in a poll."""
        self._store.positions.update(positions)
        self._answers.append(None)

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Take a commit."""
        self._store.positions.update(positions)

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position | None]:
        """Tell what is committed."""
        del timeout_seconds
        return {number: self._store.positions.get(number) for number in partitions}

    def watermarks(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, tuple[int, int]]:
        """Tell where partitions begin and end."""
        del timeout_seconds
        return {number: (0, self._store.topic.ends[number]) for number in partitions}

    def lag(self, partition: int, position: int) -> int:
        """Tell how far the end is."""
        return max(self._store.topic.ends[partition] - position, 0)

    def is_member(self) -> bool:
        """Tell that the group counts it in."""
        return True

    def close(self) -> None:
        """Let all go and leave."""
        self._listener.revoked(self.take())

    def _assign(self) -> None:
        numbers, self._granted = self._granted, []
        self._listener.assigned(numbers)
        for number in numbers:
            self._fetch_at[number] = self._store.positions.get(number, (0, ""))[0]
            self._paused.discard(number)

    def _fetch(self, most: int) -> list[Record]:
        records: list[Record] = []
        for number, offset in self._fetch_at.items():
            if number not in self._paused:
                records += self._store.topic.after(number, offset, most - len(records))
        for record in records:
            self._fetch_at[record.partition] = record.offset + 1
        return records


class MemoryReader:
    """Reads the topics back; a `TopicReader` to the engine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        """Read dead letters, from a time on to the end."""
        del topic
        for record in list(self._store.letters.records[0]):
            if since_ms is None or (record.timestamp_ms or 0) >= since_ms:
                yield record

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Read {partition: (first offset, offset after the last)}."""
        del topic
        for number, (start, end) in ranges.items():
            for record in self._store.topic.after(number, start, end - start):
                if record.offset < end:
                    yield record


class MemorySender:
    """Writes dead letters, which are confirmed unless their topic is away."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Write one."""
        await asyncio.sleep(0)
        if self._store.letters_are_away:
            raise DeliveryTimeoutError("the dead-letter topic is away, by the test's own script")
        placed = self._store.bury(key, value, headers)
        return Acknowledgement(topic, placed.partition, placed.offset)
