"""Another program: it writes CDEvents to Kafka as CloudEvents, and has never heard of hookline.

The CDEvents binding (github.com/cdevents/spec, cloudevents-binding.md) maps id, source, type, subject.id and timestamp
to the attributes of the same meaning; the data is the whole CDEvent as JSON.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from cloudevents.core.bindings.kafka import KafkaMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from confluent_kafka import KafkaException, Producer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cloudevents.core.base import BaseCloudEvent
    from confluent_kafka import KafkaError, Message

CDEvent: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["structured", "binary"]
MODES: Final[Sequence[Mode]] = ("structured", "binary")

_FLUSH_SECONDS: Final = 30.0


class NotWrittenError(Exception):
    """The broker did not confirm everything."""


def read_cdevents(folder: Path, mode: Mode) -> list[CDEvent]:
    """Read the CDEvents of a folder, each with an id of its own.

    The examples of the specification share two ids; a program that sends so many events owes each its own.
    """
    return [_renamed(json.loads(path.read_bytes()), f"{mode}/{path.stem}") for path in sorted(folder.glob("*.json"))]


def message_of(cdevent: CDEvent, mode: Mode) -> KafkaMessage:
    """Make the Kafka message of a CDEvent, its key the subject."""
    cloudevent = _cloudevent_of(cdevent)
    return (to_binary_event if mode == "binary" else to_structured_event)(cloudevent, key_mapper=_subject_of)


def write(bootstrap: str, topic: str, messages: Iterable[KafkaMessage]) -> None:
    """Write messages in order, all of them confirmed. Raises NotWrittenError."""
    failed: list[KafkaError] = []

    def reported(error: KafkaError | None, message: Message) -> None:
        del message
        failed.extend([error] if error else [])

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    try:
        for message in messages:
            producer.produce(
                topic, message.value, message.key, headers=list(message.headers.items()), on_delivery=reported
            )
        left = producer.flush(_FLUSH_SECONDS)
    except (KafkaException, BufferError) as error:
        raise NotWrittenError(f"cannot write to {topic}: {error}") from error
    if left or failed:
        raise NotWrittenError(f"{left + len(failed)} messages were not confirmed: {failed[:1] or 'no answer'}")


def _renamed(cdevent: CDEvent, name: str) -> CDEvent:
    return cdevent | {"context": cdevent["context"] | {"id": str(uuid5(NAMESPACE_URL, name))}}


def _cloudevent_of(cdevent: CDEvent) -> CloudEvent:
    context = cdevent["context"]
    attributes = {name: context[name] for name in ("id", "source", "type")} | {
        "specversion": "1.0",
        "subject": cdevent["subject"]["id"],
        "time": datetime.fromisoformat(context["timestamp"]),
        "datacontenttype": "application/json",
    }
    return CloudEvent(attributes, cdevent)


def _subject_of(event: BaseCloudEvent) -> str | None:
    return event.get_subject()
