"""The thread that owns the Kafka consumer: it polls, commits, pauses and answers rebalances, and does nothing else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
import time
from typing import TYPE_CHECKING, Protocol

from hookline.kafka import CommitError
from hookline.telemetry import get_logger

from ._dedupe import CompletedWindow
from ._partition import Partition, uncommitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookline.kafka import Fault, GroupConsumer, GroupListener, Position, Record

    from ._metered import EngineMeter
    from ._settings import EngineSettings

_POLL_SECONDS = 0.1
_MEASURE_SECONDS = 1.0
_DRAIN_MARGIN_SECONDS = 2.0

_log = get_logger(__name__)


class Crew(Protocol):
    """What the poller tells the event loop. `receive`, `lost`, `joined`, `commit_ended` and `faulted` run there."""

    def receive(self, batch: list[tuple[Partition, Record]]) -> None:
        """Take records that were fetched."""
        ...

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Let what runs end, at most so long; then nothing of these partitions counts any more."""
        ...

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Drop partitions that are somebody else's already; the group is to be joined again."""
        ...

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Drop an epoch of partitions that are kept."""
        ...

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Take partitions over."""
        ...

    def commit_ended(self, offsets: Mapping[Partition, int], error: CommitError | None) -> None:
        """Learn how a commit ended."""
        ...

    def faulted(self, fault: Fault) -> None:
        """Learn of an error of the client."""
        ...


class Poller:
    """Runs on a thread of its own from `run` to the end of it; the event loop talks to it by `commit` and `finish`."""

    def __init__(
        self,
        open_consumer: Callable[[GroupListener], GroupConsumer],
        crew: Crew,
        loop: asyncio.AbstractEventLoop,
        settings: EngineSettings,
        meter: EngineMeter,
    ) -> None:
        self._open_consumer = open_consumer
        self._consumer: GroupConsumer | None = None
        self._crew = crew
        self._loop = loop
        self._settings = settings
        self._meter = meter
        self._partitions: dict[int, Partition] = {}
        self._commits: queue.SimpleQueue[Mapping[Partition, int]] = queue.SimpleQueue()
        self._in_flight: Mapping[Partition, int] = {}
        self._finishing = threading.Event()
        self._measured_at = 0.0
        self._joined = False

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Ask for a commit; `Crew.commit_ended` tells how it went. One at a time."""
        self._commits.put(offsets)

    def finish(self) -> None:
        """Ask the thread to commit what is settled, leave the group and return."""
        self._finishing.set()

    def run(self) -> None:
        """Own the consumer until `finish`. Raises ConsumerFatalError when the client is broken; commits nothing then."""
        consumer = self._consumer = self._open_consumer(self)
        while not self._finishing.is_set():
            self._begin_commits(consumer)
            self._balance(consumer)
            self._measure(consumer)
            records = consumer.poll(self._settings.poll_records, _POLL_SECONDS)
            if records:
                self._hand_over(consumer, records)
        self._commit_positions(self._partitions.values())
        consumer.close()

    def assigned(self, partitions: Sequence[int]) -> None:
        """Open a new epoch for each partition."""
        self._joined = True
        self._meter.rebalanced("assigned", partitions)
        self._call(self._crew.joined, [self._open_epoch(number) for number in partitions])

    def revoked(self, partitions: Sequence[int]) -> None:
        """Drain what runs, commit it and let the partitions go; lanes of the kept ones run on meanwhile."""
        self._meter.rebalanced("revoked", partitions)
        leaving = self._remove(partitions)
        self._drain(leaving)
        self._commit_positions(leaving)

    def lost(self, partitions: Sequence[int]) -> None:
        """Forget partitions that are somebody else's: a commit would rewind them."""
        self._meter.rebalanced("lost", partitions)
        gone = self._remove(partitions)
        for partition in gone:
            partition.closing = partition.closed = True
        self._joined = False
        self._call(self._crew.lost, gone)

    def committed(self, error: CommitError | None) -> None:
        """Pass on the end of the commit in flight."""
        self._meter.committed(error)
        self._call(self._crew.commit_ended, self._in_flight, error)

    def faulted(self, fault: Fault) -> None:
        """Pass on an error of the client."""
        self._call(self._crew.faulted, fault)

    def _hand_over(self, consumer: GroupConsumer, records: list[Record]) -> None:
        batch: list[tuple[Partition, Record]] = []
        sought = set[int]()
        for record in records:
            partition = self._partitions.get(record.partition)
            if partition is None or record.partition in sought:
                continue
            if record.offset <= partition.last_taken:
                resume = partition.position
                partition = self._begin_anew(partition, record)
                if resume is not None and resume < record.offset:
                    consumer.seek(record.partition, resume)
                    sought.add(record.partition)
                    continue
            partition.take(record)
            batch.append((partition, record))
        self._call(self._crew.receive, batch)

    def _open_epoch(self, number: int) -> Partition:
        partition = self._partitions[number] = Partition(number, CompletedWindow(self._settings.dedupe_window))
        return partition

    def _begin_anew(self, partition: Partition, record: Record) -> Partition:
        """Open a new epoch where offsets go back: the topic was made anew, or its log was cut. Nothing may be skipped.

        When the log was cut behind what is not settled, reading goes back to that.
        """
        _log.error("offsets went back, beginning anew", record=str(record), last=partition.last_taken)
        partition.closing = partition.closed = True
        fresh = self._open_epoch(partition.number)
        self._call(self._crew.forget, [partition])
        self._call(self._crew.joined, [fresh])
        return fresh

    def _balance(self, consumer: GroupConsumer) -> None:
        """Tell the client which partitions rest, of those for which that has changed."""
        most_records, most_bytes = self._settings.window_records, self._settings.window_bytes
        wanted: dict[bool, list[int]] = {True: [], False: []}
        for partition in self._partitions.values():
            rest = partition.wants_pause(most_records, most_bytes)
            if rest is not partition.paused:
                partition.paused = rest
                wanted[rest].append(partition.number)
        if wanted[True]:
            consumer.pause(wanted[True])
        if wanted[False]:
            consumer.resume(wanted[False])

    def _measure(self, consumer: GroupConsumer) -> None:
        now = time.monotonic()
        if now - self._measured_at < _MEASURE_SECONDS:
            return
        self._measured_at = now
        if not self._joined and consumer.is_member():
            self.assigned([])
        for partition in self._partitions.values():
            if partition.position is not None:
                partition.lag_records = consumer.lag(partition.number, partition.position)

    def _begin_commits(self, consumer: GroupConsumer) -> None:
        try:
            offsets = self._commits.get_nowait()
        except queue.Empty:
            return
        # By epoch, not by number: an offset of an earlier one would pass what this one has not settled.
        owned = {each: offset for each, offset in offsets.items() if self._partitions.get(each.number) is each}
        self._in_flight = owned
        if not owned:
            self._call(self._crew.commit_ended, owned, None)
            return
        try:
            consumer.commit(_positions(owned))
        except CommitError as error:
            self.committed(error)

    def _commit_positions(self, partitions: Iterable[Partition]) -> None:
        positions = _positions(uncommitted(partitions))
        if not positions or self._consumer is None:
            return
        try:
            self._consumer.commit_now(positions)
            self._meter.committed(None)
        except CommitError as error:
            self._meter.committed(error)
            _log.warning("commit refused before partitions moved", error=str(error), partitions=sorted(positions))

    def _drain(self, partitions: Sequence[Partition]) -> None:
        """Wait for the event loop to drain, in bounded time: the loop itself may be blocked by a hook."""
        if any(not partition.closed for partition in partitions):
            seconds = self._settings.revoke_seconds
            drained = asyncio.run_coroutine_threadsafe(self._crew.drain(partitions, seconds), self._loop)
            concurrent.futures.wait([drained], seconds + _DRAIN_MARGIN_SECONDS)
        for partition in partitions:
            partition.closing = partition.closed = True

    def _remove(self, partitions: Sequence[int]) -> list[Partition]:
        return [self._partitions.pop(number) for number in partitions if number in self._partitions]

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


def _positions(offsets: Mapping[Partition, int]) -> dict[int, Position]:
    return {partition.number: (offset, "") for partition, offset in offsets.items()}
