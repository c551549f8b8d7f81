"""CloudEvents that other programs wrote: their attributes checked, their data read as a payload.

Attributes arrive as text, in the spelling of the Kafka binding: `true`, decimal, base64, RFC 3339.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hookline.contract._errors import MalformedRecordError
from hookline.contract._headers import is_attribute_name
from hookline.contract._media import charset_of, is_json, is_media_type, is_text, media_of
from hookline.contract._payload import freeze_foreign
from hookline.contract._readonly import EMPTY, ReadOnlyDict
from hookline.contract._times import parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MAX_INTEGER",
    "MIN_INTEGER",
    "VERSION_ATTRIBUTE",
    "ForeignEvent",
    "invalid",
    "load_json",
    "read_base64",
    "read_foreign",
]

# CloudEvents has no attribute for the version ordinal, and readers confuse `version` with `specversion`.
VERSION_ATTRIBUTE: Final = "subjectversion"
MAX_INTEGER: Final = 2**31 - 1  # CloudEvents' Integer is signed and has 32 bits, as HookEvent.version
MIN_INTEGER: Final = -(2**31)

_MANDATORY: Final = ("specversion", "id", "source", "type")
_ON_THE_EVENT: Final = frozenset({*_MANDATORY, "subject", "time", VERSION_ATTRIBUTE})


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """What an Event is made of, read from a foreign CloudEvent; `subject` is None when it has none."""

    id: str
    source: str
    type: str
    subject: str | None
    version: int
    timestamp_ms: int
    payload: Mapping[str, Any]
    attributes: Mapping[str, str]


def invalid(reason: str) -> MalformedRecordError:
    """Build the error of a record that was read and is no valid event."""
    return MalformedRecordError("invalid_event", reason)


def read_foreign(texts: Mapping[str, str], data: object) -> ForeignEvent:
    """Check the attributes of a CloudEvent 1.0 and read its data by `datacontenttype`.

    `data` is bytes as they stood in the record, or an already parsed JSON value (a str is text); None is no data.
    Raises MalformedRecordError: unsupported_specversion, invalid_event, decode_error.
    """
    _check_attributes(texts)
    return ForeignEvent(
        id=texts["id"],
        source=texts["source"],
        type=texts["type"],
        subject=texts.get("subject"),
        version=_read_version(texts.get(VERSION_ATTRIBUTE)),
        timestamp_ms=_read_time(texts.get("time")),
        payload=_read_data(texts.get("datacontenttype", ""), data),
        attributes=ReadOnlyDict((name, text) for name, text in texts.items() if name not in _ON_THE_EVENT),
    )


def load_json(data: bytes | str) -> Any:
    """Parse JSON of any encoding that JSON allows; raises MalformedRecordError decode_error on everything else."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedRecordError("decode_error", f"is no JSON ({error.__class__.__name__})") from error


def _check_attributes(texts: Mapping[str, str]) -> None:
    for name in _MANDATORY:
        if not texts.get(name):
            raise invalid(f"the CloudEvents attribute {name} is missing or empty")
    if texts["specversion"] != "1.0":
        raise MalformedRecordError("unsupported_specversion", "only CloudEvents 1.0 is read")
    for name, text in texts.items():
        _check_attribute(name, text)


def _check_attribute(name: str, text: str) -> None:
    if not is_attribute_name(name):
        raise invalid("a CloudEvents attribute name is not made of lower-case letters and digits")
    if name in {"subject", "dataschema"} and not text:
        raise invalid(f"the CloudEvents attribute {name} is empty")
    if name == "datacontenttype" and not is_media_type(media_of(text)):
        raise invalid("the CloudEvents attribute datacontenttype is no media type")
    if not text.isascii() and not _is_unicode(text):
        raise invalid("a CloudEvents attribute holds a lone surrogate")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_time(text: str | None) -> int:
    if text is None:
        return 0
    try:
        return parse_time(text)
    except ValueError as error:
        raise invalid(f"the CloudEvents attribute time {error}") from error


def _read_version(text: str | None) -> int:
    if text is None:
        return 0
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(MAX_INTEGER))):
        raise invalid(f"the attribute {VERSION_ATTRIBUTE} is no integer")
    version = int(text)
    if not MIN_INTEGER <= version <= MAX_INTEGER:
        raise invalid(f"the attribute {VERSION_ATTRIBUTE} does not fit 32 bits")
    return version


def _read_data(content_type: str, data: object) -> Mapping[str, Any]:
    if data is None:
        return EMPTY
    if isinstance(data, bytes):
        return _read_bytes(content_type, data)
    return _wrap(data)


def _read_bytes(content_type: str, data: bytes) -> Mapping[str, Any]:
    media = media_of(content_type)
    if is_json(media):
        return _wrap(load_json(data)) if data or content_type else EMPTY
    if is_text(media):
        text = _read_text(content_type, data)
        if text is not None:
            return ReadOnlyDict(data=text)
    return ReadOnlyDict(data_base64=base64.b64encode(data).decode("ascii"))


def _read_text(content_type: str, data: bytes) -> str | None:
    charset = charset_of(content_type)
    if charset is None:
        return None
    try:
        return data.decode(charset)
    except UnicodeDecodeError:
        return None


def _wrap(value: object) -> Mapping[str, Any]:
    try:
        frozen = freeze_foreign(value)
    except (ValueError, RecursionError) as error:
        raise invalid("the data is nested too deep") from error
    return frozen if isinstance(frozen, ReadOnlyDict) else ReadOnlyDict(data=frozen)


def read_base64(text: object) -> bytes:
    """Decode a data_base64 member; raises MalformedRecordError decode_error."""
    if not isinstance(text, str):
        raise invalid("data_base64 is no string")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRecordError("decode_error", "data_base64 is no base64") from error
