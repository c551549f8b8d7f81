"""The event loop's side of the engine: lanes, attempts, settling and commits."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hookline.errs import one_line
from hookline.kafka import KafkaClientError
from hookline.telemetry import get_logger

from ._dead_letters import DeadLetterWriter, dead_letter_of
from ._invoke import Returned, invoke
from ._metered import EngineMeter
from ._outcome import Done, Duplicate, GiveUp, Hold, Outcome, Retry, RetryPolicy
from ._partition import uncommitted
from ._poller import Poller
from ._status import EngineLoad, EngineStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.contract import DeadLetter
    from hookline.kafka import CommitError, Fault, GroupConsumer, GroupListener, Record

    from ._delivery import Delivery, Handler, Observer
    from ._partition import Lane, Partition
    from ._settings import EngineSettings

_CANCEL_SECONDS = 1.0
_CLOSE_SECONDS = 4.0
_TURN = 32
_TOLD_RECORDS = 20
_HOLD_POLICY = RetryPolicy(initial_seconds=0.5, max_seconds=15.0)

_log = get_logger(__name__)


class Engine:
    """Runs the records of one topic through a handler, in order per subject, and commits only what is settled.

    `open_consumer` makes the group member, on the thread that will own it. Without `dead_letters` the handler must
    never give up. Start and stop on one event loop; everything the handler does runs there.
    """

    def __init__(
        self,
        *,
        open_consumer: Callable[[GroupListener], GroupConsumer],
        group: str,
        handler: Handler,
        dead_letters: DeadLetterWriter | None,
        settings: EngineSettings,
        observer: Observer,
        meter: EngineMeter | None = None,
    ) -> None:
        self._open_consumer = open_consumer
        self._group = group
        self._handler = handler
        self._dead_letters = dead_letters
        self._settings = settings
        self._observer = observer
        self._meter = meter or EngineMeter()
        self._partitions: dict[int, Partition] = {}
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._committing = False
        self._stopping = False
        self.status = EngineStatus()

    async def start(self) -> None:
        """Begin to consume. Returns at once; `status` tells when the group is joined."""
        loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = loop.create_future()
        self._poller = Poller(self._open_consumer, self, loop, self._settings, self._meter)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"kafka-{self._group}")
        self._polling = loop.run_in_executor(self._thread, self._poller.run)
        self._ticking = loop.create_task(self._commit_for_ever())

    async def wait(self) -> None:
        """Wait until the engine ends by itself, which it does only by raising what broke it."""
        await asyncio.wait((self._polling, self._failed, self._ticking), return_when=asyncio.FIRST_COMPLETED)
        for part in (self._polling, self._failed, self._ticking):
            if part.done() and not part.cancelled():
                part.result()

    async def stop(self, drain_seconds: float) -> None:
        """Stop taking records, let what runs end for at most `drain_seconds`, commit, leave the group.

        What is cut off is not committed and costs no attempt. Raises what broke the consumer, if something did.
        """
        self._stopping = True
        load = self.load()
        _log.info(
            "draining", group=self._group, running=load.running, retrying=load.retrying, at_most_seconds=drain_seconds
        )
        try:
            await self.drain(list(self._partitions.values()), drain_seconds)
        finally:
            await self._close()

    async def _close(self) -> None:
        """Commit what is settled and leave the group, in bounded time."""
        self._ticking.cancel()
        self._poller.finish()
        done, _ = await asyncio.wait((self._polling,), timeout=_CLOSE_SECONDS)
        self._thread.shutdown(wait=False)
        if not done:
            _log.error("the Kafka client did not close in time", group=self._group, waited_seconds=_CLOSE_SECONDS)
            return
        self._polling.result()

    def load(self) -> EngineLoad:
        """Tell what is in hand now."""
        partitions = self._partitions.values()
        lanes = [lane for partition in partitions for lane in partition.lanes.values() if lane.queue]
        written_ms = [lane.queue[0].record.timestamp_ms for lane in lanes]
        oldest_ms = min((each for each in written_ms if each is not None), default=None)
        return EngineLoad(
            lanes=len(lanes),
            running=sum(lane.busy for lane in lanes),
            retrying=sum(lane.queue[0].first_failed_at is not None and not lane.busy for lane in lanes),
            paused_partitions=sum(partition.paused is True for partition in partitions),
            oldest_unsettled_seconds=0.0 if oldest_ms is None else max(time.time() - oldest_ms / 1000, 0.0),
            lag_records={each.number: each.lag_records for each in partitions if each.lag_records is not None},
        )

    # What the consumer thread tells, called on the event loop.

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Take partitions over."""
        for partition in partitions:
            partition.closing = self._stopping
            self._partitions[partition.number] = partition
        self.status.has_joined()
        _log.info("partitions assigned", group=self._group, partitions=[partition.number for partition in partitions])

    def receive(self, batch: list[tuple[Partition, Record]]) -> None:
        """Put records into their lanes and wake those that slept."""
        self.status.recovered()
        for partition, record in batch:
            lane = None if partition.closing else partition.enqueue(record)
            if lane is None:
                partition.release(record)
            elif lane.task is None:
                lane.task = asyncio.create_task(self._run_lane(partition, lane))
                lane.task.add_done_callback(partial(self._lane_ended, partition))

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Cancel what waits, let what runs end within `seconds`, then cancel it too and close the partitions."""
        busy: dict[asyncio.Task[None], Lane] = {}
        for partition in partitions:
            partition.closing = True
            for lane in partition.lanes.values():
                if lane.busy and lane.task is not None:
                    busy[lane.task] = lane
                else:
                    lane.cut_off()
        if busy:
            _, late = await asyncio.wait(busy, timeout=seconds)
            await self._cut_off({task: busy[task] for task in late})
        self.forget(partitions)

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Drop partitions that are somebody else's already; ready again when the group is joined again."""
        self.status.joined = False
        self.forget(partitions)

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Drop partitions; whatever of theirs ends later changes nothing."""
        for partition in partitions:
            partition.closing = partition.closed = True
            for lane in partition.lanes.values():
                lane.cut_off()
            if self._partitions.get(partition.number) is partition:
                del self._partitions[partition.number]
        _log.info("partitions let go", group=self._group, partitions=[partition.number for partition in partitions])

    def commit_ended(self, offsets: Mapping[Partition, int], error: CommitError | None) -> None:
        """Note what the broker took; what it refused is part of the next commit."""
        self._committing = False
        if error is not None:
            self.faulted(error.fault)
            return
        if offsets:
            self.status.recovered()
        for partition, offset in offsets.items():
            partition.committed = offset

    def faulted(self, fault: Fault) -> None:
        """Note an error of the client; it recovers by itself or a person must mend it."""
        if self.status.note(fault):
            _log.warning("Kafka reports a problem", group=self._group, kind=fault.kind.value, error=str(fault))

    # What runs records.

    async def _run_lane(self, partition: Partition, lane: Lane) -> None:
        turns = 0
        while lane.queue and not partition.closing:
            await self._run(partition, lane, lane.queue[0])
            lane.queue.popleft()
            turns += 1
            if turns % _TURN == 0:
                await asyncio.sleep(0)
        if not lane.queue:
            partition.lanes.pop(lane.key, None)

    async def _run(self, partition: Partition, lane: Lane, delivery: Delivery) -> None:
        """Run a record until it is settled."""
        outcome = await self._attempt(partition, lane, delivery)
        while isinstance(outcome, Retry | Hold):
            await self._rest(partition, outcome.delay_seconds)
            delivery.attempt += isinstance(outcome, Retry)
            outcome = await self._attempt(partition, lane, delivery)
        self._settle(partition, delivery, outcome)

    async def _attempt(self, partition: Partition, lane: Lane, delivery: Delivery) -> Outcome:
        """Run a record once and decide what follows; a dead letter is confirmed when this returns."""
        async with self._slots:
            self._observer.started(delivery)
            with lane.at_work():
                result = await invoke(self._handle(partition, delivery), lambda: delivery.cut_off or partition.closed)
        if isinstance(result, Returned):
            self._observer.ended(delivery, result.value, None)
            return result.value
        outcome = self._decide(delivery, result.error)
        if isinstance(outcome, GiveUp):
            await self._bury(partition, lane, delivery, outcome)
        self._observer.ended(delivery, outcome, result.error)
        return outcome

    async def _handle(self, partition: Partition, delivery: Delivery) -> Done | Duplicate:
        identity = self._handler.identify(delivery)
        if identity is not None and identity in partition.completed:
            return Duplicate(identity)
        await self._handler.handle(delivery)
        return Done(identity)

    def _decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        outcome = self._handler.decide(delivery, error)
        if delivery.first_failed_at is None and not isinstance(outcome, Hold):
            delivery.first_failed_at = time.time()
        return outcome

    async def _bury(self, partition: Partition, lane: Lane, delivery: Delivery, give_up: GiveUp) -> None:
        """Write a dead letter, however long that takes; meanwhile the record stays and the partition's intake brakes."""
        if partition.closed:
            raise asyncio.CancelledError
        letter = dead_letter_of(delivery, give_up, self._group)
        error = await self._write(lane, letter)
        if error is None:
            return
        with self._holding(partition):
            attempt = 1
            while error is not None:
                _log.error("dead letter not confirmed, holding it", source=str(letter.source), error=one_line(error))
                await self._rest(partition, _HOLD_POLICY.delay_seconds(attempt))
                attempt += 1
                error = await self._write(lane, letter)

    async def _write(self, lane: Lane, letter: DeadLetter) -> KafkaClientError | None:
        if self._dead_letters is None:
            raise TypeError(f"the handler of group {self._group} gave up, but it has no dead-letter topic")
        with lane.at_work():
            try:
                await self._dead_letters.write(letter)
            except KafkaClientError as error:
                self._meter.dead_letter_refused()
                return error
        return None

    @contextmanager
    def _holding(self, partition: Partition) -> Iterator[None]:
        partition.held += 1
        self.status.held_dead_letters += 1
        try:
            yield
        finally:
            partition.held -= 1
            self.status.held_dead_letters -= 1

    async def _rest(self, partition: Partition, seconds: float) -> None:
        """Wait without holding anything; ends as cancelled when the partition is closing, like every wait then."""
        if partition.closing:
            raise asyncio.CancelledError
        await asyncio.sleep(seconds)

    def _settle(self, partition: Partition, delivery: Delivery, outcome: Done | Duplicate | GiveUp) -> None:
        """Note a record as settled: the only place where the watermark moves."""
        if partition.closed:
            return
        partition.tracker.settle(delivery.record.offset)
        partition.release(delivery.record)
        if isinstance(outcome, Done) and outcome.identity is not None:
            partition.completed.add(outcome.identity)

    # What keeps it going.

    async def _commit_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.commit_seconds)
            offsets = uncommitted(self._partitions.values())
            if offsets and not self._committing:
                self._committing = True
                self._poller.commit(offsets)

    async def _cut_off(self, lanes: Mapping[asyncio.Task[None], Lane]) -> None:
        """Cancel lanes that outlived a drain; one that will not die is left behind, fenced by its closed partition."""
        for lane in lanes.values():
            lane.cut_off()
        if lanes:
            records = [str(lane.queue[0].record) for lane in lanes.values() if lane.queue]
            _log.warning("cut off what still ran, it comes again", group=self._group, cut_off=records[:_TOLD_RECORDS])
            await asyncio.wait(lanes, timeout=_CANCEL_SECONDS)

    def _lane_ended(self, partition: Partition, task: asyncio.Task[None]) -> None:
        """Break the engine when a lane broke: by a fault of its own, or of a handler's `decide` or an observer.

        A lane that ends cancelled in an open partition is broken too: its subject would stand still for ever.
        """
        if self._failed.done() or (task.cancelled() and partition.closing):
            return
        error = RuntimeError("a lane was cancelled") if task.cancelled() else task.exception()
        if error is not None:
            self._failed.set_exception(error)
