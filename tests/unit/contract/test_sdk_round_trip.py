"""The CloudEvents SDK as an outside reader and writer."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import jsonschema
import pytest
from cloudevents.core.bindings import kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given

from hookline.contract import Event, Headers, HookEvent, InvalidEventError, decode_record, encode_event
from tests.unit.contract.samples import events, foreign_headers, load_json, reencode, sample_event

SCHEMA = load_json("cloudevents-spec/formats-1.0.2/cloudevents.json")
OURS = {"specversion": "1.0", "id": "i", "source": "s", "type": "t"}


def written_by_sdk(event: CloudEvent, *, structured: bool) -> tuple[bytes | None, bytes, Headers]:
    """Return the record that the SDK writes."""
    write = kafka.to_structured if structured else kafka.to_binary
    message = write(event, JSONFormat())
    headers = {name: _bytes(data) for name, data in message.headers.items()}
    return None, _bytes(message.value), tuple(headers.items())


def _bytes(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode()


def read_by_sdk(event: Event, mode: Any) -> CloudEvent:
    """Return what the SDK reads from our record."""
    record = encode_event(event, mode)
    message = kafka.KafkaMessage(
        headers={name: data or b"" for name, data in record.headers}, key=None, value=record.value
    )
    read = kafka.from_structured if mode == "structured-json" else kafka.from_binary
    made: Any = read(message, JSONFormat(), CloudEvent)
    return made  # type: ignore[no-any-return]  # the SDK's factory is untyped


@pytest.mark.parametrize("structured", [False, True])
def test_reads_what_the_sdk_writes(structured: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """A CloudEvent that the SDK writes, in either mode, is read whole."""
    time = datetime(2026, 11, 30, 10, 0, 0, 123000, tzinfo=UTC)
    attributes = OURS | {"time": time, "subject": "k", "datacontenttype": "application/json", "extra": "x"}
    read = decode_record(*written_by_sdk(CloudEvent(attributes, {"a": [1, "é"]}), structured=structured))
    assert read == Event(
        id="i", source="s", type="t", subject="k", timestamp_ms=1796032800123, payload={"a": [1, "é"]},
        attributes={"datacontenttype": "application/json", "extra": "x"},
    )  # fmt: skip  # one value


def test_sdk_reads_our_binary_record() -> None:
    """The SDK reads our default record: attributes from the headers, the whole HookEvent as data."""
    event = sample_event()
    read = read_by_sdk(event, "binary")
    data: Any = read.get_data()
    value = data.encode() if isinstance(data, str) else data  # the SDK turns bytes that are UTF-8 into text
    assert HookEvent.FromString(value).id == read.get_id() == event.id
    assert (read.get_source(), read.get_type(), read.get_subject()) == (event.source, event.type, event.subject)
    assert read.get_time() == datetime(2024, 8, 4, 19, 33, 32, 345000, tzinfo=UTC)


def test_sdk_reads_our_structured_record() -> None:
    """The SDK reads our structured record, the payload as its data."""
    read = read_by_sdk(sample_event(), "structured-json")
    assert read.get_data() == sample_event().payload
    assert read.get_attributes()["subjectversion"] == 4


@given(events())
def test_cloudevent_round_trip(event: Event) -> None:
    """An event becomes a CloudEvent of the SDK and comes back equal, its version too."""
    back = Event.from_cloudevent(event.to_cloudevent())
    assert event_without_type(back) == event_without_type(event)


@given(events())
def test_structured_json_round_trip(event: Event) -> None:
    """An event written in structured mode is read equal."""
    read = decode_record(*encode_event(event, "structured-json"))
    assert event_without_type(read) == event_without_type(event)


@given(events())
def test_structured_json_is_valid(event: Event) -> None:
    """Every structured record is valid by the JSON schema of CloudEvents 1.0.2."""
    jsonschema.validate(json.loads(encode_event(event, "structured-json").value), SCHEMA)


def event_without_type(event: Event) -> dict[str, Any]:
    """Return what an event carries, less the datacontenttype that a foreign form names."""
    attributes = {name: text for name, text in event.attributes.items() if name != "datacontenttype"}
    fields = (event.id, event.source, event.type, event.subject, event.version, event.timestamp_ms)
    return {"fields": fields, "payload": event.payload, "attributes": attributes}


def test_unset_time_stays_unset() -> None:
    """An unset timestamp makes no time, where the SDK would invent the current one."""
    event = sample_event(timestamp_ms=0)
    assert event.to_cloudevent().get_time() is None
    assert "time" not in json.loads(encode_event(event, "structured-json").value)
    assert Event.from_cloudevent(event.to_cloudevent()).timestamp_ms == 0


def test_data_may_be_changed() -> None:
    """The data of a CloudEvent is a plain dict of its own."""
    event = sample_event()
    data: Any = event.to_cloudevent().get_data()
    data["batch_id"] = "other"
    assert event.payload["batch_id"] == "batch-778"


@pytest.mark.parametrize(
    ("content_type", "value", "data"),
    [
        ("text/plain", b"hi", "hi"),
        ("application/octet-stream", b"\xff", b"\xff"),
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/json", b"[1]", {"data": [1]}),
    ],
)
def test_foreign_data_goes_out_as_it_came(content_type: str, value: bytes, data: object) -> None:
    """Text and bytes of a foreign event are text and bytes again for an HTTP receiver."""
    event = decode_record(None, value, foreign_headers(content_type))
    made = event.to_cloudevent()
    assert (made.get_datacontenttype(), made.get_data()) == (content_type, data)


def test_foreign_bytes_in_structured_mode() -> None:
    """Bytes of a foreign event travel as data_base64."""
    event = decode_record(b"k", b"\xff", foreign_headers("application/octet-stream"))
    document = json.loads(encode_event(event, "structured-json").value)
    assert base64.b64decode(document["data_base64"]) == b"\xff"


def test_foreign_event_in_our_binary_mode() -> None:
    """A foreign event can be published again as a HookEvent; its data is the payload."""
    event = decode_record(b"k", b"hi", foreign_headers("text/plain"))
    again = reencode(event)
    assert (again.identity, again.payload, again.attributes) == (event.identity, {"data": "hi"}, {})


@pytest.mark.parametrize(
    ("attributes", "data"),
    [
        (OURS | {"recorded": object()}, None),
        (OURS | {"recorded": datetime(2026, 11, 30, 10)}, None),  # noqa: DTZ001  # a naive time is the point
        (OURS | {"recorded": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, None),
        (OURS | {"datacontenttype": "xyz"}, None),
        (OURS | {"datacontenttype": "application/json"}, b"{"),
        (OURS | {"subjectversion": 2**31}, None),
    ],
)
def test_cloudevent_that_is_no_event(attributes: dict[str, Any], data: Any) -> None:
    """A CloudEvent of the SDK that breaks the rules, which the SDK lets pass, is refused."""
    with pytest.raises(InvalidEventError):
        Event.from_cloudevent(CloudEvent(dict(attributes), data))


def test_typed_attributes_of_the_sdk() -> None:
    """Booleans, integers, bytes and times of the SDK are spelled as the Kafka binding spells them."""
    typed = {"flag": True, "number": 5, "raw": b"Ma", "moment": datetime(2026, 11, 30, 10, tzinfo=UTC)}
    read = Event.from_cloudevent(CloudEvent(OURS | typed, None))
    assert read.attributes == {"flag": "true", "number": "5", "raw": "TWE=", "moment": "2026-11-30T10:00:00Z"}
