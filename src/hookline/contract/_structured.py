"""Reading structured mode: one document holds the whole CloudEvent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from hookline.contract._cloudevents import attribute_text
from hookline.contract._errors import MalformedRecordError
from hookline.contract._foreign import MAX_INTEGER, MIN_INTEGER, invalid, load_json, read_base64
from hookline.contract._media import is_json, media_of
from hookline.contract.v1.cloudevent_pb2 import CloudEvent
from hookline.contract.v1.hook_pb2 import HookEvent

if TYPE_CHECKING:
    from google.protobuf.any_pb2 import Any as ProtoAny
    from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["parse_structured_json", "parse_structured_protobuf"]

Parsed = tuple[dict[str, str], object]

_HOOK_EVENT_NAME: Final = HookEvent.DESCRIPTOR.full_name
_TEXT_KINDS: Final = frozenset({"ce_string", "ce_uri", "ce_uri_ref"})
_KINDS_OF_CORE: Final = {
    "datacontenttype": frozenset({"ce_string"}),
    "dataschema": frozenset({"ce_uri", "ce_string"}),
    "subject": frozenset({"ce_string"}),
    "time": frozenset({"ce_timestamp", "ce_string"}),
}
_CORE: Final = frozenset({"specversion", "id", "source", "type", *_KINDS_OF_CORE})


def parse_structured_json(value: bytes) -> Parsed:
    """Return (attributes as text, data) of a CloudEvent in the JSON format; data as read_foreign takes it."""
    document = load_json(value)
    if not isinstance(document, dict):
        raise invalid("a structured CloudEvent is one JSON object")
    data, encoded = document.pop("data", None), document.pop("data_base64", None)
    if data is not None and encoded is not None:
        raise invalid("data and data_base64 exclude each other")
    texts = {name: _json_attribute(name, member) for name, member in document.items() if member is not None}
    return texts, data if encoded is None else read_base64(encoded)


def _json_attribute(name: str, member: Any) -> str:
    if name in _CORE and not isinstance(member, str):
        raise invalid(f"the CloudEvents attribute {name} is no string")
    if not isinstance(member, str | int):
        raise invalid("a CloudEvents attribute is no string, integer or boolean")
    if isinstance(member, int) and not MIN_INTEGER <= member <= MAX_INTEGER:
        raise invalid("a CloudEvents attribute is an integer beyond 32 bits")
    return attribute_text(member)


def parse_structured_protobuf(value: bytes) -> Parsed:
    """Return (attributes as text, data) of a CloudEvent in the protobuf format; data as read_foreign takes it."""
    try:
        event = CloudEvent.FromString(value)
    except DecodeError as error:
        raise MalformedRecordError("decode_error", "is no CloudEvent in the protobuf format") from error
    texts = {"specversion": event.spec_version, "id": event.id, "source": event.source, "type": event.type}
    for name, attribute in event.attributes.items():
        if name in texts:
            raise invalid(f"the CloudEvents attribute {name} stands among the optional ones")
        texts[name] = _protobuf_attribute(name, attribute)
    return texts, _protobuf_data(event, texts)


def _protobuf_attribute(name: str, attribute: CloudEvent.CloudEventAttributeValue) -> str:
    kind = attribute.WhichOneof("attr")
    if kind is None:
        raise invalid("a CloudEvents attribute has no value")
    if kind not in _KINDS_OF_CORE.get(name, {kind}):
        raise invalid(f"the CloudEvents attribute {name} has the wrong type")
    if kind == "ce_timestamp":
        return _timestamp_text(attribute.ce_timestamp)
    if kind == "ce_boolean":
        return attribute_text(attribute.ce_boolean)
    if kind == "ce_integer":
        return str(attribute.ce_integer)
    return attribute_text(attribute.ce_bytes) if kind == "ce_bytes" else _text_attribute(attribute)


def _text_attribute(attribute: CloudEvent.CloudEventAttributeValue) -> str:
    return attribute.ce_string or attribute.ce_uri or attribute.ce_uri_ref


def _timestamp_text(timestamp: Timestamp) -> str:
    try:
        return timestamp.ToJsonString()
    except ValueError as error:
        raise invalid("a CloudEvents timestamp lies outside the years 1 to 9999") from error


def _protobuf_data(event: CloudEvent, texts: dict[str, str]) -> object:
    kind = event.WhichOneof("data")
    if kind is None:
        return None
    if kind == "binary_data":
        return event.binary_data
    if kind == "proto_data":
        return _message_data(event.proto_data, texts)
    if is_json(media_of(texts.get("datacontenttype", ""))):
        return event.text_data.encode()
    return event.text_data


def _message_data(packed: ProtoAny, texts: dict[str, str]) -> bytes:
    """Keep a packed message as its bytes, named by its type: HookEvent is read, any other stays base64."""
    ours = packed.type_url.rpartition("/")[2] == _HOOK_EVENT_NAME
    texts["datacontenttype"] = "application/protobuf" if ours else "application/x-protobuf-any"
    return packed.value
