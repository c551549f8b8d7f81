"""A fake Kafka: a member of the group, a reader, and the sender of dead letters."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from hookline.contract import DeadLetter
from hookline.kafka import (
    Acknowledgement,
    DeliveryTimeoutError,
    ErrorKind,
    Fault,
    KafkaClientError,
    PositionsUnknownError,
    Record,
)
from hookline.testing._topic import message_of
from tests.simulate._group import Request
from tests.simulate._setup import LETTERS, TOPIC

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from hookline.contract import Headers
    from hookline.kafka import CommitError, GroupListener, Position, UnreadRecord
    from tests.simulate._process import Process
    from tests.simulate._world import World

FETCH_HEADER = "ce_fetch"
"""Names the delivery, so that a hook and a dead letter can be traced to an epoch."""


class FakeConsumer:
    """One member of the group; a `GroupConsumer` to the poller."""

    def __init__(self, world: World, process: Process, listener: GroupListener) -> None:
        self._world = world
        self._process = process
        self._listener = listener
        self._fetch_at: dict[int, int] = {}
        self._paused: set[int] = set()
        self._sent: list[Request] = []
        self._answers: list[CommitError | None] = []
        self.member = process.member
        world.group.join(self.member)

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Tell what has to be told, then give records."""
        self._process.require_alive()
        while self._answers:
            self._listener.committed(self._answers.pop(0))
        self._tell_changes()
        del timeout_seconds
        records = self._fetch(most)
        self._process.rest()
        if records or self.member.granted or self.member.leaving:
            self._process.nudge()
        return records

    def pause(self, partitions: Sequence[int]) -> None:
        """Stop fetching."""
        self._paused |= set(partitions)

    def resume(self, partitions: Sequence[int]) -> None:
        """Fetch again."""
        self._paused -= set(partitions)

    def seek(self, partition: int, offset: int) -> None:
        """Fetch from an offset on."""
        self._fetch_at[partition] = offset

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Send a commit; the answer is told in a poll."""
        self._process.require_alive()
        self._sent.append(self._request(positions, self._process.written_at))
        self._process.maybe_crash("while a commit is sent")
        self._world.after(self._world.rng.uniform(0.001, 0.03), self._answer_one)

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Send a commit and wait for the answer."""
        self._world.block(self._process, self._world.rng.uniform(0.0, 0.01))
        while self._sent:  # the coordinator answers in order
            self._answer_one()
        error = self._world.group.commit(self._request(positions, self._world.clock.tick()))
        self._process.maybe_crash("when a commit was answered")
        self._world.block(self._process, self._world.rng.uniform(0.0, 0.01))
        if error is not None:
            raise error
        self._process.sealed(positions)

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position | None]:
        """Tell what is committed, now and then wrongly."""
        del timeout_seconds
        self._world.block(self._process, self._world.rng.uniform(0.0, 0.01))
        if self._world.happens(self._world.faults.unknown_positions):
            for number in partitions:
                self._process.forgot(number, recalls=False)
            raise PositionsUnknownError(TOPIC, "simulated", Fault("_TIMED_OUT", ErrorKind.RETRYABLE, "simulated"))
        return {number: self._read_back(number) for number in partitions}

    def watermarks(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, tuple[int, int]]:
        """Tell where partitions begin and end."""
        del timeout_seconds
        return {number: (0, self._world.topic.ends[number]) for number in partitions}

    def lag(self, partition: int, position: int) -> int:
        """Tell how far the end is."""
        return max(self._world.topic.ends[partition] - position, 0)

    def is_member(self) -> bool:
        """Tell whether the group counts it in."""
        return self.member.is_counted

    def close(self) -> None:
        """Let all go in order and leave."""
        if not self.member.is_counted:
            self._lose()
        self._revoke(sorted(self.member.told))
        self._world.group.leave(self.member)

    def _request(self, positions: Mapping[int, Position], written_at: int) -> Request:
        epochs = self._world.checks.committing(self.member.process, positions, written_at)
        return Request(self.member, self.member.incarnation, dict(positions), epochs, written_at)

    def _answer_one(self) -> None:
        if self._sent:
            self._answers.append(self._world.group.commit(self._sent.pop(0)))
            self._process.nudge()

    def _read_back(self, number: int) -> Position | None:
        position = self._world.group.positions.get(number)
        if position is None or not position[1] or not self._world.happens(self._world.faults.torn):
            return position
        self._process.forgot(number, recalls=True)
        offset, text = position
        return offset, self._world.rng.choice((text[: len(text) // 2], "somebody else's", "hl9.AAAA"))

    def _tell_changes(self) -> None:
        if not self.member.is_counted:
            self._lose()
            self._world.group.join(self.member)
        elif self.member.leaving:
            self._revoke(sorted(self.member.leaving))
        elif self.member.granted:
            self._assign(sorted(self.member.granted))

    def _assign(self, numbers: Sequence[int]) -> None:
        member = self.member
        member.told |= member.granted
        member.granted -= set(numbers)
        for number in numbers:
            self._process.opened(number)
        self._listener.assigned(numbers)
        for number in numbers:
            offset, _ = self._world.group.positions.get(number, (0, ""))
            self._fetch_at[number] = offset
            self._paused.discard(number)

    def _revoke(self, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        incarnation = self.member.incarnation
        self._listener.revoked(numbers)
        for number in numbers:
            self._drop(number)
            self.member.told.discard(number)
            if self.member.is_counted and self.member.incarnation == incarnation:
                self._world.group.released(self.member, number)

    def _lose(self) -> None:
        numbers = sorted(self.member.told)
        self._listener.lost(numbers)
        for number in numbers:
            self._drop(number)
            self.member.told.discard(number)

    def _drop(self, number: int) -> None:
        self._process.closed(number)
        self._fetch_at.pop(number, None)

    def _fetch(self, most: int) -> list[UnreadRecord]:
        numbers = [number for number in self._fetch_at if number not in self._paused]
        self._world.rng.shuffle(numbers)
        records: list[Record] = []
        for number in numbers:
            wanted = self._world.rng.randint(0, most - len(records))
            records += self._world.topic.after(number, self._fetch_at[number], wanted)
        for record in records:
            self._fetch_at[record.partition] = record.offset + 1
        return [message_of(self._delivered(record)) for record in records]

    def _delivered(self, record: Record) -> Record:
        fetch = self._process.fetched(record.partition, record.offset)
        return replace(record, headers=(*record.headers, (FETCH_HEADER, str(fetch).encode())))


class FakeReader:
    """Reads the topics back; a `TopicReader` to the engine."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    async def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        """Read dead letters."""
        assert topic == LETTERS
        for record in list(self._world.letters.records[0]):
            await self._breathe()
            if since_ms is None or (record.timestamp_ms or 0) >= since_ms:
                yield record

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Read what was settled."""
        assert topic == TOPIC
        for number, (start, end) in ranges.items():
            for record in self._world.topic.after(number, start, end - start):
                await self._breathe()
                if record.offset < end:
                    yield record

    async def _breathe(self) -> None:
        if self._world.happens(self._world.faults.recall_broken / 10):
            self._process.recall_broke()
            if self._world.happens(0.5):
                raise KafkaClientError("simulated")
            await asyncio.sleep(100.0)
        if self._world.happens(0.2):
            await asyncio.sleep(self._world.rng.uniform(0.0, 0.02))


class FakeSender:
    """Writes dead letters, confirmed after a while: or not, or without saying so."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Write one."""
        world = self._world
        world.checks.burying(fetch_of(headers))
        confirmed: asyncio.Future[Acknowledgement] = asyncio.get_running_loop().create_future()
        record = Record(topic, 0, 0, int(world.clock.wall() * 1000), key, value, headers)
        self._process.maybe_crash_here("while a dead letter is sent")
        world.after(world.rng.uniform(0.001, 0.05), lambda: self._arrive(record, confirmed))
        return await confirmed

    def _arrive(self, record: Record, confirmed: asyncio.Future[Acknowledgement]) -> None:
        world = self._world
        if world.letters_are_out() or world.happens(world.faults.letter_refused):
            self._tell(confirmed, None)
            return
        placed = world.letters.append(record)
        source = DeadLetter.from_record(placed.key, placed.value, placed.headers)
        world.checks.buried(world.checks.sent[source.source.partition][source.source.offset], source.letter_class)
        world.letter_came(source)
        is_heard = not world.happens(world.faults.letter_unheard)
        self._tell(confirmed, Acknowledgement(LETTERS, 0, placed.offset) if is_heard else None)

    def _tell(self, confirmed: asyncio.Future[Acknowledgement], answer: Acknowledgement | None) -> None:
        def tell() -> None:
            if confirmed.done():
                return
            if answer is None:
                confirmed.set_exception(DeliveryTimeoutError("simulated"))
            else:
                confirmed.set_result(answer)

        loop = self._process.loop
        self._world.after(self._world.rng.uniform(0.0, 0.02), lambda: loop.tell(tell))


def fetch_of(headers: Headers) -> int:
    """Tell which delivery a record or its dead letter is of."""
    return int(dict(headers)[FETCH_HEADER] or b"")
