"""The thread that owns the Kafka consumer: it polls, commits, pauses and answers rebalances, and does nothing else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
import time
from itertools import groupby
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING

from hookline.kafka import CommitError, ErrorKind, KafkaClientError, Record
from hookline.telemetry import get_logger

from ._crew import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookline.kafka import Fault, GroupConsumer, GroupListener, Position, UnreadRecord

    from ._crew import Crew
    from ._metered import EngineMeter
    from ._partition import Partition
    from ._settings import EngineSettings

_POLL_SECONDS = 0.05
_HURRY_SECONDS = 0.002
_BREATH_SECONDS = 0.02
_PATIENCE_SECONDS = 0.1
_AHEAD_WINDOWS = 4
_MOST_AHEAD = 16_000
_CLOSE_ATTEMPTS = 20
_CLOSE_POLL_SECONDS = 0.1
_MEASURE_SECONDS = 1.0
_POSITIONS_SECONDS = 10.0
_DRAIN_MARGIN_SECONDS = 2.0

_OFFSET_OF = methodcaller("offset")
_PARTITION_OF = methodcaller("partition")
_SIZE_OF = attrgetter("size_bytes")
_RECORDS_OF = attrgetter("records")

_log = get_logger(__name__)


class Poller:
    """Owns the consumer; the event loop talks to it by `commit`, `hurry` and `finish`.

    `run` does it all on a thread of its own. Whoever drives it by hand calls `open`, then `turn` as often as he likes,
    then `close`.
    """

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
        self._commits: queue.SimpleQueue[Mapping[Partition, Position]] = queue.SimpleQueue()
        self._in_flight: Mapping[Partition, Position] = {}
        self._finishing = threading.Event()
        self._measured_at = 0.0
        self._joined = False
        self._has_more = False
        self.hurry = False
        """Whether the loop waits for commits, so that a poll must not wait long for records."""

    def commit(self, positions: Mapping[Partition, Position]) -> None:
        """Ask for a commit; `Crew.commit_ended` tells how it went. One at a time."""
        self._commits.put(positions)

    def finish(self) -> None:
        """Ask the thread to commit what was let go in order, leave the group and return."""
        self._finishing.set()

    def run(self) -> None:
        """Own the consumer until `finish`. Raises ConsumerFatalError when the client is broken; commits nothing then."""
        self.open()
        while not self._finishing.is_set():
            self.turn()
        self.close()

    def open(self) -> None:
        """Make the consumer."""
        self._consumer = self._open_consumer(self)

    def turn(self) -> None:
        """Begin the commit that waits, brake or let go, poll once, and hand over what there is room for."""
        consumer = self._own_consumer()
        self._begin_commits(consumer)
        is_full = self._balance(consumer)
        self._measure(consumer)
        if is_full:
            self._poll(consumer, 1, 0.0)
        else:
            self._poll(consumer, self._settings.poll_records, 0.0 if self._has_more else self._patience_seconds())
        self._has_more = self._hand_over() == self._settings.poll_records
        if is_full and not self._has_more:
            self._rest(_HURRY_SECONDS)

    def close(self) -> None:
        """Commit what was let go in order, and leave the group.

        While the group is rebalanced a commit may be refused, until that is over, which takes polls.
        """
        consumer = self._own_consumer()
        for _ in range(_CLOSE_ATTEMPTS):
            if self._commit_finals(self._partitions.values()):
                break
            consumer.poll(1, _CLOSE_POLL_SECONDS)
        consumer.close()

    def assigned(self, partitions: Sequence[int]) -> None:
        """Open a new epoch for each partition, and say so to the broker before its first record begins."""
        self._joined = True
        self._meter.rebalanced("assigned", partitions)
        if self._finishing.is_set():
            return
        fresh = self._crew.open_epochs(self._look_up(partitions))
        self._partitions |= {partition.number: partition for partition in fresh}
        openings = {partition: partition.committed for partition in fresh if partition.committed}
        if self._commit_now(openings) is not None:
            for partition in openings:
                partition.committed = None
        self._call(self._crew.joined, fresh)

    def revoked(self, partitions: Sequence[int]) -> None:
        """Drain what runs, commit it and let the partitions go; lanes of the kept ones run on meanwhile."""
        self._meter.rebalanced("revoked", partitions)
        leaving = self._remove(partitions)
        self._drain(leaving)
        for _ in range(_CLOSE_ATTEMPTS):
            if self._commit_finals(leaving):
                break
            self._rest(_CLOSE_POLL_SECONDS)

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

    def _look_up(self, numbers: Sequence[int]) -> list[Found]:
        """Ask what is committed, and how far the logs reach; what is not answered in time is not known."""
        consumer = self._own_consumer()
        if not numbers:
            return []
        try:
            committed = consumer.committed(numbers, _POSITIONS_SECONDS)
            ends = consumer.watermarks(numbers, _POSITIONS_SECONDS)
        except KafkaClientError as error:
            self._meter.metadata_lost("unanswered")
            _log.error("positions not told: attempts may be forgotten", partitions=list(numbers), error=str(error))
            return [Found(number) for number in numbers]
        return [Found(number, committed[number], *ends[number]) for number in numbers]

    def _poll(self, consumer: GroupConsumer, most: int, seconds: float) -> None:
        """Keep what was fetched for its partition; of one that has gone meanwhile it is somebody else's."""
        fetched: dict[int, list[UnreadRecord]] = {}
        for number, run in groupby(consumer.poll(most, seconds), _PARTITION_OF):
            fetched.setdefault(number, []).extend(run)
        for number, messages in fetched.items():
            partition = self._partitions.get(number)
            if partition is not None:
                self._keep(consumer, partition, messages)

    def _keep(self, consumer: GroupConsumer, partition: Partition, messages: Sequence[UnreadRecord]) -> None:
        kept = partition.ahead.add(messages)
        if kept < len(messages):
            self._begin_anew(consumer, partition, messages[kept:])

    def _begin_anew(self, consumer: GroupConsumer, partition: Partition, messages: Sequence[UnreadRecord]) -> None:
        """Open a new epoch where offsets go back: the topic was made anew, or its log was cut. Nothing may be skipped.

        When the log was cut behind what is not settled, reading goes back to that, and these messages come again.
        """
        first, resume = _OFFSET_OF(messages[0]), partition.position
        _log.error(
            "offsets went back, beginning anew",
            partition=partition.number,
            offset=first,
            last=partition.ahead.last_offset,
        )
        partition.closing = partition.closed = True
        partition.ahead.clear()
        (fresh,) = self._crew.open_epochs([Found(partition.number)])
        fresh.completed = partition.completed
        self._partitions[partition.number] = fresh
        self._call(self._crew.forget, [partition])
        self._call(self._crew.joined, [fresh])
        if resume is not None and resume < first:
            consumer.seek(partition.number, resume)
        else:
            self._keep(consumer, fresh, messages)

    def _patience_seconds(self) -> float:
        """Tell how long nothing may happen here, while somebody waits for a commit, for room, or nobody waits."""
        if self.hurry:
            return _HURRY_SECONDS
        return _BREATH_SECONDS if any(partition.ahead for partition in self._partitions.values()) else _POLL_SECONDS

    def _hand_over(self) -> int:
        """Give the event loop what there is room for, to the partitions with least in hand first."""
        most_records, most_bytes = self._settings.window_records, self._settings.window_bytes
        left = self._settings.poll_records
        batches: list[tuple[Partition, list[Record]]] = []
        for partition in sorted(self._partitions.values(), key=_RECORDS_OF):
            room = min(partition.room(most_records, most_bytes), left)
            if not room or not partition.ahead:
                continue
            messages = partition.ahead.take(room, most_bytes - partition.size_bytes)
            records = list(map(Record.from_message, messages))
            partition.take(len(records), sum(map(_SIZE_OF, records)), records[-1].offset)
            batches.append((partition, records))
            left -= len(records)
        for partition in self._partitions.values():
            partition.braked = not partition.room(most_records, most_bytes)
        if batches:
            self._call(self._crew.receive, batches)
        return self._settings.poll_records - left

    def _balance(self, consumer: GroupConsumer) -> bool:
        """Tell the client which partitions rest, of those for which that has changed.

        True when too much waits of one, but not for long: to pause it would throw away what the client has fetched, so
        it is better left there for a moment.
        """
        most_bytes, most_ahead = self._settings.window_bytes, self._most_ahead()
        wanted: dict[bool, list[int]] = {True: [], False: []}
        is_full, now = False, time.monotonic()
        for partition in self._partitions.values():
            rest = partition.wants_pause(most_ahead, most_bytes)
            if not rest:
                partition.full_since = None
            elif partition.paused is False and now < (partition.full_since or now) + _PATIENCE_SECONDS:
                partition.full_since = partition.full_since or now
                is_full = True
                continue
            if rest is not partition.paused:
                partition.paused = rest
                wanted[rest].append(partition.number)
        if wanted[True]:
            consumer.pause(wanted[True])
        if wanted[False]:
            consumer.resume(wanted[False])
        return is_full

    def _most_ahead(self) -> int:
        """Tell how many messages of a partition may wait: some windows, but no more than its share of what all may."""
        share = max(_MOST_AHEAD // max(len(self._partitions), 1), 1)
        return min(self._settings.window_records * _AHEAD_WINDOWS, share)

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
            positions = self._commits.get_nowait()
        except queue.Empty:
            return
        # By epoch, not by number: an offset of an earlier one would pass what this one has not settled.
        owned = {each: position for each, position in positions.items() if self._partitions.get(each.number) is each}
        self._in_flight = owned
        if not owned:
            self._call(self._crew.commit_ended, owned, None)
            return
        try:
            consumer.commit(_by_number(owned))
        except CommitError as error:
            self.committed(error)

    def _commit_finals(self, partitions: Iterable[Partition]) -> bool:
        """Commit how partitions were left in order; False when that was refused and may be tried again.

        One that could not be drained stays marked as open: it may be why.
        """
        finals = {each: each.final for each in partitions if each.final is not None and each.final != each.committed}
        error = self._commit_now(finals)
        if error is not None and error.fault.kind is ErrorKind.RETRYABLE:
            return False
        for partition in finals:
            partition.final = None
        return True

    def _commit_now(self, positions: Mapping[Partition, Position]) -> CommitError | None:
        if not positions:
            return None
        try:
            self._commit_or_offset_alone(_by_number(positions))
        except CommitError as error:
            self._meter.committed(error)
            _log.warning("commit refused", error=str(error), partitions=sorted(each.number for each in positions))
            return error
        self._meter.committed(None)
        return None

    def _commit_or_offset_alone(self, positions: Mapping[int, Position]) -> None:
        consumer = self._own_consumer()
        try:
            consumer.commit_now(positions)
        except CommitError as error:
            if not error.metadata_refused:
                raise
            self._meter.metadata_lost("refused")
            consumer.commit_now({number: (offset, "") for number, (offset, _) in positions.items()})

    def _drain(self, partitions: Sequence[Partition]) -> None:
        """Wait for the event loop to drain, in bounded time: the loop itself may be blocked by a hook."""
        if any(not partition.closed for partition in partitions):
            seconds = self._settings.revoke_seconds
            drained = asyncio.run_coroutine_threadsafe(self._crew.drain(partitions, seconds), self._loop)
            self._await(drained, seconds + _DRAIN_MARGIN_SECONDS)
        for partition in partitions:
            partition.closing = partition.closed = True

    def _rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def _await(self, future: concurrent.futures.Future[None], seconds: float) -> None:
        concurrent.futures.wait([future], seconds)

    def _remove(self, partitions: Sequence[int]) -> list[Partition]:
        removed = [self._partitions.pop(number) for number in partitions if number in self._partitions]
        for partition in removed:
            partition.ahead.clear()
        return removed

    def _own_consumer(self) -> GroupConsumer:
        if self._consumer is None:
            raise RuntimeError("the poller is not open")
        return self._consumer

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


def _by_number(positions: Mapping[Partition, Position]) -> dict[int, Position]:
    return {partition.number: position for partition, position in positions.items()}
