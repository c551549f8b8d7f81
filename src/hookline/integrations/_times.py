"""The time at which an event was received, as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hookline.contract import format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def received_text(received: datetime) -> str:
    """Write an aware time as RFC 3339 in UTC with three decimals, finer fractions cut off."""
    return format_time((received - _EPOCH) // timedelta(milliseconds=1))
