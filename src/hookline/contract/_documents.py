"""Events in their JSON form: what audit lines and `hookline dlq` show, and what `hookline publish --file` takes.

It is protobuf's JSON of the record's fields by their own names, int64 as text and what is empty left out, and `subject`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from hookline.contract._errors import InvalidEventError
from hookline.contract._event import Event, now_ms
from hookline.contract._ids import mint_versioned_id

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["event_from_json", "event_to_json"]

_NAMES: Final = {"timestampMs": "timestamp_ms"}
_MEMBERS: Final = ("id", "source", "type", "subject", "timestamp_ms", "version", "payload", "attributes")


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event as HookEvent protojson plus `subject` (and `attributes`, when it has any).

    snake_case names, timestamp_ms as a string, empty members left out; the result is an ordinary document that may
    be changed and that json.dumps takes.
    """
    document = {
        "id": event.id,
        "source": event.source,
        "type": event.type,
        "subject": event.subject,
        "timestamp_ms": str(event.timestamp_ms) if event.timestamp_ms else "",
        "version": event.version,
        "payload": deepcopy(event.payload),
        "attributes": dict(event.attributes),
    }
    return {name: member for name, member in document.items() if member}


def event_from_json(document: Mapping[str, Any]) -> Event:
    """Build an event from the document of event_to_json, as a person may write it.

    `id` may be missing when there is a `version` to mint it from, `timestamp_ms` (a number or a string) means now
    when missing. lowerCamel names are taken too; an unknown name is refused, for it is a slip. Raises
    InvalidEventError.
    """
    if not isinstance(document, dict):
        raise InvalidEventError("event", "must be one JSON object")
    members = {_NAMES.get(str(name), str(name)): member for name, member in document.items() if member is not None}
    _refuse_unknown(members)
    version = _integer("version", members.get("version", 0))
    source, type, subject = (_text(members, name) for name in ("source", "type", "subject"))
    return Event(
        id=_text(members, "id") if "id" in members else _mint(source, type, subject, version),
        source=source,
        type=type,
        subject=subject,
        version=version,
        timestamp_ms=_integer("timestamp_ms", members["timestamp_ms"]) if "timestamp_ms" in members else now_ms(),
        payload=members.get("payload"),
        attributes=_attributes(members.get("attributes", {})),
    )


def _refuse_unknown(members: Mapping[str, Any]) -> None:
    unknown = sorted(name for name in members if name not in _MEMBERS)
    if unknown:
        shown = unknown[0].encode("ascii", "backslashreplace").decode()[:64]
        raise InvalidEventError(shown, f"is no member of an event; the members are {', '.join(_MEMBERS)}")


def _mint(source: str, type: str, subject: str, version: int) -> str:
    if version == 0:
        raise InvalidEventError("id", "is missing and, without a version, cannot be minted")
    return mint_versioned_id(source, type, subject, version)


def _text(members: Mapping[str, Any], name: str) -> str:
    text = members.get(name, "")
    if not isinstance(text, str):
        raise InvalidEventError(name, "must be a string")
    if not text:
        raise InvalidEventError(name, "is missing or empty")
    return text


def _integer(name: str, member: object) -> int:
    if isinstance(member, int) and not isinstance(member, bool):
        return member
    try:
        return int(member) if isinstance(member, str) and member.isascii() else int(_whole(member))
    except ValueError as error:
        raise InvalidEventError(name, "must be an integer, or one as a string") from error


def _whole(member: object) -> float:
    if isinstance(member, float) and member.is_integer():
        return member
    raise ValueError


def _attributes(member: object) -> dict[str, str]:
    if not isinstance(member, dict) or not all(isinstance(text, str) for text in member.values()):
        raise InvalidEventError("attributes", "must be an object of strings")
    return member
