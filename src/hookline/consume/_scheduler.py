"""Runs records: which one is next, on which task, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from time import perf_counter, time
from typing import TYPE_CHECKING, Final

from ._attempt import Attempt
from ._dedupe import Completed
from ._delivery import Delivery, listeners_of
from ._invoke import Raised, begin, begin_attempt, finish, forgets_cancellation, own_task
from ._outcome import DONE, Done, Duplicate, GiveUp, Hold, Retry
from ._partition import Lane, LaneState
from ._ready import ReadyLanes
from ._settings import Order

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from hookline.kafka import Record

    from ._burial import Undertaker
    from ._delivery import Fingerprint, Handler, Memory, Observer
    from ._invoke import Begun
    from ._outcome import Outcome
    from ._partition import LaneKey, Partition
    from ._settings import EngineSettings

_SLICE_SECONDS: Final = 0.005
_TURNS: Final = 16
"""After how many records the slice is looked at."""


class Scheduler:
    """Runs records, at most `concurrency` attempts at once, in order within each lane.

    A worker is a task that holds a slot; it goes from record to record and ends when there is none, so that a record
    costs no task of its own. A record whose lane is free is begun as it comes, and when it ends without having waited
    for anything it has never been in a lane at all. When lanes compete the longest goes first.
    """

    def __init__(
        self,
        handler: Handler,
        memory: Memory | None,
        settings: EngineSettings,
        observer: Observer,
        undertaker: Undertaker,
        broke: Callable[[BaseException], None],
    ) -> None:
        self._handler = handler
        self._memory = memory
        self._order = settings.order
        self._most_slots = settings.concurrency
        self._tell_started, self._tell_ended = listeners_of(observer)
        self._fingerprint = memory.fingerprint if memory else _no_fingerprint
        self._undertaker = undertaker
        self._broke = broke
        self._inbox: deque[tuple[Partition, Iterator[Record]]] = deque()
        self._ready = ReadyLanes()
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = 0
        self._has_spare = False

    # What comes in.

    def receive(self, partition: Partition, records: Sequence[Record]) -> None:
        """Take records that were fetched, in their order; call `wake` afterwards."""
        self._inbox.append((partition, iter(records)))

    def receive_first(self, partition: Partition, records: Iterable[Record]) -> None:
        """Take records that came before all that `receive` was given of this partition and has not begun."""
        self._inbox.appendleft((partition, iter(records)))

    def admit(self, partition: Partition, record: Record) -> Lane | None:
        """Put a record into its lane; None when it was settled before, here or by an owner before."""
        found = partition.found
        if found is not None and record.offset >= found.frontier:
            found = partition.found = None
        if found is not None and found.is_settled(record.offset):
            partition.tracker.deliver_settled(record.offset)
            partition.release(record)
            return None
        return self._enqueue(partition, record)

    def wake(self) -> None:
        """See to it that somebody works when there is work and a slot."""
        if not self._has_spare and self._slots < self._most_slots and (self._inbox or self._ready.count):
            self._has_spare = True
            self._slots += 1
            self._start(self._work(), _never)

    def resume(self, lane: Lane) -> None:
        """Let a lane that waited compete again."""
        lane.timer = None
        lane.state = LaneState.IDLE
        lane.queue[0].note_waiting(None)
        self._make_ready(lane)
        self.wake()

    def give_up(self, lane: Lane, give_up: GiveUp) -> None:
        """Write a dead letter for the first record of a lane, which is not run."""
        self._ready.discard(lane)
        self._give_up(lane, lane.queue[0], give_up, None)

    def cut_off(self, lane: Lane) -> None:
        """Cancel what a lane does; no outcome of it counts any more."""
        self._ready.discard(lane)
        lane.cut_off()

    # Workers.

    async def _work(self) -> None:
        """Run records until there is none, or others should have a turn."""
        self._has_spare = False
        has_slot = goes_on = True
        task = own_task()
        try:
            while goes_on and has_slot:
                attempt = self._next()
                if task.cancelling():  # by code that ended at once: it is neither a failure nor the next code's
                    await forgets_cancellation()
                if attempt is None:
                    break
                self.wake()
                try:
                    goes_on = await self._finish(attempt, task)
                finally:
                    has_slot = attempt.end()
        finally:
            self._slots -= has_slot
            self.wake()

    def _slot_freed(self) -> None:
        """Note that a slot is free, though what held it runs on."""
        self._slots -= 1
        self.wake()

    async def _finish(self, attempt: Attempt, task: asyncio.Task[None]) -> bool:
        """Await what is left of an attempt and conclude it; False when it was cut off, and this worker with it."""
        lane = attempt.lane
        lane.task = task
        lane.state = LaneState.RUNNING
        lane.partition.busy.add(lane)
        try:
            raised = await finish(attempt.rest, attempt.is_cut_off, task)
        except asyncio.CancelledError:
            if not attempt.is_cut_off():
                raise
            return False
        finally:
            lane.partition.note_idle(lane)
        lane.task = None
        self._conclude(lane, attempt.delivery, raised or DONE)
        return True

    def _next(self) -> Attempt | None:
        """Run what ends at once until something has to be awaited; None when there is no work or the slice is over."""
        until = perf_counter() + _SLICE_SECONDS
        while True:
            attempt = self._run_inbox(until)
            if attempt is not None:
                return attempt
            lane = None if self._inbox else self._ready.take()
            if lane is None:
                return None
            attempt = self._run_head(lane)
            if attempt is not None:
                return attempt
            if perf_counter() > until:
                return None

    def _run_inbox(self, until: float) -> Attempt | None:
        """Begin records as they came; None when there are no more, or the slice is over."""
        inbox = self._inbox
        while inbox:
            partition, records = inbox[0]
            run = self._run_plain if partition.is_plain else self._run_admitted
            attempt = run(partition, records, until)
            if attempt is not None or perf_counter() > until:
                return attempt
            inbox.popleft()
        return None

    def _run_admitted(self, partition: Partition, records: Iterator[Record], until: float) -> None:
        """Put records into their lanes, or hold them back, as long as there is something to know of them before."""
        del until
        for record in records:
            if partition.closing or record.offset <= partition.tracker.last:
                partition.release(record)
            elif partition.held_back is not None:
                partition.hold_back(record)
            else:
                self.admit(partition, record)

    def _run_plain(self, partition: Partition, records: Iterator[Record], until: float) -> Attempt | None:
        """Begin records of which nothing is known; one whose lane is taken, or that others precede, joins its lane.

        This loop is what an event costs at least: it goes through as few calls as can be.
        """
        handler, tracker, lanes, ready = self._handler, partition.tracker, partition.lanes, self._ready
        turns = 0
        is_crowded = self._slots == self._most_slots > 1
        for record in records:
            if partition.closing or record.offset <= tracker.last:
                partition.release(record)
                continue
            if is_crowded or ready.count or (lanes and self._key_of(record) in lanes):
                self._enqueue(partition, record)
                continue
            delivery = Delivery(record)
            for tell in self._tell_started:
                tell(delivery)
            result = begin_attempt(handler, delivery, partition)
            if result is DONE:
                for tell_end in self._tell_ended:
                    tell_end(delivery, DONE, None)
                if delivery.identity is not None:
                    partition.completed.add(delivery.identity, record.offset, self._fingerprint(delivery))
                tracker.deliver_settled(record.offset)
                partition.released_records += 1
                partition.released_bytes += record.size_bytes
            else:
                attempt = self._lane_up(partition, delivery, result)
                if attempt is not None:
                    return attempt
            turns += 1
            if not turns % _TURNS and perf_counter() > until:
                return None
        return None

    def _lane_up(self, partition: Partition, delivery: Delivery, result: Begun) -> Attempt | None:
        """Give a record a lane that did not end as it was begun."""
        partition.tracker.deliver(delivery.record.offset)
        lane = partition.lane_of(self._key_of(delivery.record))
        lane.queue.append(delivery)
        return self._go_on(lane, result)

    def _run_head(self, lane: Lane) -> Attempt | None:
        delivery = lane.queue[0]
        for tell in self._tell_started:
            tell(delivery)
        return self._go_on(lane, begin_attempt(self._handler, delivery, lane.partition))

    def _go_on(self, lane: Lane, result: Begun) -> Attempt | None:
        """Conclude an attempt that ended as it was begun; else give what is left to be awaited."""
        delivery = lane.queue[0]
        if isinstance(result, (Done, Raised)):  # a union would be made anew for each event
            self._conclude(lane, delivery, result)
        elif isinstance(result, Completed):
            self._conclude(lane, delivery, self._duplicate(delivery, result))
        elif result is None:
            lane.wait_for_twin(delivery)
        else:
            lane.partition.note_begun(delivery)
            return Attempt(lane, result, self._slot_freed)
        return None

    def _duplicate(self, delivery: Delivery, earlier: Completed) -> Duplicate | Raised:
        agrees = self._memory is None or begin(self._memory.says_the_same, delivery, earlier.fingerprint)
        return agrees if isinstance(agrees, Raised) else Duplicate(earlier.identity, earlier.offset, agrees)

    # Outcomes.

    def _conclude(self, lane: Lane, delivery: Delivery, result: Done | Duplicate | Raised) -> None:
        """Decide what becomes of a record whose attempt has ended, and see to it."""
        if lane.partition.closed:
            return
        if not isinstance(result, Raised):
            self._tell(delivery, result, None)
            self._settle(lane, delivery, result)
            return
        lane.partition.note_begun(delivery)
        outcome = self._handler.decide(delivery, result.error)
        if delivery.first_failed_at is None and not isinstance(outcome, Hold):
            delivery.first_failed_at = time()
        if isinstance(outcome, GiveUp):
            self._give_up(lane, delivery, outcome, result.error)
            return
        delivery.attempt += isinstance(outcome, Retry)
        self._tell(delivery, outcome, result.error)
        self._rest(lane, outcome.delay_seconds)

    def _rest(self, lane: Lane, seconds: float) -> None:
        """Wait without holding anything."""
        lane.state = LaneState.RESTING
        lane.partition.stepped_aside(lane)
        if not lane.partition.closing:
            lane.timer = asyncio.get_running_loop().call_later(seconds, self.resume, lane)
            lane.queue[0].note_waiting(partial(self._end_wait, lane))

    def _end_wait(self, lane: Lane) -> None:
        """Let a lane compete again before its time."""
        if lane.timer is not None and not lane.partition.closing:
            lane.timer.cancel()
            self.resume(lane)

    def _give_up(self, lane: Lane, delivery: Delivery, give_up: GiveUp, error: BaseException | None) -> None:
        lane.state = LaneState.BURYING
        lane.partition.stepped_aside(lane)
        lane.partition.busy.add(lane)  # from now on, so that a drain gives it its time
        lane.task = self._start(
            self._bury(lane, delivery, give_up, error), lambda: delivery.cut_off or lane.partition.closing
        )
        lane.task.add_done_callback(partial(_burial_ended, lane))

    async def _bury(self, lane: Lane, delivery: Delivery, give_up: GiveUp, error: BaseException | None) -> None:
        """Write a dead letter, however long that takes; the record is settled once it is confirmed."""
        await self._undertaker.bury(lane, delivery, give_up)
        if lane.partition.closed:
            return
        self._tell(delivery, give_up, error)
        self._settle(lane, delivery, give_up)
        self.wake()

    def _settle(self, lane: Lane, delivery: Delivery, outcome: Done | Duplicate | GiveUp) -> None:
        """Note the first record of a lane as settled: with `_run_plain` the only place where the watermark moves."""
        partition = lane.partition
        if partition.closed:
            return
        if outcome is DONE and delivery.identity is not None:
            partition.note_completed(delivery, self._fingerprint(delivery))
        partition.tracker.settle(delivery.record.offset)
        partition.release(delivery.record)
        lane.queue.popleft()
        lane.state, lane.task = LaneState.IDLE, None
        for twin in partition.note_ended(delivery):
            self.resume(twin)
        if lane.queue:
            self._make_ready(lane)
        else:
            del partition.lanes[lane.key]

    def _tell(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        for tell in self._tell_ended:
            tell(delivery, outcome, error)

    # Lanes.

    def _enqueue(self, partition: Partition, record: Record) -> Lane:
        partition.tracker.deliver(record.offset)
        delivery = Delivery(record)
        if partition.found is not None:
            self._restore(partition, delivery)
        lane = partition.lane_of(self._key_of(record))
        lane.queue.append(delivery)
        if lane.ready_length:
            self._ready.grew(lane)
        elif len(lane.queue) == 1:
            self._make_ready(lane)
        return lane

    def _restore(self, partition: Partition, delivery: Delivery) -> None:
        state = partition.found.state_of(delivery.record.offset) if partition.found else None
        if state is None:
            return
        delivery.attempt = state.attempt
        delivery.first_failed_at = None if state.first_failed_minute is None else state.first_failed_minute * 60.0
        if self._memory is not None:
            self._memory.restore(delivery, state.saved)
        partition.active[delivery.record.offset] = delivery

    def _make_ready(self, lane: Lane) -> None:
        if not lane.partition.closing and not lane.partition.parks(lane):
            self._ready.add(lane)

    def _key_of(self, record: Record) -> LaneKey:
        if self._order is Order.PARTITION:
            return None
        return record.offset if record.key is None or self._order is Order.NONE else record.key

    # Tasks.

    def _start(self, work: Awaitable[None], is_cut_off: Callable[[], bool]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._task_ended, is_cut_off))
        return task

    def _task_ended(self, is_cut_off: Callable[[], bool], task: asyncio.Task[None]) -> None:
        """Tell of a task that broke: by a fault of the engine, or of a handler's `decide` or an observer.

        One that was cancelled is broken too, unless what it did was cut off, perhaps before its first step: its subject
        would stand still for ever.
        """
        self._tasks.discard(task)
        error = RuntimeError("a worker was cancelled") if task.cancelled() else task.exception()
        if error is not None and not (task.cancelled() and is_cut_off()):
            self._broke(error)


def _burial_ended(lane: Lane, burial: asyncio.Task[None]) -> None:
    if burial.cancelled() or burial.exception() is not None:  # perhaps before its first step
        lane.partition.note_idle(lane)


def _never() -> bool:
    """Tell that nobody cuts it off."""
    return False


def _no_fingerprint(_: Delivery) -> Fingerprint:
    return ""
