"""Times: integers inside, RFC 3339 outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, format_time, parse_time


@given(st.integers(MIN_TIMESTAMP_MS, MAX_TIMESTAMP_MS))
def test_round_trip(timestamp_ms: int) -> None:
    """Every representable millisecond is written and read without a rounding."""
    assert parse_time(format_time(timestamp_ms)) == timestamp_ms


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("2026-11-30T10:00:00.123Z", 1796032800123),
        ("2026-11-30t10:00:00.123z", 1796032800123),
        ("2026-11-30T12:30:00+02:30", 1796032800000),
        ("2026-11-30T10:00:00.123999999Z", 1796032800123),
        ("2026-11-30T10:00:00.1Z", 1796032800100),
        ("2016-12-31T23:59:60Z", 1483228800000),
        ("0001-01-01T00:00:00Z", MIN_TIMESTAMP_MS),
        ("9999-12-31T23:59:59.999Z", MAX_TIMESTAMP_MS),
    ],
)
def test_reads(text: str, timestamp_ms: int) -> None:
    """RFC 3339 is read with any offset and case, finer fractions cut, a leap second as the next instant."""
    assert parse_time(text) == timestamp_ms


@pytest.mark.parametrize(
    "text",
    [
        "", "lunchtime", "2026-11-30", "2026-11-30T10:00Z", "2026-11-30T10:00:00", "2026-11-30T10:00:00+05", "20261130T100000Z",
        "2026-11-30T24:00:00Z", "2026-11-30T10:60:00Z", "2026-11-30T10:00:61Z", "2026-02-30T10:00:00Z", "2026-11-30T10:00:00+25:00",
        "2026-11-30T10:00:00.Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z", "\uff12026-11-30T10:00:00Z",
    ],
)  # fmt: skip  # a list of texts, not of lines
def test_refuses(text: str) -> None:
    """Everything else is refused, and what no reader can represent."""
    with pytest.raises(ValueError):  # noqa: PT011  # no text is asserted on
        parse_time(text)
