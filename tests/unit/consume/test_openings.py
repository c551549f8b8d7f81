"""What happens between the assignment of a partition and its first record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from hookline.consume import Duplicate, EngineMeter, EngineSettings, Recollection
from hookline.consume._commits import Commits
from hookline.consume._crew import Found
from hookline.consume._marks import Marks, decode_marks, encode_marks
from hookline.consume._openings import Openings
from hookline.kafka import Record
from hookline.telemetry import Metrics
from tests.unit.consume.lives import Disk, life
from tests.unit.consume.scheduling import Bench, record_of, turns, value_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from hookline.consume import Identity
    from hookline.consume._partition import Partition
    from hookline.kafka import TopicReader


def made(found: Found, metrics: Metrics) -> Partition:
    """Make a partition of what was found."""
    bench, meter, settings = Bench(lambda _: None), EngineMeter(metrics), EngineSettings()
    commits = Commits({}.values(), None, lambda _: None, 1.0, meter)
    openings = Openings("g", bench.scheduler, commits, settings, meter, None, may_bury=True, broke=bench.broken.append)
    return openings.make(found)


def text_of(position: int, *, clean: bool = True) -> str:
    """Write marks: of the four offsets from the position on the second is open."""
    return encode_marks(Marks(position + 4, ((position + 1, position + 2),), (), clean=clean), position).text


async def test_reading_begins_where_the_group_stands() -> None:
    """P5: at what was committed, with what it says beside the offset; where nothing was, at the start of the log."""
    metrics = Metrics(domain="test")
    partition = made(Found(3, (10, text_of(10)), 0, 20), metrics)
    assert (partition.number, partition.position) == (3, 10)
    assert partition.found is not None
    assert [partition.found.is_settled(offset) for offset in range(10, 15)] == [True, False, True, True, False]
    assert made(Found(0, None, 5, 20), metrics).position == 5
    assert metrics.value("retention_gap_records_total") == 0


async def test_records_that_were_deleted_before_they_were_read_are_counted() -> None:
    """P1: retention went past the group; how much is gone is said, and reading goes on behind it."""
    metrics = Metrics(domain="test")
    partition = made(Found(0, (10, text_of(10)), 12, 20), metrics)
    assert metrics.value("retention_gap_records_total") == 2
    assert partition.position == 12
    assert partition.found is not None
    assert partition.found.is_settled(12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("somebody else's", "foreign"), (text_of(11), "foreign"), (text_of(10)[:-3], "torn"), ("hl2.AAAA", "newer")],
    ids=["another program", "another offset", "cut", "another version"],
)
async def test_metadata_that_says_nothing_is_counted_and_ignored(text: str, reason: str) -> None:
    """P6: the offset counts alone; nothing is taken for settled, and nobody is suspected."""
    metrics = Metrics(domain="test")
    partition = made(Found(0, (10, text), 0, 20), metrics)
    assert metrics.value("commit_metadata_lost_total", reason=reason) == 1
    assert (partition.position, partition.found, partition.suspects) == (10, None, None)


async def test_a_partition_of_which_nothing_is_known_runs_as_it_comes() -> None:
    """P1: without an answer of the broker the client's own position counts."""
    partition = made(Found(0), Metrics(domain="test"))
    assert (partition.position, partition.committed, partition.is_plain) == (None, None, True)


async def test_a_partition_is_marked_as_open_before_its_first_record() -> None:
    """P11: what is to be committed at the assignment says that the partition is open, and keeps what was known of it."""
    partition = made(Found(0, (10, text_of(10)), 0, 20), Metrics(domain="test"))
    assert partition.committed is not None
    assert partition.committed[0] == 10
    again = made(Found(0, partition.committed, 0, 20), Metrics(domain="test"))
    assert again.suspects is not None
    assert again.found is not None
    assert again.found.is_settled(12)


async def test_what_the_owner_before_noted_goes_on_standing_there() -> None:
    """P6: a note is about all of the group, so it outlives whoever wrote it where the handler notes nothing itself."""
    marks = encode_marks(Marks(10, (), (), clean=True, note=b"noted"), 10).text
    partition = made(Found(0, (10, marks), 0, 20), Metrics(domain="test"))
    assert partition.committed is not None
    assert decode_marks(partition.committed[1], 10).note == b"noted"


@pytest.mark.parametrize("clean", [True, False])
async def test_who_went_down_with_nothing_in_hand_left_no_suspect(*, clean: bool) -> None:
    """P11: an owner that had read the whole log was not taken down by a record of it."""
    marks = encode_marks(Marks(20, (), (), clean=clean), 20).text
    assert made(Found(0, (20, marks), 0, 20), Metrics(domain="test")).suspects is None


class Topic:
    """Reads back a topic, once the test lets it."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.open = asyncio.Event()

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Give the records of ranges."""
        del topic
        await self.open.wait()
        for number, (first, end) in ranges.items():
            for offset in range(first, end):
                yield record_of(self._disk.values[number][offset], offset, number)

    async def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        """Give no dead letters."""
        del topic, since_ms
        for record in list[Record]():
            yield record

    def recall(self, record: Record) -> tuple[Identity, str] | None:
        """Tell the identity as the handler here does."""
        return ("test", (record.value or b"").decode()), ""

    def recollection(self) -> Recollection:
        """Give what an engine reads back with."""
        return Recollection(cast("TopicReader", self), "t", None, self)


async def test_identities_that_completed_before_are_known_again() -> None:
    """P4: records wait until the topic's tail is read back; a repeat is a duplicate then, also after a restart."""
    disk = Disk({0: ["a0", "b1"]})
    async with life(disk, lambda _: None) as first:
        await first.live()
        first.leave()
    disk.values[0] += ["a0", "c3"]
    topic, ran = Topic(disk), list[str]()
    async with life(disk, lambda delivery: ran.append(value_of(delivery)), recollection=topic.recollection()) as again:
        again.fetch()
        await turns()
        assert ran == []
        topic.open.set()
        await again.bench.until(again.is_through)
    assert ran == ["c3"]
    assert again.bench.watcher.outcomes[0] == ("a0", Duplicate(("test", "a0"), 0))


async def test_what_lies_before_the_beginning_of_a_group_has_not_completed() -> None:
    """P1, P4: the group began behind it and never ran it, so a repeat or a republication of it is none, and runs."""
    marks = encode_marks(Marks(2, (), (), clean=True, note=b"2"), 2)
    disk = Disk({0: ["a0", "b1", "a0", "c3", "c3"]}, committed={0: (2, marks.text)})
    topic, ran = Topic(disk), list[str]()
    topic.open.set()
    recollection = replace(topic.recollection(), beginning_of=int)
    async with life(disk, lambda delivery: ran.append(value_of(delivery)), recollection=recollection) as made:
        made.fetch()
        await made.bench.until(made.is_through)
    assert ran == ["a0", "c3"]


async def test_a_partition_that_is_let_go_while_it_is_read_back_stays_closed() -> None:
    """P13: nothing of it runs when the reading ends."""
    disk = Disk({0: ["a0"], 1: ["b0"]})
    async with life(disk, lambda _: None) as first:
        await first.live()
        first.leave()
    disk.values = {0: ["a0", "c1"], 1: ["b0", "d1"]}
    topic, ran = Topic(disk), list[str]()
    async with life(disk, lambda delivery: ran.append(value_of(delivery)), recollection=topic.recollection()) as again:
        again.fetch()
        await turns()
        again.let_go(0)
        topic.open.set()
        await again.bench.until(lambda: again.partitions[1].position == 2)
        await turns()
    assert ran == ["d1"]


class BrokenTopic(Topic):
    """Cannot be read back, for a reason that is none of Kafka's."""

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Break."""
        async for record in super().stream_ranges(topic, ranges):
            yield record
            raise RuntimeError("can't start new thread")


async def test_an_opening_that_breaks_is_told() -> None:
    """P1, P3: its partitions would hold everything back for ever, so the process has to end."""
    disk = Disk({0: ["a0", "b1"]})
    async with life(disk, lambda _: None) as first:
        await first.live()
        first.leave()
    topic = BrokenTopic(disk)
    topic.open.set()
    async with life(disk, lambda _: None, recollection=topic.recollection()) as again:
        await again.bench.until(lambda: again.bench.broken)
    assert [type(error) for error in again.bench.broken] == [RuntimeError]
