"""What may be published."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hookline.contract._errors import InvalidEventError
from hookline.contract._foreign import MAX_INTEGER, VERSION_ATTRIBUTE
from hookline.contract._headers import is_attribute_name
from hookline.contract._payload import check_publishable
from hookline.contract._times import is_representable

if TYPE_CHECKING:
    from hookline.contract._event import Event

__all__ = ["MAX_VALUE_BYTES", "validate_for_publishing"]

# Far above any broker's limit, which is the one that counts; it keeps a parser from being handed a gigabyte.
MAX_VALUE_BYTES: Final = 64 * 1024 * 1024

# RFC 3986, appendix A, for ASCII text; an address in brackets is taken as it is.
_UNRESERVED_OR_DELIMITER: Final = r"[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}"
_PCHAR: Final = rf"(?:{_UNRESERVED_OR_DELIMITER}|[:@])"
_HOST: Final = rf"(?:\[[0-9A-Za-z:.%~_\-]+\]|(?:{_UNRESERVED_OR_DELIMITER})*)"
_AUTHORITY: Final = rf"(?:(?:{_UNRESERVED_OR_DELIMITER}|:)*@)?{_HOST}(?::[0-9]*)?"
_SEGMENTS: Final = rf"(?:/{_PCHAR}*)*"
_ROOTED: Final = rf"//{_AUTHORITY}{_SEGMENTS}|/(?:{_PCHAR}+{_SEGMENTS})?"
_RELATIVE: Final = rf"(?:{_UNRESERVED_OR_DELIMITER}|@)+{_SEGMENTS}"
_TAIL: Final = rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
_URI_REFERENCE: Final = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9+.\-]*:(?:{_ROOTED}|{_PCHAR}+{_SEGMENTS})?|(?:{_ROOTED}|{_RELATIVE})?){_TAIL}"
)
_NO_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_FIELDS: Final = frozenset({"specversion", "id", "source", "type", "subject", "time", VERSION_ATTRIBUTE})
_SLASHES_OF_A_VERSIONED_ID: Final = 3


def validate_for_publishing(event: Event) -> None:
    """Refuse, with InvalidEventError, an event that must not go on the wire.

    Refused are: an empty id, source, type or subject; text that CloudEvents does not allow (control characters,
    lone surrogates, non-characters); a source that is no URI-reference (RFC 3986, 4.1); a timestamp outside the
    years 1 to 9999; a version that is negative, beyond 32 bits, or 0 under a versioned id; an attribute whose name
    or value CloudEvents does not allow; and a payload that would change on the way.
    """
    for name in ("id", "source", "type", "subject"):
        _check_text(name, getattr(event, name))
    if _URI_REFERENCE.fullmatch(event.source) is None:
        raise InvalidEventError("source", "is no URI-reference; percent-encode what RFC 3986 does not allow")
    _check_integer("timestamp_ms", event.timestamp_ms)
    if not is_representable(event.timestamp_ms):
        raise InvalidEventError("timestamp_ms", "lies outside the years 1 to 9999; it counts milliseconds")
    _check_version(event)
    _check_attributes(event)
    check_publishable(event.payload)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidEventError(name, f"must be a string, not {text.__class__.__name__}")
    if not text:
        raise InvalidEventError(name, "is empty")
    if not text.isprintable() and _NO_TEXT.search(text):
        raise InvalidEventError(name, "holds a control character or a surrogate, which CloudEvents does not allow")


def _check_integer(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidEventError(name, f"must be an integer, not {number.__class__.__name__}")


def _check_version(event: Event) -> None:
    _check_integer("version", event.version)
    if not 0 <= event.version <= MAX_INTEGER:
        raise InvalidEventError("version", "must lie between 0 and 2**31 - 1")
    if event.version == 0 and event.id.endswith("/0") and event.id.count("/") == _SLASHES_OF_A_VERSIONED_ID:
        raise InvalidEventError("version", "must be at least 1 under a versioned id")


def _check_attributes(event: Event) -> None:
    for name, text in event.attributes.items():
        if not is_attribute_name(name):
            raise InvalidEventError("attributes", "has a name that is not made of lower-case letters and digits")
        if name in _FIELDS:
            raise InvalidEventError("attributes", f"must not hold {name}, which the event has as a field")
        _check_text(f"attributes.{name}", text)
