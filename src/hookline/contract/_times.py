"""Milliseconds since the epoch and RFC 3339 text, by integer arithmetic only."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

__all__ = ["MAX_TIMESTAMP_MS", "MIN_TIMESTAMP_MS", "format_time", "is_representable", "parse_time", "to_datetime"]

MIN_TIMESTAMP_MS: Final = -62_135_596_800_000  # 0001-01-01T00:00:00.000Z, where datetime and protobuf's Timestamp begin
MAX_TIMESTAMP_MS: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, where they end

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MAX_HOUR: Final = 23
_MAX_MINUTE: Final = 59
_LEAP_SECOND: Final = 60


def is_representable(timestamp_ms: int) -> bool:
    """Tell whether a timestamp lies in the years 1 to 9999, which every reader can represent."""
    return MIN_TIMESTAMP_MS <= timestamp_ms <= MAX_TIMESTAMP_MS


def to_datetime(timestamp_ms: int) -> datetime:
    """Return the aware UTC datetime of a representable timestamp, without passing through a float."""
    return _EPOCH + timedelta(milliseconds=timestamp_ms)


def format_time(timestamp_ms: int) -> str:
    """Write a representable timestamp as RFC 3339 in UTC with exactly three decimals and `Z`."""
    moment = to_datetime(timestamp_ms)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def parse_time(text: str) -> int:
    """Read RFC 3339 text as milliseconds since the epoch, finer fractions cut off.

    Takes any offset, lower-case t and z, and second 60 (the instant after :59). Raises ValueError on
    anything else, and on an instant outside the years 1 to 9999.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("is no RFC 3339 time")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if hour > _MAX_HOUR or minute > _MAX_MINUTE or second > _LEAP_SECOND:
        raise ValueError("has an hour, minute or second out of range")
    days = date(year, month, day).toordinal() - _EPOCH_ORDINAL
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - _offset_seconds(match)
    timestamp_ms = seconds * 1000 + int(((match[7] or "") + "000")[:3])
    if not is_representable(timestamp_ms):
        raise ValueError("lies outside the years 1 to 9999")
    return timestamp_ms


def _offset_seconds(match: re.Match[str]) -> int:
    sign, hours, minutes = match[8], match[9], match[10]
    if sign is None:
        return 0
    if int(hours) > _MAX_HOUR or int(minutes) > _MAX_MINUTE:
        raise ValueError("has an offset out of range")
    seconds = int(hours) * 3_600 + int(minutes) * 60
    return -seconds if sign == "-" else seconds
