"""The publisher against a broker."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.contract import Event, HookEvent, decode_record
from hookline.kafka import BrokerUnreachableError, ClientConfig, RecordTooLargeError, TopicMissingError
from hookline.publish import EventNotPublishedError, HookPublisher, PublishResult, SyncHookPublisher
from hookline.telemetry import Metrics
from tests.support.ports import free_port

if TYPE_CHECKING:
    from tests.support.kafka import TestBroker

_GOLDEN = Path(__file__).parents[1] / "vectors" / "hookevent-golden.json"


def _golden() -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(_GOLDEN.read_text())["events"]
    return events


def _config(broker: TestBroker) -> ClientConfig:
    return ClientConfig(common={"bootstrap.servers": broker.bootstrap})


def _event(subject: str = "batch-778", version: int = 1, **payload: Any) -> Event:
    return Event.versioned(source="submitqueue", type="batch.failed", subject=subject, version=version, payload=payload)


@pytest.mark.parametrize("golden", _golden(), ids=lambda golden: golden["name"])
async def test_a_golden_event_lies_where_every_language_puts_it(broker: TestBroker, golden: dict[str, Any]) -> None:
    """Key, partition, headers and value on the topic are those of the vectors (P3)."""
    topic = broker.topic()
    make = Event.versioned if "version" in golden["components"] else Event.unversioned
    event = make(**golden["components"], payload=golden["payload"], timestamp_ms=golden["timestamp_ms"])
    async with HookPublisher(_config(broker), topic) as publisher:
        acknowledgement = await publisher.publish(event)
    (record,) = broker.read(topic)
    assert acknowledgement.partition == record.partition == golden["partition"]["4"]
    assert record.key == base64.b64decode(golden["key_base64"])
    assert [[name, (value or b"").decode()] for name, value in record.headers] == golden["headers_utf8"]
    expected = HookEvent.FromString(base64.b64decode(golden["value_base64"]))
    assert HookEvent.FromString(record.value or b"") == expected


async def test_a_publish_returns_when_the_event_stands_in_the_topic(broker: TestBroker) -> None:
    """What publish() has confirmed is there for a reader from outside (P2)."""
    topic, event = broker.topic(), _event(error="merge conflict")
    async with HookPublisher(_config(broker), topic) as publisher:
        await publisher.publish(event)
        (record,) = broker.read(topic)
    assert decode_record(record.key, record.value, record.headers) == event


async def test_events_of_a_subject_lie_in_order(broker: TestBroker) -> None:
    """Events that are published together keep the order of each subject (P3)."""
    topic, metrics = broker.topic(), Metrics(domain="q")
    events = [_event(f"batch-{number % 5}", number + 1) for number in range(200)]
    async with HookPublisher(_config(broker), topic, metrics=metrics) as publisher:
        results = await publisher.publish_many(events)
    assert all(result.error is None for result in results)
    records = [decode_record(record.key, record.value, record.headers) for record in broker.read(topic)]
    for number in range(5):
        versions = [event.version for event in records if event.subject == f"batch-{number}"]
        assert versions == list(range(number + 1, 201, 5))
    assert metrics.value("published_total", source="submitqueue", type="batch.failed", result="ok") == 200


async def test_an_event_too_large_for_the_broker_is_a_typed_error(broker: TestBroker) -> None:
    """An event that cannot be published raises, and is not retryable (P2)."""
    async with HookPublisher(_config(broker), broker.topic()) as publisher:
        with pytest.raises(EventNotPublishedError) as refused:
            await publisher.publish(_event(log="x" * 2_000_000))
    assert isinstance(refused.value.__cause__, RecordTooLargeError)
    assert not refused.value.retryable


async def test_a_publisher_tells_what_is_missing_before_the_first_event(broker: TestBroker) -> None:
    """check() names a topic that does not exist, and makes none."""
    topic = broker.topic()
    await HookPublisher(_config(broker), topic).check()
    with pytest.raises(TopicMissingError) as missing:
        await HookPublisher(_config(broker), "no-such-topic").check()
    assert missing.value.topic == "no-such-topic"
    assert "no-such-topic" not in broker.partitions_by_topic()


async def test_a_publish_without_a_broker_raises_in_bounded_time() -> None:
    """A broker that is away fails the stage; nothing is dropped in silence (P2)."""
    bootstrap = f"127.0.0.1:{free_port()}"
    config = ClientConfig(common={"bootstrap.servers": bootstrap}, producer={"delivery.timeout.ms": 500})
    publisher = HookPublisher(config, "q-hook")
    with pytest.raises(EventNotPublishedError) as away:
        await publisher.publish(_event())
    assert away.value.retryable
    assert bootstrap in str(away.value)
    with pytest.raises(BrokerUnreachableError) as unreachable:
        await publisher.check(0.5)
    assert unreachable.value.bootstrap == bootstrap
    await publisher.close(1)


def test_the_synchronous_front_publishes_the_same(broker: TestBroker) -> None:
    """Code without a loop gets the same confirmation for the same record (P2)."""
    topic, event = broker.topic(), _event()
    with SyncHookPublisher(_config(broker), topic) as publisher:
        publisher.check()
        acknowledgement = publisher.publish(event)
        results = publisher.publish_many([_event(version=2)])
    first, second = broker.read(topic)
    assert (first.partition, first.offset) == (acknowledgement.partition, acknowledgement.offset)
    assert [type(result) for result in results] == [PublishResult]
    assert decode_record(second.key, second.value, second.headers).version == 2


async def test_a_cancelled_publish_leaves_the_publisher_usable(broker: TestBroker) -> None:
    """Whoever stops waiting does not know; the event is published again under the same id (P4)."""
    topic, event = broker.topic(), _event()
    async with HookPublisher(_config(broker), topic) as publisher:
        task = asyncio.create_task(publisher.publish(event))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await publisher.publish(event)
    identities = {decode_record(record.key, record.value, record.headers).identity for record in broker.read(topic)}
    assert identities == {event.identity}
