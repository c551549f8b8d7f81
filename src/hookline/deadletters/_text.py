"""Texts made safe for pages, plans and logs: one line, bounded, and times that never raise."""

from __future__ import annotations

from hookline.contract import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, format_time


def one_line(text: str, limit: int = 200) -> str:
    """Fold a text into one printable line of at most ``limit`` characters, marked when it was cut."""
    line = "".join(char if char.isprintable() else " " for char in text[: limit * 4])
    line = " ".join(line.split())
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1] + "…"


def rfc3339(milliseconds: int | None) -> str | None:
    """Write milliseconds since 1970 as RFC 3339 in UTC; None for none and for what no calendar holds."""
    if milliseconds is None or not MIN_TIMESTAMP_MS <= milliseconds <= MAX_TIMESTAMP_MS:
        return None
    return format_time(milliseconds)
