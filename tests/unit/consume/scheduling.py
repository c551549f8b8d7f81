"""A scheduler without Kafka: partitions that are fed by hand, and a loop that is turned by hand."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.consume import DeadLetterWriter, EngineMeter, EngineSettings, EngineStatus, Order, RetryPolicy
from hookline.consume._burial import Undertaker
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._partition import Partition
from hookline.consume._scheduler import Scheduler
from hookline.kafka import Acknowledgement, Record
from tests.support.engine import ScriptedHandler, Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    from hookline.consume import Delivery, Memory
    from hookline.contract import Headers

AT_ONCE = RetryPolicy(max_attempts=3, initial_seconds=0.0, max_seconds=0.0)
NEVER = RetryPolicy(max_attempts=3, initial_seconds=1_000.0, max_seconds=1_000.0)
_TURNS = 40


@dataclass
class Post:
    """A sender that keeps what is sent."""

    sent: list[bytes | None] = field(default_factory=list)

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Keep the value."""
        del key, headers
        self.sent.append(value)
        return Acknowledgement(topic, 0, len(self.sent) - 1)


class Gates:
    """Lets each record that waits here go when the test says so."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Event] = {}
        self.inside: list[str] = []
        self.most = 0

    def open(self, *values: str) -> None:
        """Let records of these values go, now or when they come."""
        for value in values:
            self._gate(value).set()

    async def wait(self, delivery: Delivery) -> None:
        """Stay inside until the gate is open."""
        value = value_of(delivery)
        self.inside.append(value)
        self.most = max(self.most, len(self.inside))
        try:
            await self._gate(value).wait()
        finally:
            self.inside.remove(value)

    def _gate(self, value: str) -> asyncio.Event:
        return self._open.setdefault(value, asyncio.Event())


class Bench:
    """A scheduler, what it was given and what came of it."""

    def __init__(
        self,
        act: Callable[[Delivery], Awaitable[None] | None],
        *,
        concurrency: int = 64,
        order: Order = Order.SUBJECT,
        dedupes: bool = False,
        policy: RetryPolicy = AT_ONCE,
        memory: Memory | None = None,
    ) -> None:
        self.watcher = Watcher()
        self.post = Post()
        self.broken: list[BaseException] = []
        self.handler = ScriptedHandler(act, policy, dedupes)
        self.partitions: dict[int, Partition] = {}
        undertaker = Undertaker(DeadLetterWriter(self.post, "t_dlq"), "g", EngineMeter(), EngineStatus())
        settings = EngineSettings(concurrency=concurrency, order=order)
        self.scheduler = Scheduler(self.handler, memory, settings, self.watcher, undertaker, self.broken.append)

    def partition(self, number: int = 0) -> Partition:
        """Give a partition that begins at offset 0."""
        if number not in self.partitions:
            self.partitions[number] = Partition(number, CompletedWindow(1_000), 0)
        return self.partitions[number]

    def feed(self, *values: str, number: int = 0, keys: str | None = None) -> list[Record]:
        """Give records as if they were fetched; each one's key is the first letter of its value, `-` a null key."""
        partition = self.partition(number)
        start = partition.last_taken + 1
        records = [
            record_of(value, start + n, number, key)
            for n, (value, key) in enumerate(zip(values, keys or [v[0] for v in values], strict=True))
        ]
        partition.take(len(records), sum(record.size_bytes for record in records), start + len(records) - 1)
        self.scheduler.receive(partition, records)
        self.scheduler.wake()
        return records

    async def until(self, condition: Callable[[], object]) -> None:
        """Turn the loop until something holds, which needs no time but turns."""
        for _ in range(2_000):
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"not after many turns: {self.watcher}")

    async def until_settled(self, number: int = 0) -> None:
        """Turn the loop until all that was given is settled."""
        partition = self.partition(number)
        await self.until(lambda: partition.position == partition.last_taken + 1)

    def let_go(self, *partitions: Partition) -> None:
        """Drop partitions, all when none is named."""
        for partition in partitions or self.partitions.values():
            partition.closing = partition.closed = True
            for lane in partition.lanes.values():
                self.scheduler.cut_off(lane)


@asynccontextmanager
async def bench(*arguments: Callable[[Delivery], Awaitable[None] | None], **named: object) -> AsyncIterator[Bench]:
    """Give a bench whose partitions are let go at the end."""
    made = Bench(*arguments, **named)  # type: ignore[arg-type] # handed on as they are
    try:
        yield made
    finally:
        made.let_go()
        await turns()


async def turns(count: int = _TURNS) -> None:
    """Turn the loop as often as whatever can happen by itself needs."""
    for _ in range(count):
        await asyncio.sleep(0)


def record_of(value: str, offset: int, number: int = 0, key: str | None = None) -> Record:
    """Make a record; the key is the first letter of its value when it is not given, `-` a null key."""
    name = value[0] if key is None else key
    return Record("t", number, offset, 0, None if name == "-" else name.encode(), value.encode())


def value_of(delivery: Delivery) -> str:
    """Tell the value of a delivery's record."""
    return (delivery.record.value or b"").decode()


def waits_for(gates: Gates, held: Collection[str]) -> Callable[[Delivery], Awaitable[None] | None]:
    """Make a handler that ends at once, but for the records that are held."""
    return lambda delivery: gates.wait(delivery) if value_of(delivery) in held else None
