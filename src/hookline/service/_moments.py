"""Where a new group begins to read, as settings say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hookline.contract import parse_time

if TYPE_CHECKING:
    from hookline.kafka import Moment

START: Final = '"earliest", "latest" or an RFC 3339 time such as "2026-11-30T10:00:00Z"'


def moment_of(start: str) -> Moment:
    """Read what a setting `start` says. Raises ValueError."""
    if start == "earliest":
        return "earliest"
    return "latest" if start == "latest" else parse_time(start)
