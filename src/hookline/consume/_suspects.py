"""Finds the record that takes the process down, and blames nobody else.

An owner that lets a partition go in order says so in the commit's metadata. When the owner before did not, it went down,
and one of the records that it had in hand may be why. Those are the suspects. They run before anything else of their
partition: first in batches, and the metadata names the batch before it begins. When the process goes down again, the
records of that batch run one by one, each charged with a crash before it begins and discharged when it has ended. What
was charged `max_crashes` times is a dead letter. A crash that charges nobody condemns nobody.

A suspect that stands behind another of its subject cannot run yet. It does not keep the partition closed, but when its
turn comes it is late: how things stand is committed before it begins. So when the process goes down again, what stood
before it is settled, and it is the first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from hookline.contract import DeadLetterClass
from hookline.telemetry import get_logger

from ._outcome import GiveUp
from ._partition import LaneState
from ._turn import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.kafka import Record

    from ._marks import Marks
    from ._partition import Lane, Partition
    from ._scheduler import Scheduler

BATCH: Final = 64
_IDLE_SECONDS: Final = 1.0
_IDLE_LOOKS: Final = 5
"""For how many looks in a row nothing has to come before no other suspect will."""

_log = get_logger(__name__)


class Suspects:
    """The suspects of one partition."""

    def __init__(self, found: Marks, position: int, end: int, most: int, changed: asyncio.Event) -> None:
        self.end = end
        """The offset behind the last suspect: what came later was never in the hands of the owner that went down."""
        self._most = most
        self._changed = changed
        self._alone = {*found.started, *(offset for offset, _ in found.crashes)}
        self._charges = dict(found.crashes)
        self._charged: int | None = None
        self._seen = position - 1
        self._idle_looks = 0
        self._questioned = 0
        self._parked: list[Lane] = []
        self._behind: set[int] = set()
        self._condemned: set[int] = set()
        self.is_released = False
        """Whether all may run but those that stand behind another."""
        self.pending: set[int] = set()
        """Offsets that were admitted and whose attempt has not ended."""

    def runs_alone(self, offset: int) -> bool:
        """Tell whether a record ran when the process went down, and so has to run by itself now."""
        return offset in self._alone

    def charges(self, offset: int) -> int:
        """Tell how often the process went down while a record ran alone."""
        return self._charges.get(offset, 0)

    def begin(self, offsets: set[int], *, alone: bool) -> None:
        """Note that records run from now on; one that runs alone is charged until it has ended."""
        self._questioned += len(offsets)
        self.pending = offsets
        self._charged = next(iter(offsets)) if alone else None

    def condemn(self, offset: int) -> int:
        """Note that a record is not run again but buried, and tell how often the process went down with it."""
        self._condemned.add(offset)
        return self.charges(offset)

    def is_busy(self) -> bool:
        """Tell whether somebody waits for a commit: not those that only wait for their turn."""
        return not self.is_released or bool(self.pending or self._parked)

    def are_over(self) -> bool:
        """Tell whether nothing is left to be asked."""
        return self.is_released and not (self.pending or self._behind)

    def started(self, *, clean: bool) -> tuple[int, ...]:
        """Tell what has to run alone if the process goes down now, or is let go in order."""
        return tuple(sorted(self._alone if clean else self._alone | self.pending))

    def crashes(self, *, clean: bool) -> tuple[tuple[int, int], ...]:
        """Tell the charges, with that of what runs alone now, unless it is let go in order."""
        charges = dict(self._charges)
        if self._charged is not None and not clean:
            charges[self._charged] = charges.get(self._charged, 0) + 1
        return tuple(sorted(charges.items()))

    def arrived(self, offset: int) -> None:
        """Note a record that was fetched."""
        self._seen = offset
        self._idle_looks = 0
        self._changed.set()

    def ended(self, offset: int) -> None:
        """Note that an attempt has ended, whatever it came to: the record is innocent of this crash."""
        self._alone.discard(offset)
        self._charges.pop(offset, None)
        if offset in self._behind:
            self._behind.discard(offset)
            self._changed.set()
        self._charged = None if self._charged == offset else self._charged
        self._await_no_longer(offset)

    def stepped_aside(self, lane: Lane) -> None:
        """Note that a lane will not run for a while: its first record has ended an attempt, the others cannot begin."""
        first, *others = lane.queue
        if lane.state is LaneState.IDLE:
            self.stands_behind(first.record.offset)
        elif first.record.offset in self._condemned:  # its charges are needed until the dead letter is confirmed
            self._await_no_longer(first.record.offset)
        else:
            self.ended(first.record.offset)
        for delivery in others:
            self.stands_behind(delivery.record.offset)

    def stands_behind(self, offset: int) -> None:
        """Note that a suspect cannot begin for a while: another of its subject or identity waits before it."""
        if offset in self.pending:
            self._charged = None if self._charged == offset else self._charged
            self._behind.add(offset)
            self._await_no_longer(offset)

    def parks(self, lane: Lane) -> bool:
        """Keep a lane from running that nobody asked for now, such as one whose retry is due."""
        offset = lane.queue[0].record.offset
        if offset in self.pending or (self.is_released and offset not in self._behind):
            return False
        self._parked.append(lane)
        self._changed.set()
        return True

    def has_parked(self) -> bool:
        """Tell whether lanes were kept from running that may run now."""
        return self.is_released and bool(self._parked)

    def parked(self) -> list[Lane]:
        """Give the lanes that were kept from running, once."""
        lanes, self._parked = self._parked, []
        return lanes

    def are_through(self, partition: Partition, *, idle: bool) -> bool:
        """Tell whether every suspect has been run, or, when nothing has happened for a while, whether no other will come.

        None comes while the intake rests, which it does until lanes that are parked here have run; nor when the log
        ends with what no consumer is given, such as the mark of a transaction.
        """
        if self.pending or self.is_released:
            return False
        held_back = partition.held_back
        more = bool(held_back) and held_back is not None and held_back[0].offset < self.end
        self._idle_looks += idle
        is_last = self._seen >= self.end - 1 or (idle and (partition.braked or self._idle_looks >= _IDLE_LOOKS))
        return self._questioned >= self._most or (is_last and not more)

    def _await_no_longer(self, offset: int) -> None:
        if offset in self.pending:
            self.pending.discard(offset)
            self._changed.set()


class Inquiry:
    """Runs the suspects of all partitions of an engine: one batch, or one record alone, at a time.

    `turn` is taken meanwhile: engines of one process share it, or one would be charged with what another's suspect does.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        confirm: Callable[[], Awaitable[None]],
        release: Callable[[Partition], None],
        max_crashes: int,
        turn: Turn | None = None,
    ) -> None:
        self._turn = turn or Turn()
        self._scheduler = scheduler
        self._confirm = confirm
        self._release = release
        self._max_crashes = max_crashes
        self._partitions: list[Partition] = []
        self.changed = asyncio.Event()

    def __bool__(self) -> bool:
        return any(each.suspects is not None and each.suspects.is_busy() for each in self._partitions)

    def add(self, partition: Partition) -> None:
        """Take a partition with suspects in hand."""
        self._partitions.append(partition)
        self.changed.set()

    async def run(self) -> None:
        """Run suspects until cancelled."""
        while True:
            await self._let_through(idle=not await self._changes())
            if self._single() is not None:
                async with self._turn.alone():
                    await self._run_single()
            elif self._has_more():
                async with self._turn.together():
                    await self._run_together()

    async def _run_single(self) -> None:
        """Run the record that has to run alone; none is left when its partition was let go while it waited."""
        partition = self._single()
        if partition is not None:
            await self._run([self._take(partition)])

    async def _run_together(self) -> None:
        if batch := self._next_batch():
            await self._run(batch)
        elif late := self._late():
            await self._run_late(late)
        else:
            self.changed.set()

    def _single(self) -> Partition | None:
        """Tell whose next record has to run alone."""
        return next((each for each in self._partitions if self._first_runs_alone(each)), None)

    def _has_more(self) -> bool:
        return any(each.held_back or (each.suspects and each.suspects.has_parked()) for each in self._partitions)

    async def _changes(self) -> bool:
        """Wait for a change; False when there is none for a while and there are suspects."""
        try:
            async with asyncio.timeout(_IDLE_SECONDS if self else None):
                await self.changed.wait()
        except TimeoutError:
            return False
        self.changed.clear()
        return True

    async def _let_through(self, *, idle: bool) -> None:
        """Open the partitions whose suspects are through, and forget those that were let go, or where none is left."""
        through = [each for each in self._partitions if each.suspects and each.suspects.are_through(each, idle=idle)]
        if through:
            await self._confirm()  # or the last one would be charged with what the next does
        for partition in through:
            if not partition.closing:
                self._release(partition)
        for partition in self._partitions:
            if partition.suspects is not None and partition.suspects.are_over():
                partition.suspects = None
        self._partitions = [each for each in self._partitions if each.suspects is not None and not each.closing]

    def _next_batch(self) -> list[tuple[Partition, Record]]:
        """Take as many of the next records as make a batch, in the order of each partition."""
        batch: list[tuple[Partition, Record]] = []
        for partition in self._partitions:
            while len(batch) < BATCH and partition.held_back and not self._first_runs_alone(partition):
                batch.append(self._take(partition))
        return batch

    def _first_runs_alone(self, partition: Partition) -> bool:
        held_back, suspects = partition.held_back, partition.suspects
        return bool(held_back and suspects and suspects.runs_alone(held_back[0].offset))

    def _take(self, partition: Partition) -> tuple[Partition, Record]:
        if partition.held_back is None:
            raise ValueError(f"partition {partition.number} holds nothing back")
        return partition, partition.held_back.popleft()

    async def _run(self, batch: list[tuple[Partition, Record]]) -> None:
        """Run records, named in the metadata before they begin, and return when the attempt of each has ended."""
        alone = self._first_alone(batch)
        for partition in {partition for partition, _ in batch}:
            offsets = {record.offset for owner, record in batch if owner is partition}
            if partition.suspects is not None:
                partition.suspects.begin(offsets, alone=alone)
        condemned = alone and self._is_condemned(*batch[0])
        if not condemned:
            await self._confirm()
        for partition, record in batch:
            self._admit(partition, record, condemned=condemned)
        self._scheduler.wake()
        await self._until_ended()

    def _late(self) -> list[Lane]:
        """Take the lanes in which a suspect stood behind another and has its turn now."""
        suspects = [each.suspects for each in self._partitions if each.suspects is not None]
        return [lane for each in suspects if each.is_released for lane in each.parked() if not lane.partition.closing]

    async def _run_late(self, lanes: list[Lane]) -> None:
        """Run suspects whose turn has come, beside all else: so none of them is charged."""
        for partition in {lane.partition for lane in lanes}:
            offsets = {lane.queue[0].record.offset for lane in lanes if lane.partition is partition}
            if partition.suspects is not None:
                partition.suspects.begin(offsets, alone=False)
        await self._confirm()
        for lane in [lane for lane in lanes if not lane.partition.closing]:
            if self._is_condemned(lane.partition, lane.queue[0].record):
                self._condemn(lane)
            else:
                self._scheduler.resume(lane)
        await self._until_ended()

    async def _until_ended(self) -> None:
        """Return when the attempt of each has ended; what happens meanwhile is looked at afterwards."""
        while any(each.suspects and each.suspects.pending and not each.closing for each in self._partitions):
            await self.changed.wait()
            self.changed.clear()
        self.changed.set()

    def _first_alone(self, batch: list[tuple[Partition, Record]]) -> bool:
        partition, record = batch[0]
        return partition.suspects is not None and partition.suspects.runs_alone(record.offset)

    def _is_condemned(self, partition: Partition, record: Record) -> bool:
        return partition.suspects is not None and partition.suspects.charges(record.offset) >= self._max_crashes

    def _admit(self, partition: Partition, record: Record, *, condemned: bool) -> None:
        suspects = partition.suspects
        if suspects is None or partition.closing:
            return
        lane = self._scheduler.admit(partition, record)
        if lane is None:
            suspects.ended(record.offset)
        elif lane.queue[0].record is not record and not (lane.ready_length or lane.state is LaneState.RUNNING):
            suspects.stands_behind(record.offset)
        elif condemned:
            self._condemn(lane)

    def _condemn(self, lane: Lane) -> None:
        record, suspects = lane.queue[0].record, lane.partition.suspects
        crashes = 0 if suspects is None else suspects.condemn(record.offset)
        _log.error("dead-lettering a record that took the process down", record=str(record), crashes=crashes)
        self._scheduler.give_up(lane, crashed(crashes))


def crashed(crashes: int) -> GiveUp:
    """Build the outcome of a record that took the process down whenever it ran."""
    message = f"the process went down {crashes} times while it ran this record and nothing else"
    return GiveUp(DeadLetterClass.CRASHED, "crashed", message)
