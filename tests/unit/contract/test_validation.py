"""What may be published, and what not."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given

from hookline.contract import (
    MAX_EXACT_INTEGER,
    MAX_PAYLOAD_DEPTH,
    MAX_TIMESTAMP_MS,
    MIN_TIMESTAMP_MS,
    Event,
    HookEvent,
    InvalidEventError,
    encode_event,
    validate_for_publishing,
)
from tests.unit.contract.samples import events, reencode, sample_event


def nested(depth: int, *, lists: bool = False) -> dict[str, Any]:
    """Return a payload of so many levels, itself the first."""
    inner: Any = 1
    for _ in range(depth - 1):
        inner = [inner] if lists else {"k": inner}
    return {"k": inner}


def plain_event(**changes: Any) -> Event:
    """Return an event built by hand, with changes."""
    fields: dict[str, Any] = {"id": "i", "source": "s", "type": "t", "subject": "k", "version": 1, "timestamp_ms": 1}
    return Event(**(fields | changes))


@given(events())
def test_valid_events_pass(event: Event) -> None:
    """What the constructors build from proper parts may be published."""
    validate_for_publishing(event)


@pytest.mark.parametrize("field", ["id", "source", "type", "subject"])
@pytest.mark.parametrize("value", ["", "a\nb", "a\x00", "a\x7fb", "a\x85b", "\ud800", "a\uffff", None, 7, b"k"])
def test_text_fields(field: str, value: object) -> None:
    """Empty text, control characters, surrogates, non-characters and what is no text are refused by field (H6)."""
    with pytest.raises(InvalidEventError) as caught:
        validate_for_publishing(plain_event(**{field: value}))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "source",
    [
        "submitqueue", "billing-service", "/mycontext/sub", "https://cloudevents.io", "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
        "#fragment", "?q=1", "mailto:cncf-wg@lists.cncf.io", "//authority/path", "http://[::1]:8080/a", "a%20b", "../up", "x/a:b", "a@b",
    ],
)  # fmt: skip  # a list of references
def test_source_that_is_a_reference(source: str) -> None:
    """A source is any URI-reference of RFC 3986, absolute or relative."""
    validate_for_publishing(sample_event(source=source))


@pytest.mark.parametrize(
    "source", ["my service", "müller", "a%2", "a%zz", "1:b", ":b", "a<b>", "http://[::1", "a^b", 'a"b', "a#b#c", "a\\b"]
)
def test_source_that_is_none(source: str) -> None:
    """A source that is no URI-reference is refused; percent-encoding is the publisher's work."""
    with pytest.raises(InvalidEventError) as caught:
        validate_for_publishing(sample_event(source=source))
    assert caught.value.field == "source"


@pytest.mark.parametrize(
    "timestamp_ms", [-1, 0, 1700000000, 1700000000000000 // 100, MIN_TIMESTAMP_MS, MAX_TIMESTAMP_MS]
)
def test_timestamps_that_can_be_written(timestamp_ms: int) -> None:
    """cases: timestamps. What every reader can represent is published and read unchanged."""
    assert reencode(sample_event(timestamp_ms=timestamp_ms)).timestamp_ms == timestamp_ms


@pytest.mark.parametrize(
    "timestamp_ms",
    [
        2**63 - 1,
        -(2**63),
        2**63,
        1_700_000_000_000_000,
        MAX_TIMESTAMP_MS + 1,
        MIN_TIMESTAMP_MS - 1,
        1.5,
        True,
        "5",
        None,
    ],
)
def test_timestamps_that_cannot(timestamp_ms: Any) -> None:
    """cases: timestamps. Microseconds, and what does not fit the years 1 to 9999, never reach the broker."""
    with pytest.raises(InvalidEventError) as caught:
        validate_for_publishing(plain_event(timestamp_ms=timestamp_ms))
    assert caught.value.field == "timestamp_ms"


@pytest.mark.parametrize("version", [-1, 2**31, 1.0, True, "1", None])
def test_versions_that_cannot(version: Any) -> None:
    """A version is an int32 and never negative."""
    with pytest.raises(InvalidEventError) as caught:
        validate_for_publishing(plain_event(version=version))
    assert caught.value.field == "version"


def test_versioned_id_without_a_version() -> None:
    """A versioned event has a version of at least 1; 0 is legal under any other id."""
    with pytest.raises(InvalidEventError):
        validate_for_publishing(plain_event(id="s/t/k/0", version=0))
    validate_for_publishing(plain_event(id="s/t/k/c/0", version=0))


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"k": math.nan}, "payload.k"),
        ({"k": math.inf}, "payload.k"),
        ({"k": -math.inf}, "payload.k"),
        ({"k": [0, {"n": MAX_EXACT_INTEGER + 1}]}, "payload.k[1].n"),
        ({"k": -MAX_EXACT_INTEGER - 1}, "payload.k"),
        ({"k": 10**400}, "payload.k"),
        ({"k": "\ud800"}, "payload.k"),
        ({"\udfff": 1}, "payload"),
        (nested(MAX_PAYLOAD_DEPTH + 1), "payload" + ".k" * 8),
        (nested(MAX_PAYLOAD_DEPTH + 1, lists=True), "payload.k" + "[0]" * 7),
    ],
)
def test_payload_that_would_change(payload: dict[str, Any], field: str) -> None:
    """cases: numbers. What would change on the way is refused with its place: nothing is altered in silence."""
    with pytest.raises(InvalidEventError) as caught:
        encode_event(sample_event(payload=payload))
    assert caught.value.field == field


@pytest.mark.parametrize("lists", [False, True])
def test_deepest_payload(lists: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """The deepest payload that may be published stays within protobuf's hundred levels and is read unchanged."""
    payload = nested(MAX_PAYLOAD_DEPTH, lists=lists)
    assert reencode(sample_event(payload=payload)).payload == payload


def test_depth_has_a_margin() -> None:
    """One more than the deepest payload still parses: the bound lies inside every language's limit, not on it."""
    message = HookEvent(id="i", source="s", type="t")
    cursor = message.payload
    for _ in range(MAX_PAYLOAD_DEPTH):
        cursor = cursor.fields["k"].struct_value
    cursor.fields["k"].number_value = 1
    assert HookEvent.FromString(message.SerializeToString()) == message


@pytest.mark.parametrize(
    "attributes",
    [
        {"Upper": "x"},
        {"under_score": "x"},
        {"": "x"},
        {"data": "x"},
        {"id": "x"},
        {"subjectversion": "1"},
        {"ok": ""},
        {"ok": "a\n"},
        {"ok": 5},
    ],
)
def test_attributes_that_cannot(attributes: dict[str, Any]) -> None:
    """An attribute that CloudEvents does not allow, or that the event has as a field, is refused."""
    with pytest.raises(InvalidEventError) as caught:
        encode_event(sample_event(attributes=attributes))
    assert caught.value.field.startswith("attributes")


def test_error_does_not_repeat_the_value() -> None:
    """P15: the text of an error names the place and never the value."""
    with pytest.raises(InvalidEventError) as caught:
        encode_event(sample_event(payload={"token": float("nan"), "source": "x"}, source="my secret"))
    assert "secret" not in str(caught.value)
