"""What happens between the assignment of a partition and its first record."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.telemetry import get_logger

from ._dedupe import CompletedWindow
from ._marks import Marks, MarksError, decode_marks
from ._partition import Partition
from ._recall import recall_completed
from ._suspects import Inquiry, Suspects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.contract import DeadLetter
    from hookline.kafka import TopicReader

    from ._commits import Commits
    from ._crew import Found
    from ._metered import EngineMeter
    from ._recall import Recalled, Remembers
    from ._scheduler import Scheduler
    from ._settings import EngineSettings
    from ._turn import Turn

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recollection:
    """Where to read back which identities have completed: the topic's tail, less what the dead-letter topic holds.

    `counts` tells which dead letters say that their record has not completed; None says all. `beginning_of` tells from the
    note in the commit where the group began: what lies before was settled by nobody, so nothing of it has completed.
    """

    reader: TopicReader
    topic: str
    dead_letter_topic: str | None
    remembers: Remembers
    counts: Callable[[DeadLetter], bool] | None = None
    beginning_of: Callable[[bytes], int] | None = None


class Openings:
    """Opens partitions: reads their marks, brings back completed identities, and has suspects run first."""

    def __init__(  # noqa: PLR0913 - what openings are wired to
        self,
        group: str,
        scheduler: Scheduler,
        commits: Commits,
        settings: EngineSettings,
        meter: EngineMeter,
        recollection: Recollection | None,
        *,
        may_bury: bool,
        broke: Callable[[BaseException], None],
        turn: Turn | None = None,
    ) -> None:
        self._group = group
        self._scheduler = scheduler
        self._commits = commits
        self._settings = settings
        self._meter = meter
        self._recollection = recollection if settings.dedupe_window else None
        self._inquires = may_bury and settings.max_crashes > 0
        self._inquiry = Inquiry(scheduler, commits.confirm, self._release, settings.max_crashes, turn)
        self._broke = broke
        self._recalls: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        """Tell whether suspects run, each batch of which waits for a commit."""
        return bool(self._inquiry)

    def make(self, found: Found) -> Partition:
        """Make a partition as its owner before left it. Called on the consumer's thread; the partition is nobody's yet."""
        window = CompletedWindow(self._settings.dedupe_window)
        if found.low is None or found.high is None:
            return Partition(found.number, window)
        position, text = found.committed or (found.low, "")
        marks = self._marks_of(found.number, position, text)
        start = self._start_of(found.number, position, found.low)
        partition = Partition(found.number, window, start, marks if marks.frontier > start else None)
        partition.note = marks.note
        if self._inquires and (not marks.clean or marks.crashes) and start < found.high:
            partition.suspects = self._suspects(marks, start, found.high)
        if partition.suspects is not None or self._has_past(found, partition):
            partition.held_back = deque()
        partition.committed = self._commits.opening(partition)
        return partition

    def begin(self, partitions: Sequence[Partition]) -> None:
        """Open partitions that were taken over."""
        held = [partition for partition in partitions if partition.held_back is not None]
        if held:
            task = asyncio.get_running_loop().create_task(self._open(held))
            self._recalls.add(task)
            task.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[None]) -> None:
        """Tell of an opening that broke: its partitions would hold everything back for ever."""
        self._recalls.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._broke(error)

    def changed(self) -> None:
        """Note that partitions were let go."""
        self._inquiry.changed.set()

    async def run(self) -> None:
        """Run suspects until cancelled, and end what is still being read back then."""
        try:
            await self._inquiry.run()
        finally:
            for task in self._recalls:
                task.cancel()

    def _marks_of(self, number: int, position: int, text: str) -> Marks:
        try:
            return decode_marks(text, position)
        except MarksError as error:
            self._meter.metadata_lost(error.kind)
            _log.warning(
                "metadata of a commit not understood, ignored", group=self._group, partition=number, reason=error.kind
            )
            return Marks(frontier=position, open=(), states=(), clean=True)

    def _start_of(self, number: int, position: int, low: int) -> int:
        """Tell where reading begins, and how much of what was never read is gone."""
        if low <= position:
            return position
        self._meter.retention_gap(low - position)
        _log.error(
            "retention has deleted records that were never read",
            group=self._group, partition=number, records=low - position, first=position, last=low - 1,
        )  # fmt: skip
        return low

    def _suspects(self, marks: Marks, start: int, high: int) -> Suspects:
        self._meter.unclean_start()
        most = self._settings.window_records + self._settings.poll_records
        return Suspects(marks, start, high, most, self._inquiry.changed)

    def _has_past(self, found: Found, partition: Partition) -> bool:
        """Tell whether there is anything that may have completed."""
        has_settled = partition.tracker.last >= (found.low or 0) or partition.found is not None
        return self._recollection is not None and found.committed is not None and has_settled

    async def _open(self, partitions: Sequence[Partition]) -> None:
        await self._recall(partitions)
        for partition in partitions:
            if partition.closing:
                continue
            if partition.suspects is None:
                self._release(partition)
            else:
                _log.warning("the owner before went down: its records run in batches", partition=partition.number)
                self._inquiry.add(partition)

    async def _recall(self, partitions: Sequence[Partition]) -> None:
        """Bring back the identities that have completed."""
        wanted = self._recollection
        if wanted is None:
            return
        by_number = {partition.number: partition for partition in partitions}
        ranges = {number: self._range_of(partition) for number, partition in by_number.items()}
        recalled = await recall_completed(
            wanted.reader,
            wanted.topic,
            wanted.dead_letter_topic,
            {number: span for number, span in ranges.items() if span[0] < span[1]},
            lambda number, offset: _is_settled(by_number[number], offset),
            wanted.remembers,
            seconds=self._settings.recall_seconds,
            counts=wanted.counts,
        )
        for number, entries in recalled.items():
            for entry in entries:
                _add_recalled(by_number[number], entry)

    def _range_of(self, partition: Partition) -> tuple[int, int]:
        start = partition.tracker.last + 1
        end = start if partition.found is None else partition.found.frontier
        beginning_of = None if self._recollection is None else self._recollection.beginning_of
        beginning = 0 if beginning_of is None else beginning_of(partition.note)
        return max(start - self._settings.dedupe_window, beginning), end

    def _release(self, partition: Partition) -> None:
        """Let the records of a partition run."""
        held_back, partition.held_back = partition.held_back, None
        if held_back:
            self._scheduler.receive_first(partition, held_back)
        if partition.suspects is not None:
            partition.suspects.is_released = True
            for lane in partition.suspects.parked():
                self._scheduler.resume(lane)
        self._scheduler.wake()


def _add_recalled(partition: Partition, entry: Recalled) -> None:
    completed = partition.completed
    if not entry.is_settled:
        partition.never_given_up[entry.offset] = entry.identity
    # A repeat was settled without being run: it proves no more than what made it one.
    elif completed.find(entry.identity, entry.offset) is None:
        completed.add(entry.identity, entry.offset, entry.fingerprint)


def _is_settled(partition: Partition, offset: int) -> bool:
    return offset <= partition.tracker.last or (partition.found is not None and partition.found.is_settled(offset))
