"""The test brokers themselves: what every other test of this shelf stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer

from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.kafka import RealKafka, TestBroker


def test_a_record_comes_back_as_it_was_sent(broker: TestBroker) -> None:
    """Key, value and headers, with order, repeats and nulls, are read back byte for byte."""
    topic = broker.topic()
    headers = (("a", b"1"), ("a", None), ("b", b""))
    sent = broker.send(topic, b"key", b"\x00\xff", headers)
    assert broker.read(topic) == [sent]
    assert sum(broker.ends(topic).values()) == 1


def test_a_group_consumes_and_its_commit_is_seen_from_outside(broker: TestBroker) -> None:
    """A consumer group joins, reads and commits on either broker."""
    topic, group = broker.topic(), "harness"
    broker.send(topic, b"key", b"value", partition=2)
    assert not broker.settled(group, topic)
    options = {"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    with Consumer(options | {"enable.auto.commit": False}) as consumer:
        consumer.subscribe([topic])
        message = eventually(lambda: consumer.poll(0.5), 30)
        assert message.error() is None
        consumer.commit(message=message, asynchronous=False)
    assert broker.committed(group, topic) == {2: 1}
    assert broker.settled(group, topic)


def test_topics_are_made_with_their_settings_and_deleted(real_kafka: RealKafka) -> None:
    """A real topic has the partitions that were asked for and is gone after its deletion."""
    topic = real_kafka.fresh_topic(partitions=7, cleanup_policy="compact")
    assert real_kafka.partitions_by_topic()[topic] == 7
    real_kafka.delete_topic(topic)
    assert topic not in real_kafka.partitions_by_topic()
