"""Reading completed identities back from a broker."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hookline.consume._recall import Recalled, recall_completed
from hookline.contract import DeadLetter, DeadLetterClass, Origin
from hookline.kafka import ClientConfig, TopicReader
from tests.support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.kafka import Record
    from tests.support.kafka import TestBroker

_SECONDS = 30.0


class _ByValue:
    """Takes a record's value for its id."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def recall(self, record: Record) -> tuple[tuple[str, str], str] | None:
        self.begun.set()
        return ("s", (record.value or b"").decode()), "f"


def _domain(broker: TestBroker) -> tuple[str, str]:
    domain = broker.domain()
    return f"{domain}-hook", f"{domain}-hook_dlq"


def _reader(bootstrap: str) -> TopicReader:
    return TopicReader(ClientConfig(common={"bootstrap.servers": bootstrap}), timeout_seconds=5)


def _write(broker: TestBroker, topic: str, *values: str, partition: int = 0) -> None:
    for value in values:
        broker.send(topic, b"k", value.encode(), partition=partition)


def _give_up(broker: TestBroker, topic: str, dead_letters: str, partition: int, offset: int) -> None:
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
        failed_at_ms=0,
    )
    broker.send(dead_letters, b"k", b"v", letter.record_headers())


async def _recall(
    reader: TopicReader, topic: str, dead_letters: str, ranges: Mapping[int, tuple[int, int]]
) -> dict[int, list[str]]:
    recalled = await recall_completed(
        reader, topic, dead_letters, ranges, lambda _, offset: offset != 1, _ByValue(), seconds=_SECONDS
    )
    return {partition: [_id(entry) for entry in entries if entry.is_settled] for partition, entries in recalled.items()}


def _id(entry: Recalled) -> str:
    return f"{entry.offset}{entry.identity[1]}"


async def test_completed_identities_are_read_back(broker: TestBroker) -> None:
    """P4: what is settled in the ranges, less what has a dead letter, wherever that lies and whenever it was written."""
    topic, dead_letters = _domain(broker)
    _write(broker, topic, "a", "b", "c", "d", "a", "e")
    _write(broker, topic, "x", "y", "z", partition=3)
    _give_up(broker, topic, dead_letters, 0, 2)
    _give_up(broker, topic, dead_letters, 3, 0)
    ranges = {0: (0, 5), 2: (0, 7), 3: (0, 3)}
    recalled = await _recall(_reader(broker.bootstrap), topic, dead_letters, ranges)
    assert recalled == {0: ["0a", "3d", "4a"], 2: [], 3: ["2z"]}


async def test_nothing_is_proven_without_the_dead_letter_topic(broker: TestBroker) -> None:
    """P4: a topic that is not there, or may not be seen, says nothing about what was given up."""
    topic = broker.topic()
    _write(broker, topic, "a")
    assert await _recall(_reader(broker.bootstrap), topic, "no-such-topic", {0: (0, 1)}) == {0: []}


async def test_nothing_is_proven_without_a_broker() -> None:
    """P4: the reading ends with the client's own time limit, and every event will run."""
    reader = TopicReader(ClientConfig(common={"bootstrap.servers": f"127.0.0.1:{free_port()}"}), timeout_seconds=0.3)
    assert await _recall(reader, "t", "d", {0: (0, 1)}) == {0: []}


@pytest.mark.parametrize("begun", [False, True])
async def test_a_cancelled_reading_leaves_no_client(broker: TestBroker, *, begun: bool) -> None:
    """Before the first record and after it: no thread and no task stays (the shelf looks for them)."""
    topic, dead_letters = _domain(broker)
    _write(broker, topic, *map(str, range(50)))
    remembers = _ByValue()
    recall = asyncio.create_task(
        recall_completed(
            _reader(broker.bootstrap), topic, dead_letters, {0: (0, 50)}, lambda *_: True, remembers, seconds=_SECONDS
        )
    )
    await (remembers.begun.wait() if begun else asyncio.sleep(0))
    recall.cancel()
    with suppress(asyncio.CancelledError):
        await recall
    assert recall.cancelled()
