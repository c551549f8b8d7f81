"""Points in time as people type them."""

from __future__ import annotations

import re
import time

import typer

from hookline.contract import format_time, parse_time

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"(\d+)([smhd])")


def moment_ms(text: str | None, option: str) -> int | None:
    """Read `90s`, `30m`, `2h` or `7d` as so long ago, and RFC 3339 as itself; in milliseconds since the epoch.

    `option` is named when the text is no time.
    """
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return int(time.time() * 1000) - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        return parse_time(text)
    except ValueError as error:
        what = f"{text!r} is no time; give 90s, 30m, 2h, 7d or 2026-11-30T10:00:00Z"
        raise typer.BadParameter(what, param_hint=option) from error


def time_text(moment: int | None) -> str:
    """Show a time, `-` when there is none."""
    return "-" if moment is None else format_time(moment)
