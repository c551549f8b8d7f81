"""Field values as a person reads them on a terminal; the JSON format keeps the documents."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from hookline.telemetry._plain import readable

# Controls other than tab and newline, and what turns text around: a value must not paint the terminal.
_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def for_people(name: str, value: object) -> object:
    """Return a field's value for a terminal: failures in a few words each, other documents as JSON, controls escaped."""
    if name == "failures" and isinstance(value, list):
        value = "; ".join(map(_failure, value))
    elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    elif isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=readable)
    return _CONTROLS.sub(_escaped, value) if isinstance(value, str) else value


def _failure(failure: Any) -> str:
    if not isinstance(failure, dict):
        return readable(failure)
    attempts = failure.get("attempts")
    tried = "once" if attempts == 1 else f"{attempts} times"
    place = f", at {failure['location']}" if failure.get("location") else ""
    return f"{failure.get('hook')}: {failure.get('code')}, tried {tried}{place}"


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
