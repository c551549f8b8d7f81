"""Media types: which content-type is what."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BATCHES",
    "HOOK_EVENT",
    "HOOK_EVENT_JSON",
    "JSON",
    "STRUCTURED_JSON",
    "STRUCTURED_PROTOBUF",
    "charset_of",
    "is_json",
    "is_media_type",
    "is_text",
    "media_of",
]

HOOK_EVENT: Final = frozenset({"application/protobuf", "application/x-protobuf"})
HOOK_EVENT_JSON: Final = "application/protobuf+json"
JSON: Final = "application/json"
STRUCTURED_JSON: Final = "application/cloudevents+json"
STRUCTURED_PROTOBUF: Final = "application/cloudevents+protobuf"
BATCHES: Final = "application/cloudevents-batch"

_TEXTS: Final = frozenset({"application/xml", "application/yaml", "application/javascript", "application/sql"})
_CHARSETS: Final = {
    "": "utf-8",
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-16": "utf-16",
}
_TOKEN_MARKS: Final = frozenset("!#$&-^_.+")


def media_of(content_type: str) -> str:
    """Return the bare media type in lower case, parameters cut off."""
    return content_type.partition(";")[0].strip().lower()


def charset_of(content_type: str) -> str | None:
    """Return Python's name of the charset parameter (UTF-8 without one); None for one that is not read."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return _CHARSETS.get(value.strip().strip('"').lower())
    return "utf-8"


def is_json(media: str) -> bool:
    """Tell whether data of this bare media type is JSON; CloudEvents reads none named as JSON."""
    return media in {"", JSON, "text/json"} or media.endswith("+json")


def is_text(media: str) -> bool:
    """Tell whether data of this bare media type is text, so that its type never depends on the bytes."""
    return media.startswith("text/") or media in _TEXTS or media.endswith(("+xml", "+yaml"))


def is_media_type(media: str) -> bool:
    """Tell whether a bare media type is `type/subtype` by RFC 2045 and 6838."""
    kind, slash, subtype = media.partition("/")
    return bool(slash) and _is_token(kind) and _is_token(subtype)


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and all(mark.isalnum() or mark in _TOKEN_MARKS for mark in text)
