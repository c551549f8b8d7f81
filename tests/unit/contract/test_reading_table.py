"""Every row of the reading table, and every code with which a record is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookline.contract import MAX_VALUE_BYTES, Event, Headers, HookEvent, decode_record, encode_event
from tests.unit.contract.samples import code_of, foreign_headers, labelled, sample_event, sample_value

PROTOJSON = {"id": "i", "source": "s", "type": "t", "timestamp_ms": "5", "version": 1}
STRUCTURED = {"specversion": "1.0", "id": "i", "source": "s", "type": "t"}
AGREEING = {"ce_id": b"i", "ce_source": b"s", "ce_type": b"t"}


def body(document: object) -> bytes:
    """Write JSON."""
    return json.dumps(document).encode()


def payload_of(value: bytes | None, headers: Headers) -> Any:
    """Return the payload of a record."""
    return decode_record(b"k", value, headers).payload


# ── HookEvent bytes ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content_type",
    [
        "application/protobuf",
        "application/x-protobuf",
        "APPLICATION/Protobuf",
        "application/protobuf; version=1",
        " application/x-protobuf ;a=b",
    ],
)
def test_hook_event_bytes(content_type: str) -> None:
    """application/protobuf and its old alias are HookEvent bytes; case and parameters do not matter."""
    assert decode_record(b"k", sample_value(), labelled(content_type, **AGREEING)).identity == ("s", "i")


@pytest.mark.parametrize("name", ["content-type", "Content-Type", "CONTENT-TYPE"])
def test_header_name_in_any_case(name: str) -> None:
    """The name of the content-type header is compared without regard to case."""
    assert code_of(b"k", sample_value(), ((name, b"text/plain"),)) == "unsupported_content_type"


@pytest.mark.parametrize("name", ["CE_ID", "Ce_id", "ce-id", " ce_id"])
def test_other_header_names_are_exact(name: str) -> None:
    """Every other header name is compared exactly: these are not ce_id."""
    assert decode_record(b"k", sample_value(), ((name, b"other"), *labelled("application/protobuf"))).id == "i"


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_type"])
@pytest.mark.parametrize(
    "content_type", ["application/protobuf", "application/x-protobuf", "application/protobuf+json", None]
)
@pytest.mark.parametrize("header", [b"other", b"", b"\xff"])
def test_envelope_mismatch(name: str, content_type: str | None, header: bytes) -> None:
    """A header that contradicts the body makes the record malformed, in every form that carries a HookEvent (H7)."""
    value = body(PROTOJSON) if content_type == "application/protobuf+json" else sample_value()
    headers = labelled(content_type, **{name: header}) if content_type else ((name, header),)
    assert code_of(b"k", value, headers) == "envelope_mismatch"


def test_last_header_wins() -> None:
    """Of a repeated header the last counts, for the envelope, the subject and the content-type."""
    headers = (
        ("content-type", b"text/plain"), ("ce_id", b"other"), ("ce_subject", b"one"),
        ("ce_id", b"i"), ("ce_subject", b"two"), ("Content-Type", b"application/protobuf"),
    )  # fmt: skip  # pairs
    assert decode_record(b"k", sample_value(), headers).subject == "two"


def test_null_header_is_absent() -> None:
    """cases: header-fidelity. A header without a value says nothing."""
    headers: Headers = (("ce_id", None), ("ce_subject", None), ("content-type", None))
    assert decode_record(b"k", sample_value(), headers).subject == "k"


@pytest.mark.parametrize(
    "headers", [(("a", b"\xc3\x28"),), (("a", None), ("a", b""), ("a", b"\xff"), ("n\u00e9", b"x"))]
)
def test_foreign_headers_do_not_matter(headers: Headers) -> None:
    """cases: minor, non-UTF-8 header. A foreign header of any bytes does not fail the event."""
    assert decode_record(b"\xff\xfe", sample_value(), headers).subject == "%FF%FE"


# ── bytes that parse ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("content_type", ["application/protobuf", None])
@pytest.mark.parametrize(
    ("value", "codes"),
    [
        (b"", {"empty_value"}),
        (None, {"null_value"}),
        (b"xxxx", {"invalid_event"}),
        (bytes.fromhex("2a0161"), {"invalid_event"}),
        (b"data", {"decode_error"}),
        (b"hello", {"decode_error"}),
        (b"\x00", {"decode_error"}),
        (b"\xff\xfe", {"decode_error"}),
        (b'{"a": 1}', {"decode_error", "invalid_event"}),
        (b"[]", {"decode_error"}),
        (b"\x0a\x02\xc3\x28", {"decode_error"}),
        (sample_value(id=""), {"invalid_event"}),
        (sample_value(source=""), {"invalid_event"}),
        (sample_value(type=""), {"invalid_event"}),
        (b"\x00\x00\x00\x00\x07\x00" + sample_value(), {"decode_error"}),
    ],
)
def test_bytes_that_parse(value: bytes | None, codes: set[str], content_type: str | None) -> None:
    """P12, cases: bytes-that-parse. Garbage, empty and incomplete values are malformed, also where protobuf parses."""
    headers = labelled(content_type) if content_type else ()
    assert code_of(b"k", value, headers) in codes


def test_truncation_is_never_another_event() -> None:
    """P12, cases: bytes-that-parse. A cut value is malformed, or still says who it is; never an event without identity."""
    value = encode_event(sample_event()).value
    identity = sample_event().identity
    for length in range(len(value)):
        headers = labelled("application/protobuf")
        if not code_of(b"k", value[:length], headers):
            assert decode_record(b"k", value[:length], headers).identity == identity


def test_unknown_fields_are_tolerated() -> None:
    """A field that a later version adds does not make an event malformed: evolution is additive (H1)."""
    assert decode_record(b"k", sample_value() + b"\x7a\x01x", labelled("application/protobuf")).id == "i"


@pytest.mark.parametrize("timestamp_ms", [2**63 - 1, -(2**63), 253402300800000, -62135596800001, 1700000000000000])
def test_timestamps_that_nobody_can_represent(timestamp_ms: int) -> None:
    """cases: timestamps. An absurd timestamp is malformed, not a crash in a log line."""
    assert code_of(b"k", sample_value(timestamp_ms=timestamp_ms), ()) == "invalid_event"


@pytest.mark.parametrize("timestamp_ms", [0, -1, 1700000000])
def test_timestamps_that_can_be_represented(timestamp_ms: int) -> None:
    """cases: timestamps. Zero is unset, seconds are a time in 1970: nobody can tell, so they are read."""
    assert decode_record(b"k", sample_value(timestamp_ms=timestamp_ms), ()).timestamp_ms == timestamp_ms


@pytest.mark.parametrize(("key", "value"), [(b"k", None), (None, None), (b"k", b"")])
def test_tombstones_are_malformed(key: bytes | None, value: bytes | None) -> None:
    """P12, cases: tombstone-everywhere. A null or empty value is malformed, each under a code of its own."""
    assert code_of(key, value, ()) == ("null_value" if value is None else "empty_value")


@pytest.mark.parametrize("key", [None, b""])
def test_null_and_empty_keys_are_read(key: bytes | None) -> None:
    """cases: tombstone-everywhere. An event under a null or an empty key is an event; its subject is empty."""
    assert decode_record(key, sample_value(), ()).subject == ""


def test_too_large() -> None:
    """A value that no consumer should parse is refused before it is parsed."""
    assert code_of(b"k", bytes(MAX_VALUE_BYTES + 1), labelled("application/protobuf")) == "value_too_large"


# ── protojson ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content_type", ["application/protobuf+json", "application/json", "application/JSON; charset=utf-8", None]
)
@pytest.mark.parametrize(
    "document",
    [
        PROTOJSON,
        PROTOJSON | {"added_later": {"x": 1}},
        {"id": "i", "source": "s", "type": "t", "timestampMs": 5, "version": 1},
    ],
)
def test_protojson(content_type: str | None, document: dict[str, Any]) -> None:
    """The seed's JSON is read: either spelling of a name, int64 as string or number, unknown fields ignored (H2)."""
    event = decode_record(b"k", body(document), labelled(content_type) if content_type else ())
    assert (event.id, event.timestamp_ms, event.version, event.subject) == ("i", 5, 1, "k")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"[]", "decode_error"), (b"5", "decode_error"), (b'{"id": 5}', "decode_error"), (b"{", "decode_error"), (b"{}", "invalid_event"),
        (b'{"version": 1e99}', "decode_error"), (b'{"payload": []}', "decode_error"), (b"\xff\xfe{", "decode_error"), (b'{"a": 1}', "invalid_event"),
        (b'{"id": "\\ud800", "source": "s", "type": "t"}', "decode_error"), (b"", "empty_value"), (None, "null_value"),
        (b'{"payload":' + b'{"k":' * 5000 + b"1" + b"}" * 5001, "decode_error"), (b'{"version":' + b"9" * 5000 + b"}", "decode_error"),
    ],
)  # fmt: skip  # a table
def test_protojson_refused(value: bytes | None, code: str) -> None:
    """JSON that is no HookEvent is malformed, whatever is wrong with it."""
    assert code_of(b"k", value, labelled("application/protobuf+json")) == code


# ── foreign events in binary mode ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content_type", "value", "payload"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/vnd.api+json; charset=utf-8", b'{"a": 1}', {"a": 1}),
        ("application/json", b"[1, 2]", {"data": [1, 2]}),
        ("application/json", b"5", {"data": 5}),
        ("application/json", b'"x"', {"data": "x"}),
        ("application/json", b"null", {"data": None}),
        ("application/json", None, {}),
        ("application/avro", None, {}),
        ("text/plain", b"", {"data": ""}),
        ("text/plain", "é".encode(), {"data": "é"}),
        ("text/plain; charset=ISO-8859-1", b"\xe9", {"data": "é"}),
        ("text/plain; charset=rot13", b"x", {"data_base64": "eA=="}),
        ("text/plain", b"\xff", {"data_base64": "/w=="}),
        ("application/xml", b"<a/>", {"data": "<a/>"}),
        ("image/svg+xml", b"<a/>", {"data": "<a/>"}),
        ("application/octet-stream", b"text", {"data_base64": "dGV4dA=="}),
        ("application/avro", b"", {"data_base64": ""}),
        (None, b'{"a": 1}', {"a": 1}),
        (None, b"just text", {"data": "just text"}),
        (None, b"\xff\xfe", {"data_base64": "//4="}),
        (None, None, {}),
        (None, b"", {}),
    ],
)
def test_foreign_data(content_type: str | None, value: bytes | None, payload: object) -> None:
    """Foreign data becomes a payload by its content-type, never by what the bytes happen to look like."""
    assert payload_of(value, foreign_headers(content_type)) == payload


def test_foreign_envelope() -> None:
    """A foreign event in binary mode brings identity, subject, time, version and its other attributes."""
    headers = foreign_headers(
        "application/json",
        ce_subject=b"s-1",
        ce_time=b"2026-11-30T10:00:00.123Z",
        ce_subjectversion=b"7",
        ce_dataschema=b"https://e.com/s",
    )
    event = decode_record(b"k", b"{}", headers)
    assert event == Event(
        id="f-1", source="/other", type="order.paid", subject="s-1", version=7, timestamp_ms=1796032800123,
        attributes={"dataschema": "https://e.com/s", "datacontenttype": "application/json"},
    )  # fmt: skip  # one value


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ce_id": b""}, "invalid_event"),
        ({"ce_type": b"\xff"}, "invalid_event"),
        ({"ce_subject": b""}, "invalid_event"),
        ({"ce_time": b"yesterday"}, "invalid_event"),
        ({"ce_dataschema": b""}, "invalid_event"),
        ({"ce_subjectversion": b"one"}, "invalid_event"),
        ({"ce_subjectversion": b"2147483648"}, "invalid_event"),
        ({"ce_specversion": b"0.3"}, "unsupported_specversion"),
        ({"ce_specversion": None}, "decode_error"),
    ],
)
def test_foreign_envelope_refused(changes: dict[str, bytes | None], code: str) -> None:
    """P12. A foreign event whose attributes break CloudEvents is malformed; without the four it is none at all."""
    assert code_of(b"k", b"[]", foreign_headers("application/json", **changes)) == code


def test_foreign_json_that_is_none() -> None:
    """Data that is declared as JSON and is none is malformed."""
    assert code_of(b"k", b"{", foreign_headers("application/json")) == "decode_error"


def test_foreign_content_type_that_is_none() -> None:
    """A content-type that is no media type is no datacontenttype."""
    assert code_of(b"k", b"{}", foreign_headers("xyz")) == "invalid_event"


def test_undescribed_hook_event_agrees_with_its_headers() -> None:
    """Without content-type, HookEvent bytes come before foreign data, and the headers must agree with them."""
    agreeing: dict[str, bytes | None] = {"ce_id": b"i", "ce_source": b"s", "ce_type": b"t"}
    assert decode_record(b"k", sample_value(), foreign_headers(None, **agreeing)).version == 1
    assert code_of(b"k", sample_value(), foreign_headers()) == "envelope_mismatch"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/avro", "application/vnd.api+json", "\xff", "application/cloudevents+avro"],
)
def test_unsupported(content_type: str) -> None:
    """A content-type without a reading, and without the ce_ headers that make it foreign data, is refused by name."""
    assert code_of(b"k", b"{}", labelled(content_type)) == "unsupported_content_type"


def test_unknown_structured_format() -> None:
    """A structured format that is not read is refused even beside ce_ headers: the envelope is not the data."""
    assert code_of(b"k", b"<e/>", foreign_headers("application/cloudevents+xml")) == "unsupported_content_type"


# ── structured mode ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content_type",
    [
        "application/cloudevents+json",
        "Application/CloudEvents+JSON; charset=UTF-8",
        "application/cloudevents+json;charset=utf-8",
    ],
)
def test_structured_json(content_type: str) -> None:
    """Structured JSON is read by its content-type, also beside ce_ headers, which do not count then (3.3.3)."""
    headers = labelled(content_type, ce_id=b"other", ce_specversion=b"1.0", ce_source=b"o", ce_type=b"o")
    assert decode_record(b"k", body(STRUCTURED | {"data": {"a": 1}}), headers).identity == ("s", "i")


@pytest.mark.parametrize(
    ("members", "payload"),
    [
        ({}, {}),
        ({"data": None}, {}),
        ({"data": {"a": 2**60}}, {"a": 2**60}),
        ({"data": [1]}, {"data": [1]}),
        ({"data": "x"}, {"data": "x"}),
        ({"data": "<a/>", "datacontenttype": "application/xml"}, {"data": "<a/>"}),
        ({"data_base64": "e30=", "datacontenttype": "application/json"}, {}),
        ({"data_base64": "/w==", "datacontenttype": "application/octet-stream"}, {"data_base64": "/w=="}),
        ({"data_base64": "aGk=", "datacontenttype": "text/plain"}, {"data": "hi"}),
    ],
)
def test_structured_data(members: dict[str, Any], payload: object) -> None:
    """Data of a structured event reads as in binary mode."""
    assert payload_of(body(STRUCTURED | members), labelled("application/cloudevents+json")) == payload


def test_structured_hook_event() -> None:
    """A HookEvent inside a structured event is read as one, and must agree with its envelope."""
    document = STRUCTURED | {"datacontenttype": "application/protobuf", "data_base64": "CgFpEgFzGgF0KAE="}
    event = decode_record(b"k", body(document | {"subject": "s-1"}), labelled("application/cloudevents+json"))
    assert (event.version, event.subject, event.attributes) == (1, "s-1", {})
    assert (
        code_of(b"k", body(document | {"id": "other"}), labelled("application/cloudevents+json")) == "envelope_mismatch"
    )
    assert HookEvent(id="i", source="s", type="t", version=1).SerializeToString() == b"\n\x01i\x12\x01s\x1a\x01t(\x01"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"[]", "invalid_event"), (b"{", "decode_error"), (b"\xff\xfe", "decode_error"), (b"", "empty_value"), (None, "null_value"),
        (body(STRUCTURED | {"data_base64": "%"}), "decode_error"), (body(STRUCTURED | {"data_base64": 5}), "invalid_event"),
        (body(STRUCTURED | {"ext": 2**31}), "invalid_event"), (body(STRUCTURED | {"ext": 1.5}), "invalid_event"),
        (body(STRUCTURED | {"id": "\ud800"}), "invalid_event"), (body(STRUCTURED | {"specversion": "1.1"}), "unsupported_specversion"),
    ],
)  # fmt: skip  # a table
def test_structured_refused(value: bytes | None, code: str) -> None:
    """P12. A structured document that breaks CloudEvents is malformed."""
    assert code_of(b"k", value, labelled("application/cloudevents+json")) == code


@pytest.mark.parametrize("suffix", ["+json", "+protobuf", "+json; charset=utf-8"])
def test_batches_are_refused_by_name(suffix: str) -> None:
    """Kafka has no batches: their content-types, which begin like the structured ones, have a code of their own."""
    assert code_of(b"k", b"[]", labelled(f"application/cloudevents-batch{suffix}")) == "batch_not_supported"
