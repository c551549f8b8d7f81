"""Which identities are read back as completed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hookline.consume._recall import Recalled, recall_completed
from hookline.contract import DeadLetter, DeadLetterClass, Origin
from hookline.kafka import BrokerUnreachableError, Record, TopicMissingError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence


_SECONDS = 30.0
_MOMENT = 0.05
_NOW_MS = 1_760_000_000_000
_TEN_MINUTES_MS = 600_000


class _Topics:
    """Two topics to read. `stuck` names one that gives what it has and then nothing more; `failure` is raised then."""

    def __init__(self, records: Sequence[Record], letters: Sequence[Record] = ()) -> None:
        self.topics = {"t": records, "d": letters}
        self.stuck = ""
        self.failing: dict[str, Exception] = {}
        self.since: list[int | None] = []
        self.open = 0
        self.reading = asyncio.Event()

    async def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        self.since.append(since_ms)
        async for record in self._read(topic):
            yield record

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        async for record in self._read(topic):
            first, end = ranges.get(record.partition, (0, 0))
            if first <= record.offset < end:
                yield record

    async def _read(self, topic: str) -> AsyncGenerator[Record, None]:
        self.open += 1
        try:
            for record in self.topics[topic]:
                yield record
            if failure := self.failing.get(topic):
                raise failure
            if topic == self.stuck:
                self.reading.set()
                await asyncio.Event().wait()
        finally:
            self.open -= 1


class _ByKey:
    """Takes a record's key for its id; a record without one has none."""

    def recall(self, record: Record) -> tuple[tuple[str, str], bytes] | None:
        return None if record.key is None else (("s", record.key.decode()), record.value or b"")


def _record(offset: int, identity: str | None, *, partition: int = 0, timestamp_ms: int | None = _NOW_MS) -> Record:
    key = None if identity is None else identity.encode()
    return Record("t", partition, offset, timestamp_ms, key, b"v%d" % offset)


def _letter(offset: int, *, partition: int = 0, topic: str = "t") -> Record:
    letter = DeadLetter.of_record(
        b"k",
        b"v",
        (),
        source=Origin(topic, partition, offset),
        group="g",
        delivery_count=1,
        letter_class=DeadLetterClass.PERMANENT,
        code="c",
        message="m",
        failed_at_ms=_NOW_MS,
    )
    return Record("d", 0, 0, _NOW_MS, b"k", b"v", letter.record_headers())


def _entry(offset: int, identity: str) -> Recalled:
    return Recalled(("s", identity), offset, b"v%d" % offset)


async def _recall(
    topics: _Topics,
    *,
    unsettled: Sequence[int] = (),
    partitions: Sequence[int] = (0,),
    dead_letter_topic: str | None = "d",
    seconds: float = _SECONDS,
    counts: Callable[[DeadLetter], bool] | None = None,
) -> dict[int, list[Recalled]]:
    recalled = await recall_completed(
        topics,
        "t",
        dead_letter_topic,
        dict.fromkeys(partitions, (0, 100)),
        lambda _, offset: offset not in unsettled,
        _ByKey(),
        seconds=seconds,
        counts=counts,
    )
    assert topics.open == 0
    return recalled


async def test_settled_records_without_a_dead_letter_have_completed() -> None:
    """P4: by partition and in order of offsets, with what each said."""
    topics = _Topics([_record(0, "a"), _record(0, "x", partition=1), _record(1, "b"), _record(2, "c")], [_letter(1)])
    assert await _recall(topics, partitions=(0, 1, 2)) == {
        0: [_entry(0, "a"), _entry(2, "c")],
        1: [_entry(0, "x")],
        2: [],
    }


async def test_what_is_not_settled_has_not_completed() -> None:
    """P4: a record that was read and not finished will run; it is told whether something of it was given up."""
    topics = _Topics([_record(0, "a"), _record(1, "b"), _record(2, "c")], [_letter(2)])
    unsettled = replace(_entry(1, "b"), is_settled=False)
    assert await _recall(topics, unsettled=[1, 2]) == {0: [_entry(0, "a"), unsettled]}


async def test_what_has_no_identity_is_left_out() -> None:
    """A malformed record is nobody's duplicate."""
    assert await _recall(_Topics([_record(0, None), _record(1, "b")])) == {0: [_entry(1, "b")]}


async def test_one_completed_record_of_an_identity_is_enough() -> None:
    """P4: it was given up at first and completed when it was republished."""
    topics = _Topics([_record(0, "a"), _record(5, "a")], [_letter(0)])
    assert await _recall(topics) == {0: [_entry(5, "a")]}


async def test_an_identity_that_was_given_up_each_time_has_not_completed() -> None:
    """P4: its next republication runs."""
    topics = _Topics([_record(0, "a"), _record(5, "a")], [_letter(0), _letter(5)])
    assert await _recall(topics) == {0: []}


async def test_dead_letters_of_others_prove_nothing() -> None:
    """Those of another topic or partition, and what is no letter of ours, leave the record."""
    foreign = Record("d", 0, 0, _NOW_MS, b"k", b"v", (("__dlq.errors.offset", b"zero"), ("\x00", None)))
    topics = _Topics([_record(0, "a")], [_letter(0, topic="other"), _letter(0, partition=1), foreign])
    assert await _recall(topics) == {0: [_entry(0, "a")]}


async def test_dead_letters_are_read_from_the_time_of_the_oldest_record() -> None:
    """Nothing older can be about them, but for clocks that differ; without a time all are read."""
    topics = _Topics([_record(0, "a"), _record(1, "b", timestamp_ms=_NOW_MS - 7), _record(2, None, timestamp_ms=3)])
    await _recall(topics)
    untimed = _Topics([_record(0, "a"), _record(1, "b", timestamp_ms=None), _record(2, "c")])
    await _recall(untimed)
    assert (topics.since, untimed.since) == ([_NOW_MS - 7 - _TEN_MINUTES_MS], [None])


async def test_a_record_from_the_future_hides_no_dead_letter() -> None:
    """P4: a publisher whose clock is days ahead does not make its dead letters look completed."""
    topics = _Topics([_record(0, "a", timestamp_ms=_NOW_MS * 2)], [_letter(0)])
    await _recall(topics)
    (since_ms,) = topics.since
    assert since_ms is not None
    assert since_ms < _NOW_MS * 2 - _TEN_MINUTES_MS


async def test_without_dead_letters_every_settled_record_has_completed() -> None:
    """An engine that gives nothing up has no topic to read."""
    topics = _Topics([_record(0, "a")])
    assert await _recall(topics, dead_letter_topic=None) == {0: [_entry(0, "a")]}
    assert topics.since == []


async def test_nothing_is_read_for_nothing() -> None:
    """No ranges need no client, and no records no dead letters."""
    topics = _Topics([])
    assert await _recall(topics, partitions=()) == {}
    assert await _recall(topics) == {0: []}
    assert topics.since == []


async def test_what_was_read_in_time_counts() -> None:
    """P4: a topic too long for the time is remembered in part: the dead letters could still be read."""
    topics = _Topics([_record(0, "a"), _record(1, "b")], [_letter(1)])
    topics.stuck = "t"
    assert await _recall(topics, seconds=_MOMENT) == {0: [_entry(0, "a")]}


async def test_what_was_read_before_an_error_counts() -> None:
    """P4: the same when the topic cannot be read to its end."""
    topics = _Topics([_record(0, "a"), _record(1, "b")], [_letter(1)])
    topics.failing["t"] = BrokerUnreachableError("h:1", "reading")
    assert await _recall(topics) == {0: [_entry(0, "a")]}


async def test_nothing_is_proven_without_all_dead_letters() -> None:
    """P4: those that were read in time may not be all."""
    topics = _Topics([_record(0, "a"), _record(1, "b")], [_letter(1)])
    topics.stuck = "d"
    assert await _recall(topics, seconds=_MOMENT) == {0: []}


@pytest.mark.parametrize("error", [TopicMissingError("d", "missing"), BrokerUnreachableError("h:1", "reading")])
async def test_nothing_is_proven_when_dead_letters_cannot_be_read(error: Exception) -> None:
    """P4: a topic that is missing or hidden, or a broker that is away, is no proof."""
    topics = _Topics([_record(0, "a")], [])
    topics.failing["d"] = error
    assert await _recall(topics) == {0: []}


@pytest.mark.parametrize("topic", ["t", "d"])
async def test_other_errors_are_nobodys_to_hide(topic: str) -> None:
    """An error that is not Kafka's is a bug and comes out, one of time too, with the reading closed."""
    topics = _Topics([_record(0, "a")])
    topics.failing[topic] = TimeoutError()
    with pytest.raises(TimeoutError):
        await _recall(topics)
    assert topics.open == 0


@pytest.mark.parametrize("topic", ["t", "d"])
async def test_a_cancelled_reading_is_closed(topic: str) -> None:
    """Whoever loses the partitions meanwhile cancels, and no client is left."""
    topics = _Topics([_record(0, "a")])
    topics.stuck = topic
    recall = asyncio.create_task(_recall(topics))
    await topics.reading.wait()
    recall.cancel()
    with suppress(asyncio.CancelledError):
        await recall
    assert recall.cancelled()
    assert topics.open == 0


async def test_the_loop_turns_while_records_are_read() -> None:
    """P8: a window that is read back does not hold up what runs beside it."""
    topics = _Topics([_record(offset % 100, "a") for offset in range(40_000)])
    recall = asyncio.create_task(_recall(topics))
    turns = 0
    while not recall.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 2


async def test_letters_that_do_not_count_leave_the_record() -> None:
    """P4: whoever reads back tells which letters are about its own work; they are asked about its own records only."""
    topics = _Topics([_record(0, "a"), _record(1, "b"), _record(2, "c")], [_letter(0), _letter(1), _letter(50)])
    asked: list[int] = []

    def counts(letter: DeadLetter) -> bool:
        asked.append(letter.source.offset)
        return letter.source.offset == 1

    assert await _recall(topics, counts=counts) == {0: [_entry(0, "a"), _entry(2, "c")]}
    assert asked == [0, 1]
