"""Numbers and text of a payload, as hooks read them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from hookline.contract import MAX_EXACT_INTEGER, MAX_FOREIGN_DEPTH, HookEvent, decode_record, event_to_json
from tests.unit.contract.samples import (
    code_of,
    foreign_headers,
    payloads,
    reencode,
    sample_event,
    sample_value,
)


def read_number(number: float) -> object:
    """Return what a hook reads for a number on the wire."""
    message = HookEvent(id="i", source="s", type="t")
    message.payload.fields["n"].number_value = number
    return decode_record(None, message.SerializeToString(), ()).payload["n"]


def read_foreign(data: bytes) -> Any:
    """Return the payload of foreign JSON."""
    return decode_record(None, data, foreign_headers("application/json")).payload


@given(payloads)
def test_round_trip(payload: dict[str, Any]) -> None:
    """A publishable payload is read equal to what was published."""
    assert reencode(sample_event(payload=payload)).payload == payload


@pytest.mark.parametrize("number", [0, 4, -4, 2**53, -(2**53), 1722800012345])
def test_integral_doubles_are_ints(number: int) -> None:
    """cases: numbers. An integral double up to 2**53 reads as an int, so that no comment says "batch 4.0" (H3)."""
    read = read_number(number)
    assert (read, read.__class__) == (number, int)


@pytest.mark.parametrize("number", [0.5, 2.0**53 + 2, 1e300, -1e300, 5e-324])
def test_other_doubles_stay_floats(number: float) -> None:
    """A fraction, or a double that may have lost bits, stays a float."""
    read = read_number(number)
    assert (read, read.__class__) == (number, float)


@pytest.mark.parametrize(("number", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_what_json_cannot_hold(number: float, text: str) -> None:
    """cases: numbers. NaN and infinities read as protobuf's JSON spells them, so that nothing behind stumbles."""
    assert read_number(number) == text


def test_nan_event_can_be_written_as_json() -> None:
    """cases: numbers. The very bytes of the report: an event with NaN goes through logs and --output json."""
    value = sample_value() + bytes.fromhex("32100a0e0a0178120911000000000000f87f")
    event = decode_record(None, value, ())
    assert json.loads(json.dumps(event_to_json(event), allow_nan=False))["payload"] == {"x": "NaN"}


def test_value_without_a_kind() -> None:
    """cases: numbers. A Value that has no kind reads as null, where protobuf's own access raises."""
    assert decode_record(None, sample_value() + bytes.fromhex("32070a050a01781200"), ()).payload == {"x": None}


def test_absent_payload() -> None:
    """An event without a payload has an empty one (H6)."""
    assert decode_record(None, sample_value(), ()).payload == {}


def test_foreign_integers_survive() -> None:
    """cases: numbers. Foreign JSON never passes through a Struct: integers of any size stay as they were."""
    assert read_foreign(b'{"n": 9007199254740993, "m": 123456789012345678901234567890}') == {
        "n": 2**53 + 1,
        "m": 123456789012345678901234567890,
    }


@pytest.mark.parametrize(
    ("data", "value"), [(b"1e999", "Infinity"), (b"-1e999", "-Infinity"), (b"NaN", "NaN"), (b"4.0", 4.0)]
)
def test_foreign_numbers(data: bytes, value: object) -> None:
    """cases: numbers. Foreign numbers that no JSON can hold are spelled out as well."""
    assert read_foreign(b'{"n": ' + data + b"}") == {"n": value}


def test_foreign_surrogates_are_repaired() -> None:
    """Half a character in foreign JSON becomes U+FFFD, so that every log and database can write it."""
    assert read_foreign(b'{"a\\ud800": ["x\\udfffy", "\\ud83d\\ude00"]}') == {"a\ufffd": ["x\ufffdy", "\U0001f600"]}


@pytest.mark.parametrize(
    ("depth", "code"),
    [(MAX_FOREIGN_DEPTH - 1, ""), (MAX_FOREIGN_DEPTH + 1, "invalid_event"), (100_000, "decode_error")],
)
def test_foreign_depth(depth: int, code: str) -> None:
    """Foreign JSON is bounded in depth, and what no parser takes is malformed, not a crash."""
    assert code_of(None, b'{"k":' + b"[" * depth + b"]" * depth + b"}", foreign_headers("application/json")) == code


def test_integer_that_no_parser_takes() -> None:
    """cases: numbers. An integer of five thousand digits is malformed, not a crash."""
    assert code_of(None, b'{"n":' + b"9" * 5000 + b"}", foreign_headers("application/json")) == "decode_error"


def test_exact_bound() -> None:
    """2**53 itself travels exactly, in both directions."""
    payload = {"most": MAX_EXACT_INTEGER, "least": -MAX_EXACT_INTEGER}
    assert reencode(sample_event(payload=payload)).payload == payload
