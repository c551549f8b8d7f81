"""What is said of partitions that stand still, and how the watch asks for the ends of a topic."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

import pytest

from hookline.consume import Standing, Watchdog
from hookline.kafka import BrokerUnreachableError, ClientConfig, TopicDescription
from hookline.service._stalls import StallWatch
from hookline.service._watch import TopicWatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOPIC = "orders-hook"


class Kafka:
    """A Kafka with one topic that grows with every question, or that does not tell its ends; its own admin client."""

    def __init__(self) -> None:
        self.end = 100
        self.tells = True

    def connect(self, _: ClientConfig, __: float) -> Self:
        """Be the client."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Have the topic."""
        return {name: TopicDescription(name, 1, 1) for name in names}

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Tell where it ends."""
        assert topic == TOPIC
        if not self.tells:
            raise BrokerUnreachableError("kafka:9092", "looking")
        self.end += 1
        return {0: self.end}


class Watched:
    """A watch on one engine's partition, and its clock."""

    def __init__(self) -> None:
        self.kafka = Kafka()
        self.seconds = 0.0
        self.standings = [Standing(0, 100, 100, is_braked=False, is_at_work=False)]
        watchdog = Watchdog(stalled_seconds=30, now=lambda: self.seconds)
        self.stalls = StallWatch("stage", TOPIC, lambda: self.standings, watchdog)
        client = ClientConfig(common={"bootstrap.servers": "kafka:9092"})
        self.watch = TopicWatch(client, [TOPIC], lambda: None, stalls=[self.stalls], now=lambda: self.seconds)

    async def looks(self, times: int) -> str:
        """Look so often, every five seconds, and tell why it is not ready."""
        for _ in range(times):
            self.seconds += 5
            await self.watch._look()
        return self.stalls.check().reason


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched()
    monkeypatch.setattr("hookline.service._watch.TopicAdmin", made.kafka.connect)
    yield made
    made.watch.close()


async def test_a_partition_that_stands_still_is_named_and_said_once(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """The reason has partition, time, position and end; one error in the log, and a line when it goes on."""
    caplog.set_level(logging.INFO, logger="hookline.service._stalls")
    assert await watched.looks(6) == ""
    reason = await watched.looks(3)
    assert all(part in reason for part in ("partition 0", "offset 100", "40 s", "109"))
    assert [each.partition for each in watched.stalls.stalls] == [0]
    watched.standings = [Standing(0, 110, 110, is_braked=False, is_at_work=False)]
    assert await watched.looks(1) == ""
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.INFO]
    fields = caplog.records[0].__dict__["hookline"]
    assert (fields["partition"], fields["offset"], fields["end"]) == (0, 100, 107)


async def test_a_stall_does_not_make_kafka_unwell(watched: Watched) -> None:
    """That a client stands still says nothing of the broker and its topics: those checks are apart."""
    assert await watched.looks(9)
    assert all(check.ok for check in watched.watch.checks())


async def test_no_ends_no_judgement(watched: Watched) -> None:
    """While the broker does not tell the ends nothing is said to stand still, and the time begins anew."""
    assert await watched.looks(8)
    watched.kafka.tells = False
    assert await watched.looks(1) == ""
    watched.kafka.tells = True
    assert await watched.looks(6) == ""


async def test_a_member_without_partitions_asks_nothing(watched: Watched) -> None:
    """A replica that has none of the topic's partitions has nothing to compare."""
    watched.standings = []
    end = watched.kafka.end
    assert await watched.looks(8) == ""
    assert watched.kafka.end == end
