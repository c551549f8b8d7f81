"""Notes on the control topic: which pager has been told of a hook that hookline holds, one compacted record for each.

The key is `told/<domain>/<hook>/<pager>`, each component written as in an id. The value names the gate by the time at
which it was closed, so what was told of one says nothing of the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from hookline.contract._errors import InvalidGateError
from hookline.contract._times import format_time, is_representable, parse_time

__all__ = ["ToldPage", "decode_told_page", "encode_told_page"]

_KIND: Final = b"told/"
_VERSION: Final = 1
_MAX_VALUE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class ToldPage:
    """A pager has accepted a page about a held hook, whose gate was closed at that time (ms since the epoch)."""

    domain: str
    hook: str
    pager: str
    closed_at_ms: int


def encode_told_page(told: ToldPage) -> tuple[bytes, bytes]:
    """Write its record: (key, value). Raises InvalidGateError for text that is no Unicode, or a time that cannot be written."""
    if not is_representable(told.closed_at_ms):
        raise InvalidGateError("closed_at_ms lies outside the years 1 to 9999")
    try:
        key = _KIND + "/".join(quote(part, safe="") for part in (told.domain, told.hook, told.pager)).encode()
    except UnicodeEncodeError as error:
        raise InvalidGateError("a domain, hook or pager holds a lone surrogate") from error
    document = {"version": _VERSION, "closed_at": format_time(told.closed_at_ms)}
    return key, json.dumps(document, separators=(",", ":")).encode()


def decode_told_page(key: bytes | None, value: bytes | None) -> ToldPage | None:
    """Read such a record; None for any other, and for one that cannot be read: then somebody is told once more."""
    if key is None or value is None or not key.startswith(_KIND) or len(value) > _MAX_VALUE_BYTES:
        return None
    try:
        domain, hook, pager = (unquote_to_bytes(part).decode() for part in key.removeprefix(_KIND).split(b"/"))
        document = json.loads(value.decode())
        closed_at = document["closed_at"] if isinstance(document, dict) else None
        return ToldPage(domain, hook, pager, parse_time(closed_at)) if isinstance(closed_at, str) else None
    except (ValueError, KeyError, RecursionError):
        return None
