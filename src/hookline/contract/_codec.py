"""Records to events and back: every row of the reading table in docs/wire.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError

from hookline.contract import _media as media_types
from hookline.contract._cloudevents import structured_document
from hookline.contract._errors import InvalidEventError, MalformedRecordError
from hookline.contract._event import CORE_HEADERS, Event, event_of_foreign, make_event
from hookline.contract._foreign import invalid, load_json, read_foreign
from hookline.contract._headers import (
    PROTOBUF,
    Envelope,
    Headers,
    find_content_type,
    find_own_envelope,
    is_attribute_name,
    read_text,
)
from hookline.contract._payload import write_struct
from hookline.contract._readonly import EMPTY
from hookline.contract._redrives import Redrive
from hookline.contract._structured import parse_structured_json, parse_structured_protobuf
from hookline.contract._times import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, format_time
from hookline.contract._validation import MAX_VALUE_BYTES, validate_for_publishing
from hookline.contract.v1.hook_pb2 import HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EncodedRecord", "Mode", "decode_delivery", "decode_record", "encode_event"]

Mode = Literal["binary", "structured-json"]

_STRUCTURED_JSON: Final = b"application/cloudevents+json; charset=UTF-8"
_MANDATORY: Final = ("ce_specversion", "ce_id", "ce_source", "ce_type")
_HOOK_EVENTS: Final = media_types.HOOK_EVENT
_REGISTRY_MAGIC: Final = b"\x00"
_REGISTRY_PREFIX_BYTES: Final = 5


class EncodedRecord(NamedTuple):
    """What goes to the producer: key, value and headers."""

    key: bytes
    value: bytes
    headers: Headers


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_event(event: Event, mode: Mode = "binary") -> EncodedRecord:
    """Validate an event and write it as a record, its key the subject.

    `binary`: the value is the whole HookEvent, the headers say the same as CloudEvents attributes.
    `structured-json`: the value is one CloudEvents JSON document with the payload as its data. Deterministic: one
    event is always the same bytes. Raises InvalidEventError.
    """
    validate_for_publishing(event)
    record = _encode_binary(event) if mode == "binary" else _encode_structured(event)
    if len(record.value) > MAX_VALUE_BYTES:
        raise InvalidEventError("payload", f"makes a value of more than {MAX_VALUE_BYTES} bytes")
    return record


def _encode_binary(event: Event) -> EncodedRecord:
    message = HookEvent(
        id=event.id, source=event.source, type=event.type, timestamp_ms=event.timestamp_ms, version=event.version
    )
    write_struct(event.payload, message.payload)
    headers = [("ce_specversion", "1.0"), ("ce_id", event.id), ("ce_source", event.source), ("ce_type", event.type)]
    if event.timestamp_ms:
        headers.append(("ce_time", format_time(event.timestamp_ms)))
    headers.append(("ce_subject", event.subject))
    headers += [(f"ce_{name}", text) for name, text in event.attributes.items() if name != "datacontenttype"]
    encoded = tuple((name, text.encode()) for name, text in headers)
    value = message.SerializeToString(deterministic=True)
    return EncodedRecord(event.subject.encode(), value, (*encoded, ("content-type", PROTOBUF)))


def _encode_structured(event: Event) -> EncodedRecord:
    document = structured_document(event)
    value = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return EncodedRecord(event.subject.encode(), value, (("content-type", _STRUCTURED_JSON),))


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def decode_record(key: bytes | None, value: bytes | None, headers: Headers) -> Event:
    """Read a record of a hook topic as an event, by its content-type.

    Raises MalformedRecordError, and nothing else whatever the bytes are. Of a repeated header the last counts.
    The payload is only decoded when somebody reads it.
    """
    return _read(key, value, headers, find_own_envelope(headers))


def decode_delivery(key: bytes | None, value: bytes | None, headers: Headers) -> tuple[Event, Redrive | None]:
    """Read a record as decode_record does, and the Redrive of its headers; for a stage, which wants both of each record.

    Raises MalformedRecordError as decode_record does.
    """
    own = find_own_envelope(headers)
    return _read(key, value, headers, own), Redrive.from_headers(headers) if own is None else None


def _read(key: bytes | None, value: bytes | None, headers: Headers, own: Envelope | None) -> Event:
    """Read a record; `own` is its envelope when its headers are laid out as ours, which only saves searching them."""
    if value is not None and len(value) > MAX_VALUE_BYTES:
        raise MalformedRecordError("value_too_large", f"the value has more than {MAX_VALUE_BYTES} bytes")
    if own is not None:
        return _accept(_parse_message(_present(value)), key, own, EMPTY)
    content_type = find_content_type(headers)
    if content_type == PROTOBUF:
        return _accept(_parse_message(_present(value)), key, _envelope_of(dict(headers)), headers)
    if not content_type:
        return _read_unlabelled(key, value, headers)
    return _read_labelled(key, value, headers, read_text(content_type))


def _read_labelled(key: bytes | None, value: bytes | None, headers: Headers, content_type: str) -> Event:
    found, media = dict(headers), media_types.media_of(content_type)
    if media in _HOOK_EVENTS:
        return _accept(_parse_message(_present(value)), key, _envelope_of(found), headers)
    if media == media_types.HOOK_EVENT_JSON:
        return _accept(_parse_protojson(load_json(_present(value))), key, _envelope_of(found), headers)
    if media.startswith(media_types.BATCHES):
        raise MalformedRecordError("batch_not_supported", "Kafka has no batches: write one event a record")
    if media == media_types.STRUCTURED_JSON:
        return _read_structured(key, parse_structured_json(_present(value)))
    if media == media_types.STRUCTURED_PROTOBUF:
        return _read_structured(key, parse_structured_protobuf(_present(value)))
    if not media.startswith("application/cloudevents"):
        if _is_cloudevent(found):
            return _read_binary(key, value, found, content_type)
        if media == media_types.JSON:
            return _accept(_parse_protojson(load_json(_present(value))), key, _envelope_of(found), headers)
    raise MalformedRecordError(
        "unsupported_content_type",
        "no reading for this content-type without all of the ce_ headers that CloudEvents requires",
    )


def _read_unlabelled(key: bytes | None, value: bytes | None, headers: Headers) -> Event:
    """Read a record without content-type: HookEvent bytes, else protojson; with ce_ headers, else foreign data."""
    found = dict(headers)
    foreign = _is_cloudevent(found)
    if foreign and not value:
        return _read_binary(key, None, found, None)
    present = _present(value)
    message, problem = _try_message(present)
    if message is not None:
        return _accept(message, key, _envelope_of(found), headers)
    if foreign:
        return _read_guessed(key, present, found)
    if present.lstrip()[:1] == b"{":
        return _accept(_parse_protojson(load_json(present)), key, _envelope_of(found), headers)
    raise problem


def _try_message(value: bytes) -> tuple[HookEvent | None, MalformedRecordError]:
    try:
        message = _parse_message(value)
    except MalformedRecordError as error:
        return None, error
    complete = bool(message.id and message.source and message.type)
    return (message if complete else None), invalid("id, source or type is empty")


def _present(value: bytes | None) -> bytes:
    if value is None:
        raise MalformedRecordError("null_value", "the value is null")
    if not value:
        raise MalformedRecordError("empty_value", "the value has no bytes")
    return value


def _parse_message(value: bytes) -> HookEvent:
    try:
        return HookEvent.FromString(value)
    except DecodeError as error:
        framed = value.startswith(_REGISTRY_MAGIC) and len(value) > _REGISTRY_PREFIX_BYTES
        hint = "; it begins like schema-registry framing, which hook topics do not use" if framed else ""
        raise MalformedRecordError("decode_error", f"is no HookEvent in protobuf{hint}") from error


def _parse_protojson(document: Any) -> HookEvent:
    if not isinstance(document, dict):
        raise MalformedRecordError("decode_error", "is no HookEvent in protojson: no JSON object")
    try:
        return ParseDict(document, HookEvent(), ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise MalformedRecordError("decode_error", "is no HookEvent in protojson") from error


def _accept(
    message: HookEvent, key: bytes | None, envelope: Envelope, attributes: Headers | Mapping[str, str]
) -> Event:
    """Validate a HookEvent, hold it against the headers that repeat it, and make the event.

    `attributes` may be headers, to be looked through when somebody asks for them.
    """
    id, source, type, timestamp_ms = message.id, message.source, message.type, message.timestamp_ms
    if not (id and source and type):
        raise invalid("id, source or type is empty")
    if not MIN_TIMESTAMP_MS <= timestamp_ms <= MAX_TIMESTAMP_MS:
        raise invalid("timestamp_ms lies outside the years 1 to 9999")
    ce_id, ce_source, ce_type, ce_subject = envelope
    if ce_id is not None and ce_id != id.encode():
        raise _mismatch("ce_id")
    if ce_source is not None and ce_source != source.encode():
        raise _mismatch("ce_source")
    if ce_type is not None and ce_type != type.encode():
        raise _mismatch("ce_type")
    subject = ce_subject or key
    text = read_text(subject) if subject else ""
    return make_event(id, source, type, text, message.version, timestamp_ms, message, attributes)


def _envelope_of(found: Mapping[str, bytes | None]) -> Envelope:
    return found.get("ce_id"), found.get("ce_source"), found.get("ce_type"), found.get("ce_subject")


def _mismatch(name: str) -> MalformedRecordError:
    return MalformedRecordError("envelope_mismatch", f"the header {name} and the HookEvent differ")


def _is_cloudevent(found: Mapping[str, bytes | None]) -> bool:
    return all(found.get(name) is not None for name in _MANDATORY)


def _read_binary(
    key: bytes | None, data: bytes | None, found: Mapping[str, bytes | None], content_type: str | None
) -> Event:
    texts = _header_attributes(found)
    if content_type is not None:
        texts["datacontenttype"] = content_type
    return event_of_foreign(read_foreign(texts, data), _subject_of(key))


def _read_guessed(key: bytes | None, data: bytes, found: Mapping[str, bytes | None]) -> Event:
    """Read data that nothing describes: JSON, else text, else bytes."""
    texts = _header_attributes(found)
    try:
        return event_of_foreign(read_foreign(texts, data), _subject_of(key))
    except MalformedRecordError as error:
        if error.code != "decode_error":
            raise
    try:
        undescribed: object = data.decode()
    except UnicodeDecodeError:
        texts["datacontenttype"] = "application/octet-stream"
        undescribed = data
    return event_of_foreign(read_foreign(texts, undescribed), _subject_of(key))


def _header_attributes(found: Mapping[str, bytes | None]) -> dict[str, str]:
    return {
        name[3:]: _attribute_text(name, value)
        for name, value in found.items()
        if name.startswith("ce_") and value is not None and is_attribute_name(name[3:])
    }


def _attribute_text(name: str, value: bytes) -> str:
    if name not in CORE_HEADERS:
        return read_text(value)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"the header {name} is no UTF-8") from error


def _read_structured(key: bytes | None, parsed: tuple[dict[str, str], object]) -> Event:
    texts, data = parsed
    if not isinstance(data, bytes) or media_types.media_of(texts.get("datacontenttype", "")) not in _HOOK_EVENTS:
        return event_of_foreign(read_foreign(texts, data), _subject_of(key))
    read_foreign(texts, None)
    envelope = {f"ce_{name}": text.encode() for name, text in texts.items() if name != "datacontenttype"}
    return _accept(_parse_message(_present(data)), key, _envelope_of(envelope), tuple(envelope.items()))


def _subject_of(key: bytes | None) -> str:
    return read_text(key) if key else ""
