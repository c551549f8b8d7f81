"""The consumer thread, on a scripted consumer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.consume._metered import EngineMeter
from hookline.consume._poller import Poller
from hookline.consume._settings import EngineSettings
from hookline.kafka import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.consume._partition import Partition
    from hookline.kafka import CommitError, Fault, GroupListener, Position


class ScriptedConsumer:
    """Assigns partition 0, gives one batch a poll, then asks its poller to finish."""

    def __init__(self, batches: list[list[int]]) -> None:
        self._batches = batches
        self.committed: list[Mapping[int, Position]] = []
        self.listener: GroupListener
        self.poller: Poller

    def poll(self, most: int, timeout_seconds: float) -> list[Record]:
        """Give the next batch."""
        del most, timeout_seconds
        if not self._batches:
            self.poller.finish()
            return []
        return [Record("t", 0, offset, 0, b"k", b"v") for offset in self._batches.pop(0)]

    def pause(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def resume(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def lag(self, partition: int, position: int) -> None:
        """Know nothing."""

    def is_member(self) -> bool:
        """Say no: the assignment tells."""
        return False

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Keep what is committed."""
        self.committed.append(dict(positions))

    def close(self) -> None:
        """Do nothing."""


class Deck:
    """A crew that settles everything at once, and keeps which epoch it came in."""

    def __init__(self) -> None:
        self.epochs: list[Partition] = []
        self.settled: list[tuple[int, int]] = []

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Keep the epoch."""
        self.epochs.extend(partitions)

    def receive(self, batch: list[tuple[Partition, Record]]) -> None:
        """Settle what an open epoch delivers."""
        for partition, record in batch:
            if not partition.closed and partition.tracker.deliver(record.offset):
                partition.tracker.settle(record.offset)
                self.settled.append((self.epochs.index(partition), record.offset))

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Do nothing."""

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def commit_ended(self, positions: Mapping[int, Position], error: CommitError | None) -> None:
        """Do nothing."""

    def faulted(self, fault: Fault) -> None:
        """Do nothing."""


async def test_offsets_that_go_back_begin_a_new_epoch() -> None:
    """P1: a topic that was made anew is read from its start; nothing is taken for delivered before, nothing skipped."""
    consumer, deck = ScriptedConsumer([[100, 101], [0, 1, 2]]), Deck()

    def open_consumer(listener: GroupListener) -> ScriptedConsumer:
        listener.assigned([0])
        return consumer

    loop = asyncio.get_running_loop()
    poller = consumer.poller = Poller(open_consumer, deck, loop, EngineSettings(), EngineMeter())  # type: ignore[arg-type] # a double
    await asyncio.to_thread(poller.run)
    await asyncio.sleep(0)
    old, new = deck.epochs
    assert old.closed
    assert [offset for epoch, offset in deck.settled if epoch == 1] == [0, 1, 2]
    assert new.position == 3
