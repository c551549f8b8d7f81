"""The engine as a whole: it starts and stops, and is the event loop's side of the consumer's thread."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hookline.telemetry import get_logger

from ._burial import Undertaker
from ._commits import Commits
from ._metered import EngineMeter
from ._openings import Openings
from ._partition import LaneState
from ._poller import Poller
from ._scheduler import Scheduler
from ._status import EngineLoad, EngineStatus
from ._watchdog import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.kafka import CommitError, Fault, GroupConsumer, GroupListener, Position, Record

    from ._crew import Found
    from ._dead_letters import DeadLetterWriter
    from ._delivery import Handler, Memory, Observer
    from ._openings import Recollection
    from ._partition import Lane, Partition
    from ._settings import EngineSettings
    from ._turn import Turn

_CANCEL_SECONDS = 1.0
_CLOSE_SECONDS = 4.0
_TOLD_RECORDS = 20
_AT_WORK = {LaneState.RUNNING, LaneState.RESTING, LaneState.BURYING}

_log = get_logger(__name__)


class Engine:
    """Runs the records of one topic through a handler, in order per subject, and commits only what is settled.

    `open_consumer` makes the group member, on the thread that will own it. Without `dead_letters` the handler must
    never give up. With `memory`, the same object as the handler as a rule, attempts and outcomes outlive the process,
    and with a `recollection` so do the identities that have completed. `note_of` gives some bytes that stand in every
    commit of a partition, for whoever reads them; without it they go on as they were found. Engines of one process share a
    `turn`, taken while events are suspected of having taken the process down. Start and stop on one event loop; everything
    the handler does runs there.
    """

    def __init__(  # noqa: PLR0913 - what an engine is wired to, each by name
        self,
        *,
        open_consumer: Callable[[GroupListener], GroupConsumer],
        group: str,
        handler: Handler,
        dead_letters: DeadLetterWriter | None,
        settings: EngineSettings,
        observer: Observer,
        meter: EngineMeter | None = None,
        memory: Memory | None = None,
        recollection: Recollection | None = None,
        note_of: Callable[[int], bytes] | None = None,
        turn: Turn | None = None,
    ) -> None:
        self._open_consumer = open_consumer
        self._group = group
        self._settings = settings
        self._meter = meter or EngineMeter()
        self._partitions: dict[int, Partition] = {}
        self._stopping = False
        self.status = EngineStatus()
        undertaker = Undertaker(dead_letters, group, self._meter, self.status)
        self._scheduler = Scheduler(handler, memory, settings, observer, undertaker, self._broke)
        self._commits = Commits(
            self._partitions.values(), memory, self._commit, settings.commit_seconds, self._meter, note_of
        )
        may_bury = dead_letters is not None
        self._openings = Openings(
            group,
            self._scheduler,
            self._commits,
            settings,
            self._meter,
            recollection,
            may_bury=may_bury,
            broke=self._broke,
            turn=turn,
        )

    async def start(self) -> None:
        """Begin to consume. Returns at once; `status` tells when the group is joined."""
        loop = self.open()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"kafka-{self._group}")
        self._polling = loop.run_in_executor(self._thread, self._poller.run)

    def open(self) -> asyncio.AbstractEventLoop:
        """Make ready all but the thread of the consumer, for one who drives the poller by hand."""
        loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = loop.create_future()
        self._poller = Poller(self._open_consumer, self, loop, self._settings, self._meter)
        self._chores = [loop.create_task(self._commits.run()), loop.create_task(self._openings.run())]
        return loop

    async def wait(self) -> None:
        """Wait until the engine ends by itself, which it does only by raising what broke it."""
        parts = (self._polling, self._failed, *self._chores)
        await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        for part in parts:
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
        for chore in self._chores:
            chore.cancel()
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
        lanes = [lane for partition in partitions for lane in partition.lanes.values()]
        written_ms = [lane.queue[0].record.timestamp_ms for lane in lanes]
        oldest_ms = min((each for each in written_ms if each is not None), default=None)
        return EngineLoad(
            lanes=len(lanes),
            running=sum(len(partition.busy) for partition in partitions),
            retrying=sum(lane.state is LaneState.RESTING for lane in lanes),
            paused_partitions=sum(partition.braked for partition in partitions),
            oldest_unsettled_seconds=0.0 if oldest_ms is None else max(time.time() - oldest_ms / 1000, 0.0),
            lag_records={each.number: each.lag_records for each in partitions if each.lag_records is not None},
        )

    def standings(self) -> list[Standing]:
        """Tell how far each partition has come, and what may keep it."""
        partitions = self._partitions.values()
        # A partition without work waits for its turn while any other has the slots.
        is_busy = any(partition.busy for partition in partitions)
        return [_standing(each, is_busy=is_busy) for each in partitions]

    # What the consumer thread tells; all but `open_epochs` is called on the event loop.

    def open_epochs(self, found: Sequence[Found]) -> list[Partition]:
        """Make the partitions of a new assignment, with what their owner before left."""
        return [self._openings.make(each) for each in found]

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Take partitions over; one that stops lets them go as they were found."""
        if self._stopping:
            self._commits.seal(partitions)
            self.forget(partitions)
            return
        for partition in partitions:
            self._partitions[partition.number] = partition
        self.status.has_joined()
        _log.info("partitions assigned", group=self._group, partitions=[partition.number for partition in partitions])
        self._openings.begin(partitions)
        self._poller.hurry = bool(self._openings)

    def receive(self, batches: list[tuple[Partition, list[Record]]]) -> None:
        """Take records that were fetched."""
        self.status.recovered()
        for partition, records in batches:
            self._scheduler.receive(partition, records)
        self._scheduler.wake()

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Cancel what waits, let what runs end within `seconds`, then cancel it too and close the partitions."""
        for partition in partitions:
            partition.closing = True
            for lane in [lane for lane in partition.lanes.values() if lane not in partition.busy]:
                self._scheduler.cut_off(lane)
        await _until_quiet(partitions, seconds)
        await self._cut_off([lane for partition in partitions for lane in partition.busy])
        self._commits.seal([partition for partition in partitions if not partition.closed])
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
                self._scheduler.cut_off(lane)
            if self._partitions.get(partition.number) is partition:
                del self._partitions[partition.number]
        self._openings.changed()
        _log.info("partitions let go", group=self._group, partitions=[partition.number for partition in partitions])

    def commit_ended(self, positions: Mapping[Partition, Position], error: CommitError | None) -> None:
        """Note what the broker took; what it refused is part of the next commit."""
        self._commits.ended(positions, error)
        if error is not None:
            self.faulted(error.fault)
        elif positions:
            self.status.recovered()

    def faulted(self, fault: Fault) -> None:
        """Note an error of the client; it recovers by itself or a person must mend it."""
        if self.status.note(fault):
            _log.warning("Kafka reports a problem", group=self._group, kind=fault.kind.value, error=str(fault))

    def _commit(self, positions: Mapping[Partition, Position]) -> None:
        self._poller.hurry = bool(self._openings)
        self._poller.commit(positions)

    async def _cut_off(self, lanes: Sequence[Lane]) -> None:
        """Cancel lanes that outlived a drain; one that will not die is left behind, fenced by its closed partition."""
        if not lanes:
            return
        for lane in lanes:
            self._scheduler.cut_off(lane)
        records = [str(lane.queue[0].record) for lane in lanes]
        _log.warning("cut off what still ran, it comes again", group=self._group, cut_off=records[:_TOLD_RECORDS])
        await _until_quiet({lane.partition for lane in lanes}, _CANCEL_SECONDS)
        for lane in lanes:
            if lane in lane.partition.busy:
                lane.queue[0].release_slot()

    def _broke(self, error: BaseException) -> None:
        if not self._failed.done():
            self._failed.set_exception(error)


def _standing(partition: Partition, *, is_busy: bool) -> Standing:
    fetched = partition.last_taken + 1
    waits = (lane.state in _AT_WORK for lane in partition.lanes.values())
    return Standing(
        partition=partition.number,
        fetched=fetched,
        position=fetched if partition.position is None else partition.position,
        is_braked=partition.braked or partition.closing or partition.held_back is not None,
        is_at_work=is_busy or partition.held > 0 or any(waits),
    )


async def _until_quiet(partitions: Sequence[Partition] | set[Partition], seconds: float) -> None:
    """Wait until nothing of these partitions is busy, at most so long."""
    waits = [asyncio.ensure_future(partition.until_quiet()) for partition in partitions if partition.busy]
    if waits:
        _, late = await asyncio.wait(waits, timeout=seconds)
        for wait in late:
            wait.cancel()
