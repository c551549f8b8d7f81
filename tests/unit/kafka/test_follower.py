"""Following a topic: everything from the beginning, then what comes; trouble is a state."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from confluent_kafka import KafkaError

from hookline.kafka import ClientConfig, FollowState, InvalidClientConfigError, TopicFollower
from tests.support.waiting import eventually_async
from tests.unit.kafka.fake_topic import TOPIC, FakeTopic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hookline.kafka import Record

STARTING, READING, FOLLOWING = FollowState.STARTING, FollowState.READING, FollowState.FOLLOWING
MISSING, UNREACHABLE, REFUSED = FollowState.MISSING, FollowState.UNREACHABLE, FollowState.REFUSED


class Listener:
    """Keeps what it is told, in order: states and values."""

    def __init__(self) -> None:
        self.told: list[FollowState | bytes | None] = []
        self.reason = ""

    def received(self, records: Sequence[Record]) -> None:
        """Take records."""
        self.told += [record.value for record in records]

    def changed(self, state: FollowState, reason: str) -> None:
        """Take a state."""
        self.told.append(state)
        self.reason = reason

    async def tells(self, *expected: FollowState | bytes) -> None:
        """Wait until exactly this was told."""
        await eventually_async(lambda: len(self.told) >= len(expected), what=f"{len(expected)} things told")
        assert self.told == list(expected)

    async def comes_to(self, state: FollowState) -> None:
        """Wait until the last thing told is a state."""
        await eventually_async(lambda: self.told[-1:] == [state], what=str(state))


def follower_of(topic: FakeTopic, listener: Listener) -> TopicFollower:
    """Make a follower of a topic of the test."""
    config = ClientConfig(common={"bootstrap.servers": "kafka:9092"})
    return TopicFollower(config, TOPIC, listener, connect=cast("Any", topic.connect))


@asynccontextmanager
async def followed(topic: FakeTopic) -> AsyncIterator[Listener]:
    """Follow a topic, and end that."""
    listener = Listener()
    follower = follower_of(topic, listener)
    follower.start()
    try:
        yield listener
    finally:
        assert await follower.close()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait for a pause."""
    for name in ("_POLL_SECONDS", "_AGAIN_SECONDS", "_WHILE_AWAY_SECONDS", "_LOOK_SECONDS"):
        monkeypatch.setattr(f"hookline.kafka._follower.{name}", 0.01)


async def test_what_is_there_comes_before_it_has_caught_up() -> None:
    """Everything that stood in the topic is told before FOLLOWING, what is written later after it."""
    topic = FakeTopic()
    topic.write(b"1", b"2")
    async with followed(topic) as listener:
        await listener.tells(READING, b"1", b"2", FOLLOWING)
        topic.write(b"3")
        await listener.tells(READING, b"1", b"2", FOLLOWING, b"3")


async def test_an_empty_topic_is_caught_up_with() -> None:
    """Nothing to read is not a reason to wait."""
    async with followed(FakeTopic(3)) as listener:
        await listener.tells(READING, FOLLOWING)


async def test_all_partitions_are_read() -> None:
    """A topic of several partitions has been caught up with when each of them has."""
    topic = FakeTopic(2)
    topic.write(b"0", partition=0)
    topic.write(b"1", partition=1)
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        assert set(listener.told) == {READING, b"0", b"1", FOLLOWING}


async def test_it_joins_no_group_and_makes_no_topic() -> None:
    """Each follower is alone in a group that it never joins, and looking for a topic does not make it."""
    topic = FakeTopic()
    async with followed(topic), followed(topic) as other:
        await other.comes_to(FOLLOWING)
        await eventually_async(lambda: len(topic.consumers) == 2)
        first, second = (consumer.options for consumer in topic.consumers)
    assert first["group.id"] != second["group.id"]
    assert first["allow.auto.create.topics"] is False
    assert first["enable.auto.commit"] is False
    assert all(consumer.closed for consumer in topic.consumers)


async def test_a_missing_topic_is_looked_for_again() -> None:
    """A topic that does not exist is a state; once it is made it is read, with the same client."""
    topic = FakeTopic()
    topic.error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    async with followed(topic) as listener:
        await listener.tells(MISSING)
        topic.write(b"1")
        topic.error = None
        await listener.tells(MISSING, READING, b"1", FOLLOWING)
        assert len(topic.consumers) == 1


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (KafkaError._TRANSPORT, UNREACHABLE),
        (KafkaError._TIMED_OUT, UNREACHABLE),
        (KafkaError.LEADER_NOT_AVAILABLE, UNREACHABLE),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, REFUSED),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, MISSING),
    ],
)
async def test_after_an_interruption_it_reads_from_the_beginning(code: int, state: FollowState) -> None:
    """What stops the reading is a state, and what may have been dropped meanwhile is read again."""
    topic = FakeTopic()
    topic.write(b"1")
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.error = KafkaError(code)
        await listener.comes_to(state)
        topic.records[0][:] = [b"2"]
        topic.error = None
        await listener.tells(READING, b"1", FOLLOWING, state, READING, b"2", FOLLOWING)


async def test_a_partition_without_a_leader_is_an_interruption() -> None:
    """A topic whose records cannot be fetched is not followed, though the brokers answer."""
    topic = FakeTopic()
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.leader_error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
        await listener.comes_to(UNREACHABLE)
        topic.leader_error = None
        await listener.comes_to(FOLLOWING)


async def test_a_refused_fetch_is_told() -> None:
    """A right to read that was taken away is told by name, although the topic may still be described."""
    topic = FakeTopic()
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.fetch_error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
        await listener.tells(READING, FOLLOWING, REFUSED, READING, FOLLOWING)


async def test_a_passing_fault_is_nothing() -> None:
    """A leader that moves does not interrupt the reading."""
    topic = FakeTopic()
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.fetch_error = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
        topic.write(b"1")
        await listener.tells(READING, FOLLOWING, b"1")


async def test_new_partitions_are_read_too() -> None:
    """A topic that has got more partitions is read from the beginning, all of it."""
    topic = FakeTopic()
    topic.write(b"0")
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.first[1] = 0
        topic.records = {**topic.records, 1: [b"1"]}
        await listener.tells(READING, b"0", FOLLOWING, READING, b"0", b"1", FOLLOWING)


async def test_a_topic_made_anew_is_read_anew() -> None:
    """Offsets that go back are another topic of the same name; what the old one said counts no more."""
    topic = FakeTopic()
    topic.write(b"1", b"2")
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        topic.make_anew(b"3")
        await eventually_async(lambda: listener.told.count(FOLLOWING) == 2)
        assert listener.told == [READING, b"1", b"2", FOLLOWING, READING, b"3", FOLLOWING]


async def test_a_process_that_stood_still_for_long_reads_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was frozen for longer than tombstones are kept may have missed one, so it does not go on from there."""
    topic = FakeTopic()
    async with followed(topic) as listener:
        await listener.comes_to(FOLLOWING)
        monkeypatch.setattr("hookline.kafka._follower._STALE_SECONDS", 0.0)
        await eventually_async(lambda: listener.told.count(READING) >= 2)
        monkeypatch.setattr("hookline.kafka._follower._STALE_SECONDS", 600.0)
        await listener.comes_to(FOLLOWING)


async def test_a_client_that_cannot_be_made_is_a_state() -> None:
    """Settings that no client takes are told, and tried again."""
    topic = FakeTopic()
    topic.refusal = InvalidClientConfigError("no such option")
    async with followed(topic) as listener:
        await listener.tells(REFUSED)
        topic.refusal = None
        await listener.tells(REFUSED, READING, FOLLOWING)


async def test_whatever_breaks_is_a_state() -> None:
    """An error that nobody thought of does not end the thread."""
    topic = FakeTopic()
    topic.refusal = ZeroDivisionError()
    async with followed(topic) as listener:
        await listener.comes_to(UNREACHABLE)
        topic.refusal = None
        await listener.comes_to(FOLLOWING)


async def test_nothing_is_told_after_it_was_closed() -> None:
    """From the call of `close` on the listener is left alone, and a second call is harmless."""
    topic = FakeTopic()
    listener = Listener()
    follower = follower_of(topic, listener)
    assert await follower.close()
    follower = follower_of(topic, listener)
    follower.start()
    await listener.comes_to(FOLLOWING)
    closing = asyncio.create_task(follower.close())
    await asyncio.sleep(0)
    told = list(listener.told)
    topic.write(b"late")
    assert await closing
    assert await follower.close()
    assert listener.told == told
