"""Structured protobuf beyond the conformance files: data, typed attributes, packed messages."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as ProtoAny
from google.protobuf.timestamp_pb2 import Timestamp

from hookline.contract import decode_record
from hookline.contract.v1.cloudevent_pb2 import CloudEvent
from tests.unit.contract.samples import code_of, labelled, sample_value

HEADERS = labelled("application/cloudevents+protobuf")
Value = CloudEvent.CloudEventAttributeValue


def event(content_type: str | None = None, attributes: dict[str, Any] | None = None, **data: Any) -> bytes:
    """Write a CloudEvent of identity ("s", "i") in the protobuf format."""
    described = {} if content_type is None else {"datacontenttype": Value(ce_string=content_type)}
    return CloudEvent(
        id="i", source="s", spec_version="1.0", type="t", attributes=described | (attributes or {}), **data
    ).SerializeToString()


@pytest.mark.parametrize(
    ("content_type", "data", "payload"),
    [
        (None, {}, {}),
        ("application/json", {"binary_data": b'{"a": 1}'}, {"a": 1}),
        ("application/json", {"text_data": '{"a": 1}'}, {"a": 1}),
        (None, {"text_data": "[1]"}, {"data": [1]}),
        ("text/plain", {"binary_data": b"hi"}, {"data": "hi"}),
        ("text/plain", {"text_data": "hi"}, {"data": "hi"}),
        ("application/avro", {"binary_data": b"\xff"}, {"data_base64": "/w=="}),
        (
            None,
            {"proto_data": ProtoAny(type_url="type.googleapis.com/other.v1.Thing", value=b"\x08\x01")},
            {"data_base64": "CAE="},
        ),
    ],
)
def test_data(content_type: str | None, data: dict[str, Any], payload: object) -> None:
    """Data reads as in binary mode; a packed message of another type stays bytes."""
    assert decode_record(None, event(content_type, **data), HEADERS).payload == payload


@pytest.mark.parametrize(
    "data",
    [
        {"proto_data": ProtoAny(type_url="type.googleapis.com/hookline.v1.HookEvent", value=sample_value())},
        {"binary_data": sample_value(), "content_type": "application/protobuf"},
    ],
)
def test_hook_event_inside(data: dict[str, Any]) -> None:
    """A HookEvent inside, packed or as bytes, is read as one."""
    read = decode_record(None, event(**data), HEADERS)
    assert (read.identity, read.version, read.timestamp_ms) == (("s", "i"), 1, 5)


def test_hook_event_inside_must_agree() -> None:
    """A HookEvent that contradicts its envelope is malformed here too."""
    assert (
        code_of(None, event("application/protobuf", binary_data=sample_value(id="other")), HEADERS)
        == "envelope_mismatch"
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"\xff", "decode_error"),
        (b"", "empty_value"),
        (event("application/json", binary_data=b"{"), "decode_error"),
        (event(attributes={"id": Value(ce_string="x")}), "invalid_event"),
        (event(attributes={"ext": Value()}), "invalid_event"),
        (event(attributes={"time": Value(ce_timestamp=Timestamp(seconds=2**60))}), "invalid_event"),
        (event(attributes={"ext": Value(ce_timestamp=Timestamp(seconds=-(2**60)))}), "invalid_event"),
        (event("application/protobuf", binary_data=b"\xff"), "decode_error"),
        (event("application/protobuf", binary_data=b""), "empty_value"),
    ],
)
def test_refused(value: bytes, code: str) -> None:
    """P12. What breaks CloudEvents, or cannot be represented, is malformed."""
    assert code_of(None, value, HEADERS) == code
