"""Record headers: a tuple of pairs, in the record's order, repeats and nulls kept."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

__all__ = ["Headers", "find_content_type", "is_attribute_name", "read_text"]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

_CONTENT_TYPE: Final = "content-type"
_UNDECODED: Final = re.compile("[\udc80-\udcff]")


def find_content_type(headers: Headers) -> bytes | None:
    """Return the last content-type header, its name compared without regard to case; None without one.

    Ours is the last header of a record, so that the search ends at once.
    """
    for name, value in reversed(headers):
        if len(name) == len(_CONTENT_TYPE) and name.lower() == _CONTENT_TYPE and value is not None:
            return value
    return None


def read_text(data: bytes) -> str:
    """Read bytes as UTF-8, each byte that is none written as upper-case %XX: never fails, never drops."""
    text = data.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    return _UNDECODED.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)


def is_attribute_name(name: str) -> bool:
    """Tell whether a name is one that CloudEvents allows: lower-case ASCII letters and digits, not `data`."""
    return name.isascii() and name.isalnum() and name == name.lower() and name != "data"
