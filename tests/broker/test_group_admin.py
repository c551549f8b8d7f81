"""What groups have committed, read and changed from outside of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined] # exported, but not as strict asks for
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from hookline.kafka import (
    BrokerUnreachableError,
    ClientConfig,
    ErrorKind,
    GroupAdmin,
    GroupConsumer,
    GroupInUseError,
    GroupRefusedError,
    TopicMissingError,
)
from tests.support.kafka import NoKafkaError
from tests.support.kafka._own import own_kafka
from tests.support.missing import missing
from tests.support.ports import free_port
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.kafka import CommitError, Fault
    from tests.support.kafka import RealKafka, TestBroker

_MARKS = {0: (3, "hl1.words"), 2: (0, "")}
_GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def _config(bootstrap: str, protocol: str = "classic") -> ClientConfig:
    return ClientConfig(common={"bootstrap.servers": bootstrap}, consumer={"group.protocol": protocol})


@pytest.fixture
def admin(broker: TestBroker) -> Iterator[GroupAdmin]:
    """Give an admin of either broker."""
    with GroupAdmin(_config(broker.bootstrap)) as admin:
        yield admin


@pytest.fixture
def real_admin(real_kafka: RealKafka) -> Iterator[GroupAdmin]:
    """Give an admin of the real broker."""
    with GroupAdmin(_config(real_kafka.bootstrap)) as admin:
        yield admin


class _Silent:
    """A member that is only there."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def assigned(self, partitions: Sequence[int]) -> None:
        self.held += partitions

    def revoked(self, partitions: Sequence[int]) -> None:
        self.held = [each for each in self.held if each not in partitions]

    def lost(self, partitions: Sequence[int]) -> None:
        self.revoked(partitions)

    def committed(self, error: CommitError | None) -> None:
        del error

    def faulted(self, fault: Fault) -> None:
        del fault


def test_what_is_committed_is_told_with_its_metadata(broker: TestBroker, admin: GroupAdmin) -> None:
    """P6: offset and metadata come back as they were, by group; a partition or a group without a commit is empty."""
    topic = broker.topic()
    admin.commit(f"a-of-{topic}", topic, _MARKS)
    assert admin.committed([f"a-of-{topic}", f"b-of-{topic}"], topic) == {f"a-of-{topic}": _MARKS, f"b-of-{topic}": {}}
    assert broker.committed(f"a-of-{topic}", topic) == {0: 3, 2: 0}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_only_its_members_commit_for_a_group(real_kafka: RealKafka, real_admin: GroupAdmin, protocol: str) -> None:
    """P5: a group with a member is told as such, can be neither set nor deleted, and can when the member has left."""
    topic = real_kafka.fresh_topic()
    group, member = f"group-of-{topic}", _Silent()
    with closing(GroupConsumer(_config(real_kafka.bootstrap, protocol), group, topic, member)) as consumer:

        def joined() -> bool:
            consumer.poll(1, 0.1)
            return len(member.held) == 4

        eventually(joined, 30, what="it has joined")
        assert real_admin.has_members(group)
        with pytest.raises(GroupInUseError):
            real_admin.commit(group, topic, _MARKS)
        with pytest.raises(GroupInUseError):
            real_admin.delete(group)
    eventually(lambda: not real_admin.has_members(group), 30, what="it has left")
    real_admin.commit(group, topic, _MARKS)
    assert real_admin.committed([group], topic) == {group: _MARKS}


def test_metadata_that_is_too_long_is_told_apart(real_kafka: RealKafka, real_admin: GroupAdmin) -> None:
    """P6: with less of it the commit passes; partitions that said less are committed already."""
    topic = real_kafka.fresh_topic()
    group = f"group-of-{topic}"
    with pytest.raises(GroupRefusedError) as refused:
        real_admin.commit(group, topic, {0: (3, "x" * 5_000), 1: (4, "short")})
    assert refused.value.metadata_refused
    real_admin.commit(group, topic, {0: (3, "x" * 1_000)})
    assert {number: offset for number, (offset, _) in real_admin.committed([group], topic)[group].items()} == {
        0: 3,
        1: 4,
    }


def test_a_deleted_group_has_committed_nothing(real_kafka: RealKafka, real_admin: GroupAdmin) -> None:
    """What a group that was moved leaves is gone; to delete it again, or one that never was, is well."""
    topic = real_kafka.fresh_topic()
    group = f"group-of-{topic}"
    real_admin.commit(group, topic, _MARKS)
    for _ in range(2):
        real_admin.delete(group)
        assert real_admin.committed([group], topic) == {group: {}}
    assert not real_admin.has_members(group)


def test_a_group_that_may_not_be_seen_is_told_apart() -> None:
    """A right that is missing is no outage; where nobody needs the group it is left out."""
    try:
        with own_kafka(_GUARDED) as kafka:
            topic = kafka.fresh_topic()
            _keep_for_others(kafka, "hidden")
            with GroupAdmin(_config(kafka.bootstrap), 5.0) as admin:
                eventually(lambda: _is_hidden(admin, topic), 20, what="the rule is in force")
                with pytest.raises(GroupRefusedError) as refused:
                    admin.committed(["open", "hidden"], topic)
                assert (refused.value.group, refused.value.kind) == ("hidden", ErrorKind.CONFIGURATION)
                assert admin.committed_if_seen(["open", "hidden"], topic) == {"open": {}}
    except NoKafkaError as error:
        missing(str(error))


def _is_hidden(admin: GroupAdmin, topic: str) -> bool:
    try:
        admin.committed(["hidden"], topic)
    except GroupRefusedError:
        return True
    return False


def _keep_for_others(kafka: RealKafka, group: str) -> None:
    """Give a group to somebody else, so that nobody else may see it."""
    rule = AclBinding(
        ResourceType.GROUP,
        group,
        ResourcePatternType.LITERAL,
        "User:other",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    for done in kafka.admin.create_acls([rule]).values():
        done.result(10)


def test_a_topic_is_told_at_its_ends_and_at_a_time(real_kafka: RealKafka, real_admin: GroupAdmin) -> None:
    """A start is the first record, the end, or the first record of a time or later: the end when there is none."""
    topic = real_kafka.fresh_topic(partitions=2)
    for _ in range(3):
        real_kafka.send(topic, None, b"v", partition=1)
    assert real_admin.offsets_at(topic, "earliest") == {0: 0, 1: 0}
    assert real_admin.offsets_at(topic, "latest") == {0: 0, 1: 3}
    assert real_admin.offsets_at(topic, 1) == {0: 0, 1: 0}
    assert real_admin.offsets_at(topic, 4_000_000_000_000) == {0: 0, 1: 3}


def test_a_topic_that_is_missing_is_named(real_admin: GroupAdmin) -> None:
    """Nobody guesses at partitions."""
    with pytest.raises(TopicMissingError):
        real_admin.committed(["g"], "not-there")


def test_a_broker_that_is_away_is_an_outage() -> None:
    """Asking ends in the time that was given (P9)."""
    with GroupAdmin(_config(f"127.0.0.1:{free_port()}"), 0.3) as admin, pytest.raises(BrokerUnreachableError):
        admin.committed(["g"], "t")
