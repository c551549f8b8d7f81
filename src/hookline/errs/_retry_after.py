"""What a receiver asks for in `Retry-After`."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

RETRY_AFTER_LIMIT_SECONDS: Final = 3600.0
"""The longest wait that a receiver may ask for; a larger one is cut to this."""

_LIMIT_DIGITS: Final = 4


def parse_retry_after(text: str | None, now: datetime) -> float | None:
    """Read a Retry-After header (RFC 9110 section 10.2.3): seconds or an HTTP date, as seconds from the aware time `now`.

    A past date is 0.0, more than an hour is an hour, anything unreadable is None.
    """
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        # Cut by length first: Python reads no number of thousands of digits.
        return RETRY_AFTER_LIMIT_SECONDS if len(text.lstrip("0")) > _LIMIT_DIGITS else _bounded(float(text))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError):
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return _bounded((moment - now).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), RETRY_AFTER_LIMIT_SECONDS)
