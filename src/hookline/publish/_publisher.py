"""Publishes hook events: returns when the broker has confirmed, or raises."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

from hookline.contract import HOOK_TOPIC_KEY, InvalidEventError, encode_event
from hookline.kafka import AcknowledgedProducer, KafkaClientError, TopicMissingError, describe_topics

from ._errors import EventNotPublishedError, EventRefusedError, PublishError
from ._registry import TopicRegistry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from hookline.contract import EncodedRecord, Event, Headers
    from hookline.kafka import Acknowledgement, ClientConfig
    from hookline.telemetry import Metrics

_CLOSE_SECONDS: Final = 10.0
_logger: Final = logging.getLogger("hookline.publish")


class PublisherSettings(Protocol):
    """What a publisher needs of the settings of a host."""

    def client_config(self) -> ClientConfig:
        """Return how to reach Kafka."""
        ...

    def hook_topic(self) -> str:
        """Return the hook topic's name."""
        ...


class Producer(Protocol):
    """What a publisher needs of a producer: `hookline.kafka.AcknowledgedProducer`, or a fake."""

    async def start(self) -> None:
        """Make ready."""
        ...

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Publish one record, confirmed; raises ProduceError."""
        ...

    async def close(self, timeout_seconds: float) -> int:
        """Finish, and tell how many records stayed unconfirmed."""
        ...


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What became of one event of `publish_many`: confirmed at `acknowledgement`, or failed with `error`."""

    event: Event
    acknowledgement: Acknowledgement | None
    error: PublishError | None


class HookPublisher:
    """Publishes events to the hook topic, keyed by subject. An async context manager.

    `topic` is the hook topic, or the registry of a host that opts in by the key `hook`; one that lacks the key raises
    TopicKeyMissingError at once. Made anywhere, also before a fork: the client starts with the first use. Safe for many
    tasks; their events share batches.
    """

    def __init__(
        self,
        client_config: ClientConfig,
        topic: str | TopicRegistry,
        *,
        metrics: Metrics | None = None,
        producer: Producer | None = None,
    ) -> None:
        self._client_config = client_config
        self._topic = topic.topic(HOOK_TOPIC_KEY) if isinstance(topic, TopicRegistry) else topic
        self._metrics = metrics
        self._producer: Producer = producer or AcknowledgedProducer(client_config.producer())
        self._sources: set[str] = set()

    @classmethod
    def from_settings(cls, settings: PublisherSettings, *, metrics: Metrics | None = None) -> Self:
        """Make a publisher for the domain that the settings describe."""
        return cls(settings.client_config(), settings.hook_topic(), metrics=metrics)

    @property
    def topic(self) -> str:
        """The topic published to."""
        return self._topic

    async def __aenter__(self) -> Self:
        await self._producer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def check(self, timeout_seconds: float = 10.0) -> None:
        """Find out whether the broker answers and the topic exists; publishes nothing and creates nothing.

        Raises BrokerUnreachableError or TopicMissingError, each naming what is missing.
        """
        found = await asyncio.to_thread(describe_topics, self._client_config, [self._topic], timeout_seconds)
        if self._topic not in found:
            where = self._client_config.bootstrap
            raise TopicMissingError(self._topic, f"topic {self._topic} does not exist at {where}, or may not be seen")

    async def publish(self, event: Event) -> Acknowledgement:
        """Publish an event; return where it lies, after the broker's confirmation.

        Raises EventRefusedError for an event that must not go on the wire, EventNotPublishedError when the broker did not
        confirm it. Ends within twice `delivery.timeout.ms`. Idempotent by the event's id: consumers drop repeats.
        """
        began = time.perf_counter()
        record = self._encode(event)
        try:
            acknowledgement = await self._producer.send(self._topic, record.key, record.value, record.headers)
        except KafkaClientError as error:
            self._count(event, "error")
            raise EventNotPublishedError(event.id, self._topic, error) from error
        self._count(event, "ok", time.perf_counter() - began)
        return acknowledgement

    async def publish_many(self, events: Iterable[Event]) -> list[PublishResult]:
        """Publish events together; tell for each, in the order given, what became of it. Raises for none.

        Events of one subject are queued in order. When one fails, those behind it may still be confirmed.
        """
        return list(await asyncio.gather(*(self._result(event) for event in events)))

    async def close(self, timeout_seconds: float = _CLOSE_SECONDS) -> int:
        """Wait for what is outstanding and end. Tells how many events stayed unconfirmed; their publish() raises."""
        unconfirmed = await self._producer.close(timeout_seconds)
        if unconfirmed:
            _logger.error("closed with %d unconfirmed events for %s", unconfirmed, self._topic)
        return unconfirmed

    async def _result(self, event: Event) -> PublishResult:
        try:
            return PublishResult(event, await self.publish(event), None)
        except PublishError as error:
            return PublishResult(event, None, error)

    def _encode(self, event: Event) -> EncodedRecord:
        try:
            return encode_event(event)
        except InvalidEventError as error:
            self._count(event, "invalid")
            raise EventRefusedError(error.field, error.reason) from error

    def _count(self, event: Event, result: str, seconds: float | None = None) -> None:
        if self._metrics is None:
            return
        self._metrics.published_total.inc(source=event.source, type=event.type, result=result)
        if seconds is not None:
            self._metrics.publish_seconds.observe(seconds)
        if result != "invalid" and event.source not in self._sources:
            self._sources.add(event.source)
            self._metrics.hook_enabled.set(1, source=event.source)
