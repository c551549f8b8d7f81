"""The consumer thread, on a scripted consumer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.consume._metered import EngineMeter
from hookline.consume._poller import Poller
from hookline.consume._settings import EngineSettings
from hookline.kafka import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.consume._partition import Partition
    from hookline.kafka import CommitError, Fault, GroupListener, Position


class ScriptedConsumer:
    """Assigns partition 0, gives one batch a poll, then asks its poller to finish."""

    def __init__(self, batches: list[list[int]]) -> None:
        self._batches = batches
        self.committed: list[Mapping[int, Position]] = []
        self.sought: list[int] = []
        self.poller: Poller
        self.turn: Callable[[], None]

    def poll(self, most: int, timeout_seconds: float) -> list[Record]:
        """Give the next batch."""
        del most, timeout_seconds
        self.turn()
        if not self._batches:
            self.poller.finish()
            return []
        return [Record("t", 0, offset, 0, b"k", b"v") for offset in self._batches.pop(0)]

    def pause(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def resume(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def seek(self, partition: int, offset: int) -> None:
        """Keep where reading goes back to."""
        del partition
        self.sought.append(offset)

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
    """A crew that settles at once all but what it is told to leave open, and keeps which epoch it came in."""

    def __init__(self, left_open: frozenset[int] = frozenset()) -> None:
        self._left_open = left_open
        self.epochs: list[Partition] = []
        self.settled: list[tuple[int, int]] = []

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Keep the epoch."""
        self.epochs.extend(partitions)

    def receive(self, batch: list[tuple[Partition, Record]]) -> None:
        """Settle what an open epoch delivers."""
        for partition, record in batch:
            if partition.tracker.deliver(record.offset) and record.offset not in self._left_open:
                partition.tracker.settle(record.offset)
                self.settled.append((self.epochs.index(partition), record.offset))

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Do nothing."""

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def commit_ended(self, offsets: Mapping[Partition, int], error: CommitError | None) -> None:
        """Do nothing."""

    def faulted(self, fault: Fault) -> None:
        """Do nothing."""


async def polled(consumer: ScriptedConsumer, deck: Deck) -> None:
    """Run a poller to its end, one turn of the loop after each poll."""

    def open_consumer(listener: GroupListener) -> ScriptedConsumer:
        listener.assigned([0])
        return consumer

    loop = asyncio.get_running_loop()
    poller = consumer.poller = Poller(open_consumer, deck, loop, EngineSettings(), EngineMeter())  # type: ignore[arg-type] # a double
    consumer.turn = lambda: asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
    await asyncio.to_thread(poller.run)


async def test_offsets_that_go_back_begin_a_new_epoch() -> None:
    """P1: a topic that was made anew is read from its start; nothing is taken for delivered before, nothing skipped."""
    consumer, deck = ScriptedConsumer([[100, 101], [0, 1, 2]]), Deck()
    await polled(consumer, deck)
    old, new = deck.epochs
    assert old.closed
    assert [offset for epoch, offset in deck.settled if epoch == 1] == [0, 1, 2]
    assert new.position == 3
    assert consumer.sought == []


async def test_a_log_cut_above_what_is_unsettled_is_read_from_there_again() -> None:
    """P1, P5: offsets 0 to 4 are delivered, 1 is open, the log is cut at 3: reading goes back to 1, nothing is committed past it."""
    consumer, deck = ScriptedConsumer([[0, 1, 2, 3, 4], [3, 4]]), Deck(frozenset({1}))
    await polled(consumer, deck)
    assert consumer.sought == [1]
    assert all(positions[0][0] <= 1 for positions in consumer.committed)
