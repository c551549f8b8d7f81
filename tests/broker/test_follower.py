"""Following a compacted topic on a broker: everything once, by everybody, through outages and a topic made anew."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.kafka import ClientConfig, FollowState, TopicFollower
from tests.support.kafka import Topics
from tests.support.ports import free_port
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hookline.kafka import Record
    from tests.support.kafka import RealKafka, TestBroker

SLOW_SECONDS = 40


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.states: list[FollowState] = []
        self.values: list[bytes | None] = []

    def received(self, records: Sequence[Record]) -> None:
        """Take records."""
        self.values += [record.value for record in records]

    def changed(self, state: FollowState, reason: str) -> None:
        """Take a state."""
        assert state in {FollowState.READING, FollowState.FOLLOWING} or reason
        if state is FollowState.READING:
            self.values = []
        self.states.append(state)

    async def comes_to(self, state: FollowState) -> None:
        """Wait until it is in a state."""
        await eventually_async(lambda: self.states[-1:] == [state], SLOW_SECONDS, what=str(state))

    async def has(self, *values: bytes | None) -> None:
        """Wait until just these values have come since the reading began, and it follows."""
        expected = sorted(map(str, values))
        await eventually_async(
            lambda: sorted(map(str, self.values)) == expected, SLOW_SECONDS, what=f"{values} (has {self.values})"
        )
        await self.comes_to(FollowState.FOLLOWING)


@asynccontextmanager
async def following(bootstrap: str, topic: str) -> AsyncIterator[Listener]:
    """Follow a topic."""
    listener = Listener()
    follower = TopicFollower(ClientConfig(common={"bootstrap.servers": bootstrap}), topic, listener)
    follower.start()
    try:
        yield listener
    finally:
        assert await follower.close(10)


async def test_everybody_reads_everything_and_goes_on(broker: TestBroker) -> None:
    """Two followers each get what is there in every partition and then what comes; a tombstone is a record too."""
    topic = broker.topic()
    for partition in range(4):
        broker.send(topic, b"k", f"old {partition}".encode(), partition=partition)
    old = [f"old {partition}".encode() for partition in range(4)]
    async with following(broker.bootstrap, topic) as one, following(broker.bootstrap, topic) as other:
        await one.has(*old)
        await other.has(*old)
        broker.send(topic, b"k", None)
        await one.has(*old, None)
        await other.has(*old, None)
        assert one.states == [FollowState.READING, FollowState.FOLLOWING]


async def test_an_empty_topic_is_followed(broker: TestBroker) -> None:
    """It has caught up at once with nothing, and gets the first record."""
    topic = broker.topic()
    async with following(broker.bootstrap, topic) as listener:
        await listener.comes_to(FollowState.FOLLOWING)
        broker.send(topic, b"k", b"first")
        await listener.has(b"first")


async def test_a_topic_is_waited_for(real_kafka: RealKafka) -> None:
    """A topic that does not exist is not made by looking for it, and is read when somebody has made it."""
    name = real_kafka.fresh_topic() + "-later"
    async with following(real_kafka.bootstrap, name) as listener:
        await listener.comes_to(FollowState.MISSING)
        assert name not in real_kafka.partitions_by_topic()
        real_kafka.create_topic(name, 1)
        real_kafka.send(name, b"k", b"v")
        await listener.has(b"v")


async def test_a_topic_made_anew_is_read_anew(real_kafka: RealKafka) -> None:
    """What a deleted topic said counts no more once another one of its name is there."""
    topic = real_kafka.fresh_topic(partitions=1)
    for value in (b"1", b"2", b"3"):
        real_kafka.send(topic, b"k", value)
    async with following(real_kafka.bootstrap, topic) as listener:
        await listener.has(b"1", b"2", b"3")
        real_kafka.delete_topic(topic)
        await listener.comes_to(FollowState.MISSING)
        real_kafka.create_topic(topic, 1)
        real_kafka.send(topic, b"k", b"new")
        await listener.has(b"new")


async def test_new_partitions_are_followed(real_kafka: RealKafka) -> None:
    """A partition that is added while it follows is read too, from its beginning."""
    topic = real_kafka.fresh_topic(partitions=1)
    real_kafka.send(topic, b"k", b"0")
    async with following(real_kafka.bootstrap, topic) as listener:
        await listener.has(b"0")
        real_kafka.grow(topic, 2)
        await eventually_async(lambda: real_kafka.partitions_by_topic()[topic] == 2)
        Topics(real_kafka.bootstrap).send(topic, b"k", b"1", partition=1)
        await listener.has(b"0", b"1")


async def test_it_leaves_no_group_behind(real_kafka: RealKafka) -> None:
    """Following joins no group and commits nothing: the broker knows of none afterwards."""
    topic = real_kafka.fresh_topic()
    async with following(real_kafka.bootstrap, topic) as listener:
        await listener.comes_to(FollowState.FOLLOWING)
        groups = real_kafka.admin.list_consumer_groups().result(30)
        assert not [group for group in groups.valid if group.group_id.startswith("hookline-follower")]


async def test_a_broker_that_is_away_is_a_state() -> None:
    """Nothing is raised and nothing hangs when nobody answers; the end comes in bounded time."""
    async with following(f"127.0.0.1:{free_port()}", "control") as listener:
        await listener.comes_to(FollowState.UNREACHABLE)
        assert set(listener.states) == {FollowState.UNREACHABLE}
