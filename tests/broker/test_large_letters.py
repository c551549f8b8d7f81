"""A dead letter that does not fit: it gives up what is said about the failure, then headers, never key or value."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from hookline import Event, Hooks
from hookline.consume import DeadLetterWriter
from hookline.contract import DeadLetter, DeadLetterClass, HookFailure, Origin, Shrink, encode_event
from hookline.kafka import AcknowledgedProducer, ClientConfig, RecordTooLargeError
from hookline.service import Service, Settings
from tests.support.hooks import Acting
from tests.support.kafka import TestBroker
from tests.support.positions import positions
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from hookline.contract import Headers
    from tests.support.kafka import RealKafka

_LIMIT_BYTES = 100_000
_SLACK_BYTES = 1_000
_SECONDS = 60
_LARGE: Headers = (("ce_id", b"i"), ("a", None), ("a", b"x" * 20_000))
_FAILURE = HookFailure(
    hook="comment", verdict="infra", exception="builtins.ValueError", message="m" * 50_000, attempts=3,
    elapsed_seconds=1.0, code="hook_exception", causes=("c" * 10_000,) * 20,
)  # fmt: skip  # one value


def _letter(value: bytes) -> DeadLetter:
    return DeadLetter.of_record(
        b"k", value, _LARGE, source=Origin("t", 0, 7), group="g", delivery_count=3, letter_class=DeadLetterClass.EXHAUSTED,
        code="hook_exception", message="m" * 5_000, failed_at_ms=1, failures=(_FAILURE,),
    )  # fmt: skip  # one value


def _fitting(shrink: Shrink) -> DeadLetter:
    """Make a letter that fits the limit when shrunk so far, and not before."""
    sizes = {step: _size_of(_letter(b"").record_headers(step)) for step in Shrink}
    assert all(sizes[step] > sizes[shrink] + _SLACK_BYTES for step in Shrink if step.value < shrink.value)
    return _letter(b"v" * (_LIMIT_BYTES - sizes[shrink] - _SLACK_BYTES))


def _size_of(headers: Headers) -> int:
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)


def _places(request: pytest.FixtureRequest, limit: str) -> tuple[TestBroker, str, AcknowledgedProducer]:
    """Give a broker, a topic and a producer, one of which takes records up to the limit only."""
    kafka: RealKafka = request.getfixturevalue("terse_kafka" if limit == "broker" else "real_kafka")
    config = {"max_message_bytes": _LIMIT_BYTES} if limit == "topic" else {}
    options = {"message.max.bytes": _LIMIT_BYTES} if limit == "producer" else {}
    client = ClientConfig(common={"bootstrap.servers": kafka.bootstrap}, producer=options)
    return TestBroker(kafka), kafka.fresh_topic(partitions=1, **config), AcknowledgedProducer(client.producer())


@pytest.mark.real_broker
@pytest.mark.parametrize("limit", ["topic", "producer", "broker"])
@pytest.mark.parametrize("shrink", [Shrink.FAILURE, Shrink.BARE], ids=lambda shrink: shrink.name.lower())
async def test_a_letter_shrinks_until_it_fits(request: pytest.FixtureRequest, limit: str, shrink: Shrink) -> None:
    """P1, P14, cases: too-big-for-dlq. First the failure is cut, then headers that its reading does not need; and it says so."""
    broker, topic, producer = _places(request, limit)
    letter = _fitting(shrink)
    await DeadLetterWriter(producer, topic).write(letter)
    assert await producer.close(10) == 0
    (record,) = broker.read(topic)
    written = DeadLetter.from_record(record.key, record.value, record.headers)
    assert (written.key, written.value, written.source) == (letter.key, letter.value, letter.source)
    assert (written.truncated, written.dropped_headers) == (True, shrink is Shrink.BARE)
    assert written.headers == (_LARGE if shrink is Shrink.FAILURE else _LARGE[:1])
    assert [failure.hook for failure in written.failures] == ["comment"]


@pytest.mark.real_broker
@pytest.mark.parametrize("limit", ["topic", "producer", "broker"])
async def test_a_letter_that_can_never_fit_is_refused(request: pytest.FixtureRequest, limit: str) -> None:
    """P1, cases: too-big-for-dlq. Whether the client or the broker says so, its writing raises and nothing is written."""
    broker, topic, producer = _places(request, limit)
    with pytest.raises(RecordTooLargeError):
        await DeadLetterWriter(producer, topic).write(_letter(b"v" * _LIMIT_BYTES))
    assert await producer.close(10) == 0
    assert broker.read(topic) == []


async def test_a_letter_that_does_not_fit_is_held_until_the_limit_is_raised(real_kafka: RealKafka) -> None:
    """P1, P5, cases: too-big-for-dlq. Its partition brakes and stays uncommitted, readiness is off; raised, it is written."""
    domain = TestBroker(real_kafka).domain(partitions=1)
    hook_topic, dead_topic = f"{domain}-hook", f"{domain}-hook_dlq"
    await _limit(real_kafka, dead_topic, _LIMIT_BYTES)
    settings = Settings.model_validate(
        {
            "domain": domain,
            "kafka": {"common": {"bootstrap.servers": real_kafka.bootstrap}},
            "http": {"listen": "127.0.0.1:0"},
        }
    )
    service, threshold = Service(settings, Hooks({"*": [Acting("wrong", _fail)]})), gc.get_threshold()
    payload = {"text": "v" * (2 * _LIMIT_BYTES)}
    record = encode_event(Event.versioned(source="s", type="t", subject="large", version=1, payload=payload))
    await service.start()
    try:
        await eventually_async(service.ready, _SECONDS, what="ready")
        sent = real_kafka.send(hook_topic, record.key, record.value, record.headers)
        await eventually_async(
            lambda: service.metrics.value("dead_letter_held", group=hook_topic) == 1, _SECONDS, what="it is held"
        )
        await eventually_async(
            lambda: service.metrics.value("paused_partitions", group=hook_topic) == 1, _SECONDS, what="it brakes"
        )
        assert not service.ready()
        assert (await asyncio.to_thread(positions, real_kafka, hook_topic, hook_topic))[0][0] == sent.offset
        await _limit(real_kafka, dead_topic, 4 * _LIMIT_BYTES)
        await eventually_async(
            lambda: service.metrics.value("dead_letter_held", group=hook_topic) == 0, _SECONDS, what="it is written"
        )
        await eventually_async(service.ready, _SECONDS, what="ready again")
    finally:
        await service.stop()
        gc.unfreeze()
        gc.set_threshold(*threshold)
    assert [letter.value for letter in real_kafka.read(dead_topic)] == [record.value]
    assert real_kafka.settled(hook_topic, hook_topic)


async def _fail(_: Event) -> None:
    raise ValueError("it never works")


async def _limit(kafka: RealKafka, topic: str, size_bytes: int) -> None:
    """Set how large a record of a topic may be."""
    entry = ConfigEntry("max.message.bytes", str(size_bytes), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    await asyncio.to_thread(kafka.admin.incremental_alter_configs([resource])[resource].result, _SECONDS)
