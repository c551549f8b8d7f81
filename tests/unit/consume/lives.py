"""A topic, what its group has committed, and processes that live one after another and go down at a record of their own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.consume import EngineMeter, EngineSettings
from hookline.consume._commits import Commits
from hookline.consume._crew import Found
from hookline.consume._marks import decode_marks
from hookline.consume._openings import Openings, Recollection
from hookline.telemetry import Metrics
from tests.unit.consume.scheduling import AT_ONCE, Bench, turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from hookline.consume import Delivery, RetryPolicy, Turn
    from hookline.consume._marks import Marks
    from hookline.consume._partition import Partition
    from hookline.kafka import Position


@dataclass
class Disk:
    """What outlives a process: the records, what is committed, the dead letters, and what was counted."""

    values: dict[int, list[str]]
    low: dict[int, int] = field(default_factory=dict)
    committed: dict[int, Position] = field(default_factory=dict)
    letters: list[bytes | None] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics(domain="test"))

    def marks(self, number: int = 0) -> Marks:
        """Read what is committed of a partition."""
        position, text = self.committed[number]
        return decode_marks(text, position)


class Life:
    """One process: it owns all partitions until it goes down or lets them go."""

    def __init__(
        self,
        disk: Disk,
        act: Callable[[Delivery], Awaitable[None] | None],
        *,
        policy: RetryPolicy = AT_ONCE,
        max_crashes: int = 3,
        may_bury: bool = True,
        recollection: Recollection | None = None,
        turn: Turn | None = None,
    ) -> None:
        self.disk = disk
        self.is_down = False
        self.bench = Bench(act, policy=policy, dedupes=recollection is not None)
        self.bench.post.sent = disk.letters
        meter, settings = EngineMeter(disk.metrics), EngineSettings(max_crashes=max_crashes)
        self.commits = Commits(self.bench.partitions.values(), None, self._commit, settings.commit_seconds, meter)
        self._openings = Openings(
            "g",
            self.bench.scheduler,
            self.commits,
            settings,
            meter,
            recollection,
            may_bury=may_bury,
            broke=self.bench.broken.append,
            turn=turn,
        )
        self.partitions = [self._open(number) for number in disk.values]

    def _open(self, number: int) -> Partition:
        values = self.disk.values[number]
        found = Found(number, self.disk.committed.get(number), self.disk.low.get(number, 0), len(values))
        partition = self.bench.partitions[number] = self._openings.make(found)
        if partition.committed is not None:
            self.disk.committed[number] = partition.committed
        return partition

    async def run(self) -> None:
        """Open the partitions, until cancelled."""
        self._openings.begin(self.partitions)
        await self._openings.run()

    def fetch(self) -> None:
        """Give all records from where the partitions begin."""
        for partition in self.partitions:
            values = self.disk.values[partition.number][partition.last_taken + 1 :]
            if values:
                self.bench.feed(*values, number=partition.number)

    def let_go(self, number: int) -> None:
        """Lose one partition, which is somebody else's now."""
        partition = self.bench.partitions.pop(number)
        self.bench.let_go(partition)
        self._openings.changed()

    def go_down(self) -> None:
        """Be killed: nothing is committed or written from now on."""
        self.is_down = True

    def is_through(self) -> bool:
        """Tell whether all records are settled."""
        return all(each.position == len(self.disk.values[each.number]) for each in self.partitions)

    async def live(self) -> None:
        """Run until all is settled or the process goes down."""
        self.fetch()
        await self.bench.until(lambda: self.is_down or self.is_through())
        if not self.is_down:
            await self.commits.confirm()

    def leave(self) -> None:
        """Let all partitions go in order."""
        self.bench.let_go()
        self.commits.seal(self.partitions)
        for partition in self.partitions:
            if partition.final is not None:
                self.disk.committed[partition.number] = partition.final

    def _commit(self, positions: Mapping[Partition, Position]) -> None:
        asyncio.get_running_loop().call_soon(self._take, positions)

    def _take(self, positions: Mapping[Partition, Position]) -> None:
        if not self.is_down:
            self.disk.committed |= {partition.number: position for partition, position in positions.items()}
            self.commits.ended(positions, None)


@asynccontextmanager
async def life(disk: Disk, act: Callable[[Delivery], Awaitable[None] | None], **named: object) -> AsyncIterator[Life]:
    """Give a process that runs; at the end it is gone, without having let anything go in order."""
    made = Life(disk, act, **named)  # type: ignore[arg-type] # handed on as they are
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        made.go_down()
        made.bench.let_go()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await turns()
