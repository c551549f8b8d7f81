"""Events as CloudEvents of the SDK, and as the JSON format."""

from __future__ import annotations

import base64
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cloudevents.core.v1.event import CloudEvent

from hookline.contract._errors import InvalidEventError, MalformedRecordError
from hookline.contract._foreign import VERSION_ATTRIBUTE, ForeignEvent, read_base64, read_foreign
from hookline.contract._media import JSON, is_json, is_text, media_of
from hookline.contract._times import format_time, to_datetime

if TYPE_CHECKING:
    from hookline.contract._event import Event

__all__ = ["attribute_text", "build_cloudevent", "read_cloudevent", "structured_document"]

Data: TypeAlias = "dict[str, Any] | str | bytes"

_RESERVED: Final = frozenset({"specversion", "id", "source", "type", "subject", "time", VERSION_ATTRIBUTE})


def build_cloudevent(event: Event) -> CloudEvent:
    """Return the event as a CloudEvent of the SDK; see Event.to_cloudevent."""
    media, data = _data_of(event)
    attributes = _attributes_of(event, media)
    if event.timestamp_ms:
        attributes["time"] = to_datetime(event.timestamp_ms)
        return CloudEvent(attributes, data)
    cloudevent = CloudEvent(attributes, data)
    cloudevent.get_attributes().pop("time")  # the SDK invents the current time, another at each call
    return cloudevent


def structured_document(event: Event) -> dict[str, Any]:
    """Return the event in the CloudEvents JSON format, as a document for json.dumps."""
    media, data = _data_of(event)
    document = _attributes_of(event, media)
    if event.timestamp_ms:
        document["time"] = format_time(event.timestamp_ms)
    if isinstance(data, bytes):
        return document | {"data_base64": base64.b64encode(data).decode("ascii")}
    return document | {"data": data}


def read_cloudevent(cloudevent: CloudEvent) -> ForeignEvent:
    """Read a CloudEvent of the SDK; see Event.from_cloudevent."""
    try:
        texts = {
            name: attribute_text(value) for name, value in cloudevent.get_attributes().items() if value is not None
        }
        return read_foreign(texts, cloudevent.get_data())
    except MalformedRecordError as error:
        raise InvalidEventError("cloudevent", error.reason) from error


def attribute_text(value: object) -> str:
    """Spell an attribute as the Kafka binding does; raises MalformedRecordError on a value of no CloudEvents type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _moment_text(value)
    raise MalformedRecordError("invalid_event", "a CloudEvents attribute has a value of no CloudEvents type")


def _moment_text(moment: datetime) -> str:
    try:
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError as error:
        raise MalformedRecordError(
            "invalid_event", "a CloudEvents timestamp lies outside the years 1 to 9999"
        ) from error


def _attributes_of(event: Event, content_type: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {"specversion": "1.0", "id": event.id, "source": event.source, "type": event.type}
    if event.subject:
        attributes["subject"] = event.subject
    if event.version:
        attributes[VERSION_ATTRIBUTE] = event.version
    others = {name: text for name, text in event.attributes.items() if name not in _RESERVED}
    return attributes | others | {"datacontenttype": content_type}


def _data_of(event: Event) -> tuple[str, Data]:
    """Undo what reading did to data that was no JSON object: text and bytes become themselves again."""
    content_type = event.attributes.get("datacontenttype", JSON)
    payload, media = event.payload, media_of(content_type)
    if is_json(media):
        return content_type, deepcopy(payload)  # type: ignore[return-value]  # a read-only dict copies to a dict
    if payload.keys() == {"data"} and is_text(media):
        return content_type, str(payload["data"])
    if payload.keys() == {"data_base64"}:
        return content_type, read_base64(payload["data_base64"])
    return JSON, deepcopy(payload)  # type: ignore[return-value]  # the same
