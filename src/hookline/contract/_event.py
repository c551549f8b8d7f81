"""The event that hooks see."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hookline.contract._cloudevents import build_cloudevent, read_cloudevent
from hookline.contract._foreign import VERSION_ATTRIBUTE
from hookline.contract._headers import Headers, is_attribute_name, read_text
from hookline.contract._ids import mint_unversioned_id, mint_versioned_id
from hookline.contract._payload import freeze, read_struct
from hookline.contract._readonly import EMPTY, JsonValue, ReadOnlyDict
from hookline.contract._times import parse_time
from hookline.contract.v1.hook_pb2 import HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cloudevents.core.v1.event import CloudEvent

    from hookline.contract._foreign import ForeignEvent

__all__ = ["CORE_HEADERS", "Event", "event_of_foreign", "make_event", "now_ms"]

CORE_HEADERS: Final = frozenset({"ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "ce_subject"})
_NO_ATTRIBUTES: Final = CORE_HEADERS | {"ce_datacontenttype", f"ce_{VERSION_ATTRIBUTE}"}

_set = object.__setattr__


def now_ms() -> int:
    """Return the wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Event:
    """One lifecycle event, immutable and shared by all hooks that it resolves to.

    `id` names the occurrence, and (`source`, `id`) is its identity: equal identity, same event. `type` says what
    happened, `subject` what it happened to (the record's key), `version` is the subject's ordinal after the
    transition (0: not a versioned write), `timestamp_ms` milliseconds since the epoch (0: unset). `payload` is
    decoded once, when first read, and read-only: copy.deepcopy gives an ordinary dict. `attributes` holds the
    other CloudEvents attributes as text (dataschema, traceparent, expirytime, and datacontenttype of a foreign
    event).

    Safe to read from any thread. Two events are equal when everything they carry is.
    """

    __slots__ = ("_attributes", "_payload", "id", "source", "subject", "timestamp_ms", "type", "version")

    id: str
    source: str
    type: str
    subject: str
    version: int
    timestamp_ms: int
    _payload: Mapping[str, Any] | HookEvent
    _attributes: Mapping[str, str] | Headers

    def __init__(
        self,
        *,
        id: str,
        source: str,
        type: str,
        subject: str = "",
        version: int = 0,
        timestamp_ms: int = 0,
        payload: Mapping[str, Any] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "source", source)
        _set(self, "type", type)
        _set(self, "subject", subject)
        _set(self, "version", version)
        _set(self, "timestamp_ms", timestamp_ms)
        _set(self, "_payload", freeze(payload))
        _set(self, "_attributes", ReadOnlyDict(attributes) if attributes else EMPTY)

    @classmethod
    def versioned(
        cls,
        *,
        source: str,
        type: str,
        subject: str,
        version: int,
        payload: Mapping[str, Any] | None = None,
        timestamp_ms: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Event:
        """Build the event of a versioned write, its id minted from source, type, subject and version.

        `version` is the subject's optimistic-lock version after the write, at least 1. `timestamp_ms` defaults to
        now; give the entity's own time where one is stored, so that a replay is equal. Raises InvalidEventError.
        """
        return cls(
            id=mint_versioned_id(source, type, subject, version),
            source=source,
            type=type,
            subject=subject,
            version=version,
            timestamp_ms=now_ms() if timestamp_ms is None else timestamp_ms,
            payload=payload,
            attributes=attributes,
        )

    @classmethod
    def unversioned(
        cls,
        *,
        source: str,
        type: str,
        subject: str,
        cause: str,
        ordinal: int = 0,
        payload: Mapping[str, Any] | None = None,
        timestamp_ms: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Event:
        """Build an event that no versioned write stands behind, its id minted from the message that caused it.

        `ordinal` tells several events of one type and cause apart. Raises InvalidEventError.
        """
        return cls(
            id=mint_unversioned_id(source, type, subject, cause, ordinal),
            source=source,
            type=type,
            subject=subject,
            timestamp_ms=now_ms() if timestamp_ms is None else timestamp_ms,
            payload=payload,
            attributes=attributes,
        )

    @classmethod
    def from_cloudevent(cls, cloudevent: CloudEvent) -> Event:
        """Read an event of the CloudEvents SDK; a missing time stays unset. Raises InvalidEventError.

        The attribute `subjectversion`, which to_cloudevent writes, is read as the version.
        """
        return event_of_foreign(read_cloudevent(cloudevent), fallback_subject="")

    @property
    def payload(self) -> Mapping[str, JsonValue]:
        """The facts, read-only; integral numbers up to 2**53 are ints."""
        held = self._payload
        if held.__class__ is not HookEvent:
            return held  # type: ignore[return-value]  # narrowed by class, cheaper than isinstance
        payload = read_struct(held.payload)
        _set(self, "_payload", payload)
        return payload

    @property
    def attributes(self) -> Mapping[str, str]:
        """The other CloudEvents attributes by name, read-only."""
        held = self._attributes
        if held.__class__ is not tuple:
            return held  # type: ignore[return-value]  # narrowed by class, cheaper than isinstance
        attributes = _read_attributes(held)
        _set(self, "_attributes", attributes)
        return attributes

    @property
    def expires_at_ms(self) -> int | None:
        """When its publisher says that it is of no use any more, in milliseconds since the epoch; None when it says nothing.

        That is the CloudEvents attribute `expirytime`, an RFC 3339 time; one that cannot be read says nothing.
        """
        text = self.attributes.get("expirytime") if self.attributes else None
        if text is None:
            return None
        try:
            return parse_time(text)
        except ValueError:
            return None

    @property
    def identity(self) -> tuple[str, str]:
        """(source, id): what dedupe, audit and warehouse key on."""
        return self.source, self.id

    def to_cloudevent(self) -> CloudEvent:
        """Return a CloudEvent 1.0 of the SDK, data a plain dict (text or bytes where a foreign event had them).

        The version travels as the Integer attribute `subjectversion`; an unset timestamp as no time.
        """
        return build_cloudevent(self)

    def _fields(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "source": self.source,
            "type": self.type,
            "subject": self.subject,
            "version": self.version,
            "timestamp_ms": self.timestamp_ms,
            "payload": self.payload,
            "attributes": self.attributes,
        }

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an event is immutable; {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an event is immutable; {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.source, self.id))

    def __repr__(self) -> str:
        """Return the envelope; never the payload, which may hold what no log should."""
        envelope = f"id={self.id!r}, source={self.source!r}, type={self.type!r}, subject={self.subject!r}"
        return f"Event({envelope}, version={self.version}, timestamp_ms={self.timestamp_ms})"

    def __copy__(self) -> Event:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Event:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by value; the payload decoded."""
        return _rebuild, (self._fields(),)


# An event that is not immutable yet: setting its slots past Event.__setattr__ takes six times as long.
_Draft: Final[Any] = type("_Draft", (), {"__slots__": Event.__slots__})


def make_event(
    id: str,
    source: str,
    type: str,
    subject: str,
    version: int,
    timestamp_ms: int,
    payload: Mapping[str, Any] | HookEvent,
    attributes: Mapping[str, str] | Headers,
) -> Event:
    """Make an event of what was checked; of a HookEvent and of headers is read what somebody asks for."""
    draft = _Draft()
    draft.id = id
    draft.source = source
    draft.type = type
    draft.subject = subject
    draft.version = version
    draft.timestamp_ms = timestamp_ms
    draft._payload = payload  # noqa: SLF001  # an event's own slot
    draft._attributes = attributes  # noqa: SLF001  # the same
    draft.__class__ = Event
    event: Event = draft
    return event


def event_of_foreign(foreign: ForeignEvent, fallback_subject: str) -> Event:
    """Wrap what was read from a foreign CloudEvent."""
    return make_event(
        foreign.id,
        foreign.source,
        foreign.type,
        fallback_subject if foreign.subject is None else foreign.subject,
        foreign.version,
        foreign.timestamp_ms,
        foreign.payload,
        foreign.attributes,
    )


def _rebuild(fields: dict[str, Any]) -> Event:
    return Event(**fields)


def _read_attributes(headers: Headers) -> Mapping[str, str]:
    return ReadOnlyDict(
        (name[3:], read_text(value))
        for name, value in headers
        if name.startswith("ce_") and name not in _NO_ATTRIBUTES and value and is_attribute_name(name[3:])
    )
