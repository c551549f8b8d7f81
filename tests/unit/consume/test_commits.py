"""When commits are made, and what is in them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Delivery, EngineMeter
from hookline.consume._commits import Commits
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._marks import decode_marks
from hookline.consume._partition import Partition
from hookline.kafka import CommitError, ErrorKind, Fault
from hookline.telemetry import Metrics
from tests.support.waiting import eventually_async
from tests.unit.consume.scheduling import record_of, turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from hookline.consume import Fingerprint, Identity
    from hookline.kafka import Position, Record

REFUSED = CommitError(Fault("OFFSET_METADATA_TOO_LARGE", ErrorKind.RETRYABLE, "too long"))


class Kept:
    """A memory that has something of its own to tell of each record, much of it when asked so."""

    def __init__(self, size: int = 4) -> None:
        self._size = size

    def save(self, delivery: Delivery) -> bytes:
        """Tell something that no other record says."""
        return b"".join(hash((delivery.record.offset, n)).to_bytes(8, "big", signed=True) for n in range(self._size))

    def restore(self, delivery: Delivery, saved: bytes) -> None:
        """Do nothing."""

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Tell nothing."""
        del record
        return None

    def fingerprint(self, delivery: Delivery) -> Fingerprint:
        """Tell nothing."""
        del delivery
        return ""

    def says_the_same(self, delivery: Delivery, earlier: Fingerprint) -> bool:
        """Say yes."""
        del delivery, earlier
        return True


class Desk:
    """The commits of some partitions, each answered when the test says so."""

    def __init__(self, count: int = 1, *, memory: Kept | None = None) -> None:
        self.metrics = Metrics(domain="test")
        self.partitions = {number: Partition(number, CompletedWindow(10), 0) for number in range(count)}
        self.begun: list[dict[int, Position]] = []
        self._asked: list[Mapping[Partition, Position]] = []
        meter = EngineMeter(self.metrics)
        self.commits = Commits(self.partitions.values(), memory, self._commit, 0.0, meter)

    def settle(self, *offsets: int, number: int = 0) -> None:
        """Settle records of a partition as they come."""
        for offset in offsets:
            self.partitions[number].tracker.deliver_settled(offset)

    def leave_open(self, *offsets: int, number: int = 0, attempt: int = 1) -> None:
        """Begin records of a partition that do not end."""
        for offset in offsets:
            self.partitions[number].tracker.deliver(offset)
            self.partitions[number].note_begun(Delivery(record_of("a", offset, number), attempt))

    def answer(self, error: CommitError | None = None) -> None:
        """Tell how the oldest commit ended that has no answer."""
        self.commits.ended(self._asked.pop(0), error)

    @property
    def in_flight(self) -> int:
        """How many have no answer."""
        return len(self._asked)

    def _commit(self, positions: Mapping[Partition, Position]) -> None:
        self._asked.append(positions)
        self.begun.append({partition.number: position for partition, position in positions.items()})


@asynccontextmanager
async def ticking(desk: Desk) -> AsyncIterator[None]:
    """Commit on every tick."""
    task = asyncio.create_task(desk.commits.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_begun(desk: Desk, count: int) -> None:
    """Wait until so many commits were begun."""
    await eventually_async(lambda: len(desk.begun) >= count, what=f"{count} commits")


def offsets(commit: Mapping[int, Position]) -> dict[int, int]:
    """Tell the offsets of a commit."""
    return {number: offset for number, (offset, _) in commit.items()}


async def confirmed(desk: Desk) -> asyncio.Task[None]:
    """Begin to wait for the confirmation of how things stand."""
    task = asyncio.create_task(desk.commits.confirm())
    await turns()
    return task


async def test_a_commit_is_of_what_changed() -> None:
    """P5: a partition that stands where it stood is not committed again."""
    desk = Desk(3)
    async with ticking(desk):
        desk.settle(0, 1, number=1)
        await until_begun(desk, 1)
        desk.answer()
        desk.settle(0, number=2)
        await until_begun(desk, 2)
    first, second = desk.begun
    assert offsets(second) == {2: 1}
    assert offsets(first)[1] == 2


async def test_whoever_is_idle_commits_nothing() -> None:
    """P8: ticks without news make no request; here many ticks pass between two pieces of news."""
    desk = Desk()
    task = await confirmed(desk)
    desk.answer()
    await task
    assert (await confirmed(desk)).done()
    async with ticking(desk):
        for offset in range(3):
            desk.settle(offset)
            await until_begun(desk, 2 + offset)
            desk.answer()
    assert [offsets(commit) for commit in desk.begun] == [{0: 0}, {0: 1}, {0: 2}, {0: 3}]


async def test_one_commit_is_in_flight_and_the_next_has_all_news() -> None:
    """P5: whatever comes while a commit is on its way is part of the next one, which begins when that has ended."""
    desk = Desk()
    async with ticking(desk):
        desk.settle(0)
        await until_begun(desk, 1)
        desk.settle(1)
        waiting = await confirmed(desk)
        desk.settle(2)
        await turns()
        assert (desk.in_flight, len(desk.begun)) == (1, 1)
        desk.answer()
        await until_begun(desk, 2)
        assert desk.in_flight == 1
        desk.answer()
        await waiting
    assert [offsets(commit) for commit in desk.begun] == [{0: 1}, {0: 3}]


async def test_a_confirmation_is_of_a_commit_that_began_after_it_was_asked_for() -> None:
    """P11: the end of a commit that was on its way says nothing of what came since."""
    desk = Desk()
    desk.settle(0)
    first = await confirmed(desk)
    desk.settle(1)
    second = await confirmed(desk)
    assert [offsets(commit) for commit in desk.begun] == [{0: 1}]
    desk.answer()
    await turns()
    assert (first.done(), second.done()) == (True, False)
    assert offsets(desk.begun[-1]) == {0: 2}
    desk.answer()
    await second


async def test_what_was_refused_is_part_of_the_next_commit() -> None:
    """P5, cases: commit-errors. A commit that failed is repeated, and nobody takes it for confirmed."""
    desk = Desk()
    desk.settle(0)
    task = await confirmed(desk)
    desk.answer(CommitError(Fault("REBALANCE_IN_PROGRESS", ErrorKind.RETRYABLE, "rebalancing")))
    await turns()
    assert not task.done()
    await until_begun(desk, 2)
    assert desk.begun[1] == desk.begun[0]
    desk.answer()
    await task


async def test_a_refused_metadata_is_repeated_without_and_is_shorter_afterwards() -> None:
    """P5, P6, cases: commit-errors. The offset is committed at once; of attempts only what may be said is said from then on."""
    desk = Desk(memory=Kept())
    desk.settle(0)
    desk.leave_open(*range(1, 40))
    task = await confirmed(desk)
    desk.answer(REFUSED)
    assert desk.begun[1] == {0: (1, "")}
    desk.answer()
    await until_begun(desk, 3)
    texts = [commit[0][1] for commit in desk.begun]
    assert 0 < len(texts[2]) <= len(texts[0]) // 2
    assert decode_marks(texts[2], 1).frontier > 1
    desk.answer()
    await task
    assert desk.metrics.value("commit_metadata_lost_total", reason="refused") == 1


async def test_a_broker_that_takes_no_metadata_is_given_none_in_the_end() -> None:
    """P5, cases: commit-errors. However little it takes, offsets are committed, without a loop of refusals."""
    desk = Desk(memory=Kept())
    desk.leave_open(*range(40))
    refused = 0
    async with ticking(desk):
        for offset in range(40, 60):
            desk.settle(offset)
            desk.partitions[0].tracker.settle(offset - 40)
            before = len(desk.begun)
            await until_begun(desk, before + 1)
            while desk.in_flight:
                refuses = desk.begun[before:][-desk.in_flight][0][1] != ""
                refused += refuses
                desk.answer(REFUSED if refuses else None)
                await turns(2)
    assert desk.begun[-1][0][1] == ""
    assert 0 < refused < 15
    assert desk.partitions[0].committed == (20, "")


async def test_what_is_too_long_is_cut_and_counted() -> None:
    """P6: more than fits is told as far as it goes, and that something is missing is seen."""
    desk = Desk(memory=Kept(40))
    desk.leave_open(*range(300))
    task = await confirmed(desk)
    assert len(desk.begun[0][0][1]) <= 4_000
    assert desk.metrics.value("commit_metadata_lost_total", reason="overflow") == 1
    desk.answer()
    await task


async def test_attempts_are_committed_beside_the_offset() -> None:
    """P6: the next owner knows how often a record was tried, and what its handler kept of it."""
    desk = Desk(memory=Kept(1))
    desk.leave_open(0)
    desk.settle(1, 2)
    desk.leave_open(3, attempt=7)
    task = await confirmed(desk)
    marks = decode_marks(desk.begun[0][0][1], 0)
    state = marks.state_of(3)
    assert state is not None
    assert (state.attempt, state.saved) == (7, Kept(1).save(Delivery(record_of("a", 3))))
    assert [marks.is_settled(offset) for offset in range(4)] == [False, True, True, False]
    desk.answer()
    await task


async def test_an_attempt_that_goes_on_is_news_though_the_offset_stays() -> None:
    """P6: what changed of a record that is not settled is committed, once."""
    desk = Desk()
    desk.leave_open(0)
    first = await confirmed(desk)
    desk.answer()
    await first
    desk.partitions[0].active[0].attempt = 2
    second = await confirmed(desk)
    desk.answer()
    await second
    assert (await confirmed(desk)).done()
    assert [offsets(commit) for commit in desk.begun] == [{0: 0}, {0: 0}]
    assert desk.begun[0] != desk.begun[1]


@pytest.mark.parametrize("clean", [False, True], ids=["opened", "let go in order"])
def test_a_commit_says_whether_the_partition_is_open(*, clean: bool) -> None:
    """P11: whoever finds it open knows that the owner before went down."""
    desk = Desk()
    desk.settle(0)
    partition = desk.partitions[0]
    opening = desk.commits.opening(partition)
    desk.commits.seal([partition])
    found = partition.final if clean else opening
    assert found is not None
    assert (found[0], decode_marks(found[1], 1).clean) == (1, clean)


async def test_a_partition_that_is_being_let_go_is_left_to_its_end() -> None:
    """P13, cases: stale-commit-after-revoke. No tick commits for a partition that somebody else may own already."""
    desk = Desk(2)
    desk.settle(0, number=0)
    desk.settle(0, number=1)
    desk.partitions[0].closing = True
    task = await confirmed(desk)
    assert offsets(desk.begun[0]) == {1: 1}
    desk.answer()
    await task


def test_a_partition_without_a_record_has_nothing_to_commit() -> None:
    """P5: nobody knows where it stands when the broker did not tell and nothing was read."""
    desk = Desk()
    unknown = Partition(5, CompletedWindow(10))
    assert desk.commits.opening(unknown) is None
    desk.commits.seal([unknown])
    assert unknown.final is None
