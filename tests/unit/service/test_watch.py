"""Watching Kafka from outside: what is missing is said by name, and said to be back."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Self

import pytest

from hookline.kafka import BrokerUnreachableError, ClientConfig, KafkaClientError, TopicDescription, TopicRefusedError
from hookline.service._watch import TopicWatch
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOPICS = ("orders-hook", "orders-hook_dlq")


class Kafka:
    """A Kafka that has some topics, or nothing to give but an error; it is its own admin client."""

    def __init__(self) -> None:
        self.topics: set[str] = set(TOPICS)
        self.error: KafkaClientError | None = None
        self.clients = 0

    def connect(self, _: ClientConfig, __: float) -> Self:
        """Count a client that is made."""
        self.clients += 1
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Answer as an admin client does."""
        if self.error is not None:
            raise self.error
        return {name: TopicDescription(name, 4, 1) for name in names if name in self.topics}


class Watched:
    """A watch on such a Kafka, and how often it told that all is well."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.answers = 0
        self.seconds = 0.0
        client = ClientConfig(common={"bootstrap.servers": "kafka:9092"})
        self.watch = TopicWatch(client, TOPICS, self._answered, now=lambda: self.seconds)

    async def failures(self) -> dict[str, str]:
        """Look once, and tell what fails and why."""
        await self.watch._look()
        return self.failing()

    def failing(self) -> dict[str, str]:
        """Tell what fails and why, without looking."""
        return {check.name: check.reason for check in self.watch.checks() if not check.ok}

    def _answered(self) -> None:
        self.answers += 1


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    kafka = Kafka()
    monkeypatch.setattr("hookline.service._watch.TopicAdmin", kafka.connect)
    made = Watched(kafka)
    yield made
    made.watch.close()


def test_nothing_is_well_before_it_was_looked_at(watched: Watched) -> None:
    """Readiness begins red."""
    assert [check.ok for check in watched.watch.checks()] == [False]


async def test_a_topic_that_is_missing_is_named(watched: Watched) -> None:
    """Each missing topic is a check of its own, and is back as soon as it exists."""
    watched.kafka.topics.discard("orders-hook_dlq")
    assert set(await watched.failures()) == {"topic orders-hook_dlq"}
    watched.kafka.topics.clear()
    assert set(await watched.failures()) == {f"topic {name}" for name in TOPICS}
    watched.kafka.topics.update(TOPICS)
    assert await watched.failures() == {}


@pytest.mark.parametrize(
    "error",
    [BrokerUnreachableError("kafka:9092", "looking"), TopicRefusedError("orders-hook", "no", "X")],
    ids=["away", "refusing"],
)
async def test_a_broker_that_does_not_answer_is_named(watched: Watched, error: KafkaClientError) -> None:
    """Whatever goes wrong with asking, the address is in the reason, and the watch goes on."""
    watched.kafka.error = error
    failures = await watched.failures()
    assert "kafka:9092" in failures["kafka"]
    watched.kafka.error = None
    assert await watched.failures() == {}


async def test_an_answer_is_told_only_while_nothing_is_missing(watched: Watched) -> None:
    """That Kafka answers wakes what waits for it; half an answer does not."""
    watched.kafka.error = BrokerUnreachableError("kafka:9092", "looking")
    await watched.failures()
    watched.kafka.error = None
    watched.kafka.topics.discard("orders-hook")
    await watched.failures()
    assert watched.answers == 0
    watched.kafka.topics.update(TOPICS)
    await watched.failures()
    assert watched.answers == 1


async def test_one_connection_serves_while_it_is_answered(watched: Watched) -> None:
    """A client that was not answered is not asked again; one that was is."""
    for _ in range(3):
        await watched.failures()
    assert watched.kafka.clients == 1
    watched.kafka.error = BrokerUnreachableError("kafka:9092", "looking")
    for _ in range(2):
        await watched.failures()
    watched.kafka.error = None
    await watched.failures()
    assert watched.kafka.clients == 3


async def test_a_full_pool_of_hooks_does_not_keep_it_from_asking(watched: Watched) -> None:
    """Calls that hang in asyncio's own pool are none of the watch's business."""
    asyncio.get_running_loop().set_default_executor(pool := ThreadPoolExecutor(1))
    released = Event()
    hung = pool.submit(released.wait)
    try:
        assert await watched.failures() == {}
        assert not hung.done()
    finally:
        released.set()


async def test_an_old_answer_is_none(watched: Watched) -> None:
    """Readiness turns red when Kafka has not answered for long, and green with the next answer."""
    await watched.failures()
    watched.seconds = 14
    assert watched.failing() == {}
    watched.seconds = 16
    assert set(watched.failing()) == {"kafka"}
    assert await watched.failures() == {}


async def test_a_cancelled_watch_gives_up_its_thread(watched: Watched) -> None:
    """The end of the watch ends its thread, so nothing can be asked any more."""
    running = asyncio.create_task(watched.watch.run())
    await eventually_async(lambda: watched.answers)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    with pytest.raises(RuntimeError):
        await watched.failures()
