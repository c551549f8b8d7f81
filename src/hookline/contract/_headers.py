"""Record headers: a tuple of pairs, in the record's order, repeats and nulls kept."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

__all__ = [
    "PROTOBUF",
    "Envelope",
    "Headers",
    "find_content_type",
    "find_own_envelope",
    "is_attribute_name",
    "read_text",
]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
Envelope: TypeAlias = tuple[bytes | None, bytes | None, bytes | None, bytes | None]
"""The headers ce_id, ce_source, ce_type and ce_subject."""

_CONTENT_TYPE: Final = "content-type"
PROTOBUF: Final = b"application/protobuf"
_OWN_HEADERS: Final = 7
_UNDECODED: Final = re.compile("[\udc80-\udcff]")


def find_content_type(headers: Headers) -> bytes | None:
    """Return the last content-type header, its name compared without regard to case; None without one.

    Ours is the last header of a record, so that the search ends at once.
    """
    for name, value in reversed(headers):
        if len(name) == len(_CONTENT_TYPE) and name.lower() == _CONTENT_TYPE and value is not None:
            return value
    return None


def find_own_envelope(headers: Headers) -> Envelope | None:
    """Return the envelope when the headers are, in this order and no others, those that encode_event writes; else None.

    Nearly every record is of this layout, and looking for it takes a third of the time of searching the headers.
    """
    if len(headers) != _OWN_HEADERS:
        return None
    (a, _), (b, id), (c, source), (d, type), (e, _), (f, subject), (g, content_type) = headers
    named = a == "ce_specversion" and b == "ce_id" and c == "ce_source" and d == "ce_type" and e == "ce_time"
    if named and f == "ce_subject" and g == _CONTENT_TYPE and content_type == PROTOBUF:
        return id, source, type, subject
    return None


def read_text(data: bytes) -> str:
    """Read bytes as UTF-8, each byte that is none written as upper-case %XX: never fails, never drops."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return _UNDECODED.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)


def is_attribute_name(name: str) -> bool:
    """Tell whether a name is one that CloudEvents allows: lower-case ASCII letters and digits, not `data`."""
    return name.isascii() and name.isalnum() and name == name.lower() and name != "data"
