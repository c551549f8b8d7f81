"""Why an event was not published.

    PublishError
    ├── EventRefusedError       the event must not go on the wire; also a contract.InvalidEventError
    ├── EventNotPublishedError  not confirmed by the broker; the cause is the kafka.KafkaClientError
    └── TopicKeyMissingError    the host has not registered the topic key it wants to publish under

A failed publish fails the stage: let it propagate. Publishing the same event again is safe; its id is the same, and
consumers drop repeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.contract import InvalidEventError
from hookline.kafka import ProduceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.kafka import KafkaClientError


class PublishError(Exception):
    """An event is not known to be published."""

    @property
    def retryable(self) -> bool:
        """Tell whether publishing the same event later may succeed."""
        return False


class EventRefusedError(PublishError, InvalidEventError):
    """The event breaks the contract; nothing was sent. `field` and `reason` say where and how."""


class EventNotPublishedError(PublishError):
    """The broker did not confirm the event. The outcome may be unknown, which counts as not published."""

    def __init__(self, event_id: str, topic: str, error: KafkaClientError) -> None:
        super().__init__(event_id, topic, error)
        self.event_id = event_id
        self.topic = topic
        self.error = error

    @property
    def code(self) -> str:
        """The client's or broker's name for the error; empty when it has none."""
        return self.error.code if isinstance(self.error, ProduceError) else ""

    @property
    def retryable(self) -> bool:
        """Tell whether publishing the same event later may succeed."""
        return isinstance(self.error, ProduceError) and self.error.retryable

    def __str__(self) -> str:
        return f"event {self.event_id} is not published to {self.topic}: {self.error}"


class TopicKeyMissingError(PublishError, LookupError):
    """A topic key is wanted that the host never registered. `key` names it."""

    def __init__(self, key: str, registered: Iterable[str]) -> None:
        self.key = key
        self.registered = tuple(registered)
        super().__init__(key, self.registered)

    def __str__(self) -> str:
        known = ", ".join(self.registered) or "none"
        return f'no topic is registered for the key "{self.key}" (registered: {known})'
