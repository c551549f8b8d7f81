"""Makes events of one type, for tests."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from hookline.contract import Event

from ._catalogue import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.contract import JsonValue

    from ._catalogue import FieldKind

_TIMESTAMP_MS: Final = 1_796_032_800_000  # 2026-11-30T10:00Z: a test's events are the same each time
_KINDS: Final[Mapping[type, FieldKind]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "list",
    dict: "object",
}


class EventFactory:
    """Makes valid events of one type: `batch_failed()`, `batch_failed("go-monorepo/batch/9", error="merge conflict")`.

    `sample` is a payload as it comes, `subject` the field that holds the subject's id, `version` that of the sample; None
    for events behind which no versioned write stands. From these it knows its `event_type`, for a catalogue; `optional`
    names the fields of the sample that may be absent.
    """

    def __init__(
        self,
        source: str,
        type: str,
        subject: str,
        sample: Mapping[str, JsonValue],
        *,
        version: int | None = None,
        optional: frozenset[str] = frozenset(),
    ) -> None:
        self._sample = sample
        self._version = version
        kinds = {name: _KINDS[value.__class__] for name, value in sample.items()}
        self.event_type: Final = EventType(
            source=source,
            type=type,
            subject=subject,
            versioned=version is not None,
            payload={name: kind for name, kind in kinds.items() if name not in optional},
            optional={name: kind for name, kind in kinds.items() if name in optional},
        )

    def __call__(
        self,
        subject: str | None = None,
        *,
        version: int | None = None,
        cause: str = "message-1",
        ordinal: int = 0,
        timestamp_ms: int = _TIMESTAMP_MS,
        **facts: Any,
    ) -> Event:
        """Make an event; what is not given is the sample's.

        `subject` stands in the payload too. `version` is for versioned events only, `cause` and `ordinal` for the others.
        `facts` are fields of the payload. Raises TypeError for a version of events that have none, and InvalidEventError.
        """
        kind = self.event_type
        payload: dict[str, Any] = {**deepcopy(dict(self._sample)), **facts}
        if subject is not None:
            payload[kind.subject] = subject
        named: dict[str, Any] = {
            "source": kind.source,
            "type": kind.type,
            "subject": str(payload[kind.subject]),
            "payload": payload,
            "timestamp_ms": timestamp_ms,
        }
        if self._version is not None:
            return Event.versioned(version=self._version if version is None else version, **named)
        if version is not None:
            raise TypeError(f"{kind} has no version: no versioned write stands behind it")
        return Event.unversioned(cause=cause, ordinal=ordinal, **named)

    def __repr__(self) -> str:
        return f"EventFactory({self.event_type})"
