from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from hookline import publish
from hookline.contract import Event, InvalidEventError, decode_record
from hookline.kafka import (
    Acknowledgement,
    ClientConfig,
    DeliveryTimeoutError,
    ErrorKind,
    InvalidClientConfigError,
    RecordTooLargeError,
)
from hookline.publish import (
    EventNotPublishedError,
    EventRefusedError,
    HookPublisher,
    PublishError,
    SyncHookPublisher,
    TopicKeyMissingError,
    TopicRegistry,
)
from hookline.telemetry import Metrics
from tests.unit.publish.fakes import FakeProducer

_CONFIG = ClientConfig(common={"bootstrap.servers": "127.0.0.1:1"})
_TIMEOUT = DeliveryTimeoutError("no confirmation", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)


def _event(subject: str = "batch-778", *, source: str = "submitqueue") -> Event:
    return Event.versioned(
        source=source, type="batch.failed", subject=subject, version=4, payload={"batch_id": subject}
    )


def _publisher(producer: FakeProducer, metrics: Metrics | None = None) -> HookPublisher:
    return HookPublisher(_CONFIG, "q-hook", metrics=metrics, producer=producer)


async def test_an_event_is_published_under_its_subject() -> None:
    """The key is the subject, and what is written reads back as the event."""
    producer, event = FakeProducer(), _event()
    assert await _publisher(producer).publish(event) == Acknowledgement("q-hook", 0, 0)
    (sent,) = producer.sent
    assert (sent.topic, sent.key) == ("q-hook", b"batch-778")
    assert decode_record(sent.key, sent.value, sent.headers).identity == event.identity


async def test_a_publish_without_confirmation_raises() -> None:
    """The stage fails when the broker did not confirm, and sees why (P2)."""
    publisher = _publisher(FakeProducer({b"batch-778": _TIMEOUT}))
    with pytest.raises(EventNotPublishedError) as failed:
        await publisher.publish(_event())
    assert failed.value.__cause__ is _TIMEOUT
    assert (failed.value.code, failed.value.retryable) == ("_MSG_TIMED_OUT", True)


@pytest.mark.parametrize("error", [RecordTooLargeError("large", "MSG_SIZE_TOO_LARGE"), InvalidClientConfigError("bad")])
async def test_what_never_succeeds_is_not_retryable(error: RecordTooLargeError | InvalidClientConfigError) -> None:
    """Every error of the room below is wrapped, and one that repeats for ever says so."""
    with pytest.raises(PublishError) as failed:
        await _publisher(FakeProducer({b"batch-778": error})).publish(_event())
    assert not failed.value.retryable
    assert failed.value.__cause__ is error


async def test_an_invalid_event_is_never_sent() -> None:
    """What breaks the contract is refused before it reaches the broker, by either name of the error."""
    producer = FakeProducer()
    with pytest.raises(EventRefusedError) as refused:
        await _publisher(producer).publish(_event(source="not a reference"))
    assert isinstance(refused.value, InvalidEventError)
    assert (refused.value.field, refused.value.retryable) == ("source", False)
    assert producer.sent == []


async def test_an_empty_subject_is_refused() -> None:
    """The key orders a subject's events, so there must be one."""
    event = Event(id="i", source="s", type="t", subject="", version=0, timestamp_ms=1, payload={})
    with pytest.raises(EventRefusedError):
        await _publisher(FakeProducer()).publish(event)


async def test_many_events_are_told_one_by_one() -> None:
    """A failed event does not hide what became of the others, and the order given is kept."""
    producer = FakeProducer({b"b": _TIMEOUT})
    events = [_event("a"), _event("b"), _event("a", source="not a reference"), _event("c")]
    results = await _publisher(producer).publish_many(events)
    assert [result.event for result in results] == events
    assert [type(result.error) for result in results] == [
        type(None),
        EventNotPublishedError,
        EventRefusedError,
        type(None),
    ]
    assert [result.acknowledgement is not None for result in results] == [True, False, False, True]
    assert [sent.key for sent in producer.sent] == [b"a", b"b", b"c"]


async def test_a_publisher_starts_and_closes_with_its_block() -> None:
    """The client is made on entry and emptied on exit, also when the block raises."""
    producer = FakeProducer()
    with pytest.raises(RuntimeError):
        async with _publisher(producer):
            raise RuntimeError
    assert (producer.started, producer.closed) == (1, 1)


async def test_every_publish_is_counted_by_its_result() -> None:
    """Confirmed, refused and failed events are told apart, and the source counts as enabled."""
    metrics = Metrics(domain="q")
    publisher = _publisher(FakeProducer({b"b": _TIMEOUT}), metrics)
    await publisher.publish_many([_event("a"), _event("b"), _event("a", source="not a reference")])
    labels = {"source": "submitqueue", "type": "batch.failed"}
    assert metrics.value("published_total", **labels, result="ok") == 1
    assert metrics.value("published_total", **labels, result="error") == 1
    assert metrics.value("published_total", source="not a reference", type="batch.failed", result="invalid") == 1
    assert metrics.value("publish_seconds_count") == 1
    assert metrics.value("hook_enabled", source="submitqueue") == 1
    assert not metrics.value("hook_enabled", source="not a reference")


@pytest.mark.parametrize("make", [HookPublisher, SyncHookPublisher])
def test_a_host_that_did_not_register_has_no_publisher(make: type[HookPublisher | SyncHookPublisher]) -> None:
    """A missing topic key is found when the host is wired, by name, and never skipped at publish."""
    with pytest.raises(TopicKeyMissingError) as missing:
        make(_CONFIG, TopicRegistry({"merge": "q-merge"}))
    assert (missing.value.key, missing.value.registered) == ("hook", ("merge",))


def test_a_registered_host_publishes_to_its_topic() -> None:
    """The key `hook` leads to the topic that the host registered."""
    registry = TopicRegistry({"hook": "q-hook"})
    assert "hook" in registry
    assert HookPublisher(_CONFIG, registry).topic == "q-hook"


def test_a_registry_does_not_change_with_its_source() -> None:
    """Registering is done once, in wiring."""
    topics = {"hook": "q-hook"}
    registry = TopicRegistry(topics)
    topics.clear()
    assert registry.topic("hook") == "q-hook"


@dataclass
class _Settings:
    config: ClientConfig
    topic: str

    def client_config(self) -> ClientConfig:
        return self.config

    def hook_topic(self) -> str:
        return self.topic


@pytest.mark.parametrize("make", [HookPublisher, SyncHookPublisher])
def test_a_publisher_is_made_from_settings(make: type[HookPublisher | SyncHookPublisher]) -> None:
    """Any settings that say how to reach Kafka and name the topic will do."""
    assert make.from_settings(_Settings(_CONFIG, "q-hook")).topic == "q-hook"


@pytest.mark.parametrize(
    "error",
    [
        EventNotPublishedError("id", "t", _TIMEOUT),
        EventRefusedError("source", "is no URI-reference"),
        TopicKeyMissingError("hook", ("a",)),
    ],
)
def test_errors_survive_pickling(error: PublishError) -> None:
    """An error that crosses a process comes out as it went in."""
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made on the line itself
    assert (type(copy), str(copy)) == (type(error), str(error))


def test_the_front_door_lists_what_exists() -> None:
    """Every exported name is there, in order."""
    assert all(hasattr(publish, name) for name in publish.__all__)
    assert publish.__all__ == sorted(publish.__all__)
