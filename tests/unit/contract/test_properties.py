"""What holds for any bytes and any event."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.contract import (
    DeadLetter,
    Event,
    Headers,
    HookEvent,
    Redrive,
    decode_record,
    encode_event,
    event_to_json,
)
from tests.unit.contract.samples import MANDATORY, code_of, events, headers, sample_value

CODES = {
    "null_value", "empty_value", "decode_error", "invalid_event", "envelope_mismatch", "unsupported_content_type",
    "unsupported_specversion", "batch_not_supported", "value_too_large",
}  # fmt: skip  # a list
CONTENT_TYPES = [
    b"application/protobuf", b"application/x-protobuf", b"application/protobuf+json", b"application/json", b"text/plain",
    b"text/plain; charset=utf-16", b"application/cloudevents+json", b"application/cloudevents+protobuf",
    b"application/cloudevents-batch+json", b"application/octet-stream", b"\xff", b"", b";", b"/",
]  # fmt: skip  # a list

ce_headers = st.fixed_dictionaries(
    {}, optional={name: st.just(value) | st.binary(max_size=8) | st.none() for name, value in MANDATORY.items()}
    | {name: st.none() | st.binary(max_size=8) for name in ("ce_time", "ce_subject", "ce_dataschema", "ce_subjectversion", "ce_x", "ce_datacontenttype")},
)  # fmt: skip  # one strategy
described = st.fixed_dictionaries(
    {}, optional={"content-type": st.none() | st.sampled_from(CONTENT_TYPES) | st.binary(max_size=30)}
)

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "source", "type", "version", "timestamp_ms", "timestampMs", "payload", "data", "data_base64", "specversion", "subject", "time", "x"]
    ), inner, max_size=8),
    max_leaves=12,
)  # fmt: skip  # one strategy


@st.composite
def values(draw: st.DrawFn) -> bytes | None:
    """Draw a value: bytes of any kind, near-misses of what is read, JSON of nearly the right shape."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.none() | st.binary(max_size=80))
    if kind == 1:
        return sample_value()[: draw(st.integers(0, 40))] + draw(st.binary(max_size=8))
    if kind == 2:
        fields: dict[str, Any] = {
            name: draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
            for name in ("id", "source", "type")
        }
        return HookEvent(**fields, timestamp_ms=draw(st.integers(-(2**63), 2**63 - 1))).SerializeToString()
    if kind == 3:
        return bytes(draw(st.lists(st.sampled_from(b'\n\x12\x1a 2\x00\x01\x02abc\xff{}[]":,'), max_size=60)))
    return repr_json(draw(json_like))


def repr_json(value: object) -> bytes:
    """Write JSON, also what is none (NaN, half characters)."""
    return json.dumps(value).encode()


@settings(max_examples=600)
@given(st.none() | st.binary(max_size=8), values(), headers, ce_headers, described)
@example(None, sample_value(), (), {"ce_dataschema": b""}, {})
@example(None, b"\x0a\x01i\x12\x01s\x1a\x01t", (), {}, {})
def test_reading_is_total(
    key: bytes | None,
    value: bytes | None,
    others: Headers,
    ce: dict[str, bytes | None],
    content_type: dict[str, bytes | None],
) -> None:
    """P12. Any record is an event or malformed, nothing else is ever raised, and what was read can be looked at."""
    record_headers = (*others, *ce.items(), *content_type.items())
    code = code_of(key, value, record_headers)
    if code:
        assert code in CODES
        return
    event = decode_record(key, value, record_headers)
    assert all(event.identity)
    assert event.type
    repr_json(event_to_json(event)).decode()
    repr(event).encode()
    event.to_cloudevent()
    hash(event)
    assert event.subject.encode() is not None


@given(events())
def test_binary_round_trip(event: Event) -> None:
    """P1. What is published is what a hook gets: the whole event, equal."""
    assert decode_record(*encode_event(event)) == event


@given(events())
def test_value_alone_is_enough(event: Event) -> None:
    """A tool that drops every header but keeps key and value loses nothing but the attributes."""
    record = encode_event(event)
    read = decode_record(record.key, record.value, ())
    assert (read.identity, read.type, read.subject, read.payload) == (
        event.identity,
        event.type,
        event.subject,
        event.payload,
    )


@given(events())
def test_encoding_is_deterministic(event: Event) -> None:
    """One event is always the same bytes, whatever the order of its payload was."""
    shuffled = Event(**{**fields_of(event), "payload": dict(reversed(list(event.payload.items())))})
    assert encode_event(shuffled) == encode_event(event)


def fields_of(event: Event) -> dict[str, Any]:
    """Return what the constructor takes."""
    names = ("id", "source", "type", "subject", "version", "timestamp_ms", "payload", "attributes")
    return {name: getattr(event, name) for name in names}


@given(headers)
def test_redrive_is_total(any_headers: Headers) -> None:
    """Any headers are those of a republished record or not; nothing is raised."""
    redrive = Redrive.from_headers((*any_headers, ("hookline-redrives", b"1")))
    assert redrive is not None
    assert redrive.redrives >= 1


@given(st.none() | st.binary(), st.none() | st.binary(), headers, st.lists(
    st.tuples(st.sampled_from(["hookline-dlq-failure", "hookline-dlq-failed-at", "hookline-dlq-origin", "hookline-dlq-class", "hookline-dlq-redrives",
                               "__dlq.errors.partition", "__dlq.errors.offset", "__dlq.errors.topic", "__dlq.errors.delivery.count"]),
              st.none() | st.binary(max_size=12) | st.sampled_from([b'{"hooks": [5, {}, {"hook": "a", "attempts": []}]}', b"t/1/2", b"2026-11-30T10:00:00Z", b"5"])),
    max_size=8,
).map(tuple))  # fmt: skip  # one strategy
def test_dead_letter_reading_is_total(key: bytes | None, value: bytes | None, others: Headers, ours: Headers) -> None:
    """Any record of a dead-letter topic is a dead letter, key and value untouched; nothing is raised."""
    letter = DeadLetter.from_record(key, value, (*others, *ours))
    assert (letter.key, letter.value) == (key, value)
    assert DeadLetter.from_record(key, value, letter.record_headers()).record_headers() == letter.record_headers()
