from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errs import RETRY_AFTER_LIMIT_SECONDS, parse_retry_after

NOW = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("0000000007", 7.0),
        ("3600", 3600.0),
        ("3601", 3600.0),
        ("86400", 3600.0),
        ("9" * 5000, 3600.0),
        ("Mon, 30 Nov 2026 10:01:30 GMT", 90.0),
        ("Monday, 30-Nov-26 10:00:30 GMT", 30.0),
        ("Mon Nov 30 10:00:05 2026", 5.0),
        ("Mon, 30 Nov 2026 12:00:10 +0200", 10.0),
        ("Mon, 30 Nov 2026 09:00:00 GMT", 0.0),
        ("Mon, 30 Nov 2099 09:00:00 GMT", 3600.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(value: str, seconds: float) -> None:
    """Seconds and every HTTP date form become seconds from now, between nothing and an hour."""
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "1.5", "١٢", "1e3", "Mon, 99 Foo 2026 10:00:00 GMT", "\x00"])
def test_an_unreadable_retry_after_is_none(value: str | None) -> None:
    """What is neither seconds nor a date says nothing."""
    assert parse_retry_after(value, NOW) is None


@given(st.text())
def test_no_retry_after_is_an_error(value: str) -> None:
    """Whatever a receiver sends, the header is read or ignored."""
    seconds = parse_retry_after(value, NOW)
    assert seconds is None or 0.0 <= seconds <= RETRY_AFTER_LIMIT_SECONDS
