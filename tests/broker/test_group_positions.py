"""What a group member asks of the broker and commits, also while it is being assigned its partitions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition

from hookline.kafka import (
    ClientConfig,
    CommitError,
    EmbeddedBroker,
    ErrorKind,
    Fault,
    GroupConsumer,
    PositionsUnknownError,
)
from tests.support.ports import free_port
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.kafka import Position, UnreadRecord
    from tests.support.kafka import RealKafka, TestBroker

_SECONDS = 10.0
_TOO_LONG = "x" * 5_000
_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


class _Member:
    """A group member that does something while it is being assigned its partitions."""

    def __init__(self, bootstrap: str, topic: str, do: Callable[[_Member], None], protocol: str = "classic") -> None:
        self._do = do
        self.held: list[int] = []
        self.answers: list[object] = []
        self.commits: list[CommitError | None] = []
        self.records: list[UnreadRecord] = []
        config = ClientConfig(common={"bootstrap.servers": bootstrap}, consumer={"group.protocol": protocol})
        self.consumer = GroupConsumer(config, f"group-of-{topic}", topic, self)

    def assigned(self, partitions: Sequence[int]) -> None:
        self.held += partitions
        self._do(self)

    def revoked(self, partitions: Sequence[int]) -> None:
        self.held = [each for each in self.held if each not in partitions]

    def lost(self, partitions: Sequence[int]) -> None:
        self.revoked(partitions)

    def committed(self, error: CommitError | None) -> None:
        self.commits.append(error)

    def faulted(self, fault: Fault) -> None:
        assert fault.kind is not ErrorKind.FATAL

    def poll_until(self, condition: Callable[[], object]) -> None:
        """Poll until the condition holds."""

        def poll() -> bool:
            self.records += self.consumer.poll(100, 0.1)
            return bool(condition())

        eventually(poll, 30)


def _joined(member: _Member) -> _Member:
    with closing(member.consumer):
        member.poll_until(lambda: member.answers)
    return member


def _delete_before(kafka: RealKafka, topic: str, offset: int) -> None:
    place = TopicPartition(topic, 0, offset)
    kafka.admin.delete_records([place])[place].result(_SECONDS)


def _refused(positions: dict[int, Position], member: _Member) -> CommitError:
    with pytest.raises(CommitError) as refused:
        member.consumer.commit_now(positions)
    return refused.value


@_PROTOCOLS
def test_positions_are_told_and_committed_while_being_assigned(broker: TestBroker, protocol: str) -> None:
    """Before the first record a member learns where the group stands and marks it, metadata included (P6, P11)."""
    topic = broker.topic()
    broker.send(topic, None, b"v", partition=2)

    def mark(member: _Member) -> None:
        member.answers.append(member.consumer.committed(member.held, _SECONDS))
        member.consumer.commit_now({2: (1, "open"), 3: (0, "")})
        member.answers.append(member.consumer.committed(member.held, _SECONDS))

    assert _joined(_Member(broker.bootstrap, topic, mark, protocol)).answers == [
        {0: None, 1: None, 2: None, 3: None},
        {0: None, 1: None, 2: (1, "open"), 3: (0, "")},
    ]
    assert broker.committed(f"group-of-{topic}", topic) == {2: 1, 3: 0}


@_PROTOCOLS
def test_both_ends_are_told_while_being_assigned(broker: TestBroker, protocol: str) -> None:
    """The ends are the broker's, not what was fetched: nothing was fetched yet."""
    topic = broker.topic()
    for partition in (0, 2, 2):
        broker.send(topic, None, b"v", partition=partition)

    def ask(member: _Member) -> None:
        member.answers.append(member.consumer.watermarks(member.held, _SECONDS))

    assert _joined(_Member(broker.bootstrap, topic, ask, protocol)).answers == [
        {0: (0, 1), 1: (0, 0), 2: (0, 2), 3: (0, 0)}
    ]


def test_what_was_deleted_shows_in_the_low_end(real_kafka: RealKafka) -> None:
    """The low end is the first offset that is still there."""
    topic = real_kafka.fresh_topic(partitions=1)
    for _ in range(5):
        real_kafka.send(topic, None, b"v")
    _delete_before(real_kafka, topic, 3)
    member = _Member(real_kafka.bootstrap, topic, lambda member: member.answers.append(member.held))
    with closing(member.consumer):
        assert member.consumer.watermarks([0], _SECONDS) == {0: (3, 5)}


@_PROTOCOLS
def test_records_come_from_where_the_group_was_marked(broker: TestBroker, protocol: str) -> None:
    """A commit of the start offset while being assigned moves nothing: every record is still delivered (P5)."""
    topic = broker.topic()
    for _ in range(3):
        broker.send(topic, None, b"v", partition=1)

    def mark(member: _Member) -> None:
        member.consumer.commit_now(dict.fromkeys(member.held, (0, "open")))

    member = _Member(broker.bootstrap, topic, mark, protocol)
    with closing(member.consumer):
        member.poll_until(lambda: len(member.records) == 3)
    assert [record.offset() for record in member.records] == [0, 1, 2]


def test_nothing_is_asked_for_no_partitions(broker: TestBroker) -> None:
    """An assignment without partitions needs no answer."""
    member = _Member(broker.bootstrap, broker.topic(), lambda _: None)
    with closing(member.consumer):
        assert member.consumer.committed([], _SECONDS) == {}
        assert member.consumer.watermarks([], _SECONDS) == {}


def test_a_broker_that_is_away_leaves_positions_unknown() -> None:
    """Asking ends in the time that was given, and says that it is an outage (P9)."""
    member = _Member(f"127.0.0.1:{free_port()}", "t", lambda _: None)
    with closing(member.consumer):
        for ask in (member.consumer.committed, member.consumer.watermarks):
            with pytest.raises(PositionsUnknownError) as unknown:
                ask([0], 0.3)
            assert (unknown.value.topic, unknown.value.kind) == ("t", ErrorKind.DEPENDENCY)


def test_a_broker_that_went_away_is_an_outage_too() -> None:
    """A client that knew the partition calls it unknown then; nobody need mend the topic (P9)."""
    with EmbeddedBroker() as broker:
        broker.create_topics("t")
        member = _Member(broker.bootstrap, "t", lambda _: None)
        with closing(member.consumer):
            assert member.consumer.watermarks([0], _SECONDS) == {0: (0, 0)}
            broker.stop()
            with pytest.raises(PositionsUnknownError) as unknown:
                member.consumer.watermarks([0], 0.3)
    assert unknown.value.kind in {ErrorKind.DEPENDENCY, ErrorKind.RETRYABLE}


@_PROTOCOLS
def test_metadata_that_is_too_long_is_refused_by_name(real_kafka: RealKafka, protocol: str) -> None:
    """The refusal says that it is the metadata, and the offset alone is then accepted (P5)."""
    topic = real_kafka.fresh_topic()

    def mark(member: _Member) -> None:
        member.answers.append(_refused({0: (0, _TOO_LONG), 1: (0, _TOO_LONG)}, member).metadata_refused)
        member.consumer.commit_now({0: (0, ""), 1: (0, "")})

    assert _joined(_Member(real_kafka.bootstrap, topic, mark, protocol)).answers == [True]
    assert real_kafka.committed(f"group-of-{topic}", topic) == {0: 0, 1: 0}


@_PROTOCOLS
def test_one_partitions_metadata_is_refused_alone(real_kafka: RealKafka, protocol: str) -> None:
    """The others of the same commit are committed, whether it is waited for or not (P5)."""
    topic = real_kafka.fresh_topic()
    member = _Member(real_kafka.bootstrap, topic, lambda _: None, protocol)
    with closing(member.consumer):
        member.poll_until(lambda: len(member.held) == 4)
        now = _refused({0: (0, _TOO_LONG), 1: (0, "short")}, member)
        member.consumer.commit({2: (0, _TOO_LONG), 3: (0, "short")})
        member.poll_until(lambda: member.commits)
    (later,) = member.commits
    assert later is not None
    assert now.metadata_refused
    assert later.metadata_refused
    assert real_kafka.committed(f"group-of-{topic}", topic) == {1: 0, 3: 0}
