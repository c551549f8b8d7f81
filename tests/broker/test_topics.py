"""Making topics and comparing them with what is wanted, on a real broker: the embedded one never answers."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from hookline.kafka import (
    BrokerUnreachableError,
    ClientConfig,
    EmbeddedBroker,
    EmbeddedBrokerError,
    InvalidClientConfigError,
    TopicAdmin,
    TopicDescription,
    TopicMissingError,
    TopicRefusedError,
    WantedTopic,
    describe_topics,
)
from tests.support.ports import free_port
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kafka import RealKafka, TestBroker


@pytest.fixture
def admin(real_kafka: RealKafka) -> Iterator[TopicAdmin]:
    with TopicAdmin(ClientConfig(common={"bootstrap.servers": real_kafka.bootstrap})) as admin:
        yield admin


def _name() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


def test_existing_topics_are_described_and_missing_ones_left_out(broker: TestBroker) -> None:
    """Metadata alone tells what exists."""
    topic = broker.topic()
    found = describe_topics(ClientConfig(common={"bootstrap.servers": broker.bootstrap}), [topic, "no-such-topic"])
    assert found == {topic: TopicDescription(topic, 4, 1)}


def test_the_ends_of_a_topic_are_told(broker: TestBroker) -> None:
    """A watchdog sees how far the topic has grown without being a consumer of it."""
    topic = broker.topic()
    for partition in (1, 3, 3):
        broker.send(topic, None, b"v", partition=partition)
    with TopicAdmin(ClientConfig(common={"bootstrap.servers": broker.bootstrap})) as admin:
        assert admin.end_offsets(topic) == {0: 0, 1: 1, 2: 0, 3: 2}
        with pytest.raises(TopicMissingError):
            admin.end_offsets("no-such-topic")


def test_an_embedded_broker_is_told_apart() -> None:
    """It would leave the question unanswered, so it is refused by name before it is asked."""
    with EmbeddedBroker() as broker, TopicAdmin(broker.client_config()) as admin:
        broker.create_topics("orders-hook")
        for name in ("orders-hook", "no-such-topic"):
            with pytest.raises(EmbeddedBrokerError):
                admin.plan([WantedTopic(name, 4, config={"retention.ms": "1"})])


def test_a_topic_is_made_as_wanted(admin: TopicAdmin) -> None:
    """A missing topic is planned, made with its settings, and then as wanted."""
    wanted = WantedTopic(_name(), 3, config={"retention.ms": "1234567", "cleanup.policy": "delete"})
    (change,) = admin.plan([wanted])
    assert change.creates
    admin.apply(change)
    assert admin.read_settings(wanted.name)["retention.ms"] == "1234567"
    (after,) = admin.plan([wanted])
    assert not after.creates
    assert not after.alters


def test_only_what_differs_is_altered(admin: TopicAdmin) -> None:
    """Settings are changed one by one; what is not wanted otherwise stays."""
    name = _name()
    first = WantedTopic(name, 1, config={"retention.ms": "1234567", "max.message.bytes": "2000000"})
    admin.apply(admin.plan([first])[0])
    (change,) = admin.plan([WantedTopic(name, 1, config={"retention.ms": "7654321"})])
    assert change.settings == {"retention.ms": ("1234567", "7654321")}
    admin.apply(change)
    # The broker may answer before it reads back what it was told.
    eventually(lambda: admin.read_settings(name)["retention.ms"] == "7654321", what="the setting is altered")
    assert admin.read_settings(name)["max.message.bytes"] == "2000000"


def test_a_partition_count_is_never_changed(admin: TopicAdmin) -> None:
    """Applying leaves the partitions of a topic that exists, and says how many were wanted (P3)."""
    name = _name()
    admin.apply(admin.plan([WantedTopic(name, 2)])[0])
    (change,) = admin.plan([WantedTopic(name, 6, config={"retention.ms": "1234567"})])
    admin.apply(change)
    assert change.keeps_partitions == (2, 6)
    assert admin.describe([name])[name].partitions == 2


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (WantedTopic("refused-replicas", 1, replication_factor=99), "INVALID_REPLICATION_FACTOR"),
        (WantedTopic("refused-setting", 1, config={"no.such.setting": "1"}), "INVALID_CONFIG"),
        (WantedTopic("not a name", 1), "TOPIC_EXCEPTION"),
    ],
)
def test_a_refusal_is_a_typed_error(admin: TopicAdmin, wanted: WantedTopic, code: str) -> None:
    """What the broker refuses is told with the topic and the broker's code."""
    (change,) = admin.plan([wanted])
    with pytest.raises(TopicRefusedError) as refused:
        admin.apply(change)
    assert (refused.value.topic, refused.value.code) == (wanted.name, code)


def test_making_a_topic_twice_is_told(admin: TopicAdmin) -> None:
    """Two that apply at once do not both make it; the second is told that it is there."""
    (change,) = admin.plan([WantedTopic(_name(), 1)])
    admin.apply(change)
    with pytest.raises(TopicRefusedError) as refused:
        admin.apply(change)
    assert refused.value.code == "TOPIC_ALREADY_EXISTS"


def test_a_broker_that_is_away_is_named() -> None:
    """Asking for settings or ends stops in the time that was given, and the error names the address."""
    bootstrap = f"127.0.0.1:{free_port()}"
    with (
        TopicAdmin(ClientConfig(common={"bootstrap.servers": bootstrap}), timeout_seconds=0.5) as admin,
        pytest.raises(BrokerUnreachableError) as away,
    ):
        admin.read_settings("t")
    assert away.value.bootstrap == bootstrap
    with (
        TopicAdmin(ClientConfig(common={"bootstrap.servers": bootstrap}), timeout_seconds=0.5) as admin,
        pytest.raises(BrokerUnreachableError),
    ):
        admin.end_offsets("t")


def test_settings_that_make_no_client_are_told() -> None:
    """An option that librdkafka does not know is a typed error."""
    with pytest.raises(InvalidClientConfigError):
        TopicAdmin(ClientConfig(common={"bootstrap.servers": "127.0.0.1:1", "no.such.option": "1"}))
