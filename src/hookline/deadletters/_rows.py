"""A dead letter as data for people and for scripts: one row of a list, or the whole of it."""

from __future__ import annotations

import base64
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hookline.contract import event_to_json
from hookline.deadletters._text import one_line, rfc3339
from hookline.errs import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookline.contract import Headers, HookFailure, JsonValue
    from hookline.deadletters._letters import StoredLetter


@dataclass(frozen=True, slots=True)
class Row:
    """One dead letter in a list.

    ``id`` is stable: partition/offset in the dead-letter topic. The envelope is None where key, value and headers make no event. ``republished`` says that it
    was sent back to its hook topic before, as far as that topic still remembers.
    """

    id: str
    event_id: str | None
    source: str | None
    type: str | None
    subject: str | None
    hooks: tuple[str, ...]
    code: str
    letter_class: str
    message: str
    failed_at_ms: int | None
    redrives: int
    origin: str | None
    republished: bool

    @classmethod
    def of(cls, stored: StoredLetter, *, republished: bool, redact: Callable[[str], str]) -> Row:
        """Make the row of a dead letter."""
        event, letter = stored.event, stored.letter
        return cls(
            id=stored.id,
            event_id=event.id if event else None,
            source=event.source if event else None,
            type=event.type if event else None,
            subject=event.subject if event else None,
            hooks=stored.hooks,
            code=letter.code,
            letter_class=str(letter.letter_class),
            message=one_line(redact(letter.message), 500),
            failed_at_ms=stored.failed_at_ms,
            redrives=letter.redrives,
            origin=str(stored.origin) if stored.origin else None,
            republished=republished,
        )

    def document(self) -> dict[str, JsonValue]:
        """Return the row as JSON."""
        return {
            "id": self.id,
            "event_id": self.event_id,
            "source": self.source,
            "type": self.type,
            "subject": self.subject,
            "hooks": list(self.hooks),
            "code": self.code,
            "class": self.letter_class,
            "message": self.message,
            "failed_at": rfc3339(self.failed_at_ms),
            "redrives": self.redrives,
            "origin": self.origin,
            "republished": self.republished,
        }


@dataclass(frozen=True, slots=True)
class Detail:
    """The whole of one dead letter: its row, every header in order, the failures, and the event or the bytes."""

    row: Row
    stored: StoredLetter
    redact: Callable[[str], str]

    def document(self) -> dict[str, JsonValue]:
        """Return everything as JSON. Bytes that are no UTF-8 are base64 under a name that says so; null stays null."""
        record, letter = self.stored.record, self.stored.letter
        return {
            **self.row.document(),
            "letter": str(self.stored.position),
            "written_at": rfc3339(record.timestamp_ms),
            "group": letter.group,
            "source_position": str(letter.source) if self.stored.failure else None,
            "delivery_count": letter.delivery_count,
            "first_failed_at": rfc3339(letter.first_failed_at_ms or None),
            "failures": [failure_document(failure, self.redact) for failure in letter.failures],
            "headers": headers_document(record.headers),
            "event": None if self.stored.event is None else event_to_json(self.stored.event),
            **bytes_document("key", record.key),
            **bytes_document("value", record.value),
        }


def failure_document(failure: HookFailure, redact: Callable[[str], str]) -> dict[str, JsonValue]:
    """Return how one hook failed as JSON, its texts through the redactor once more: the letter may be foreign."""
    fields = {each.name: getattr(failure, each.name) for each in dataclasses.fields(failure)}
    subjects = [{"type": each.type, "id": each.id} for each in failure.subjects]
    shown = redacted(fields | {"subjects": subjects}, redact)
    return cast("dict[str, JsonValue]", shown)


def detail_by_hook(failures: Iterable[HookFailure], redact: Callable[[str], str]) -> dict[str, JsonValue]:
    """Return what hooks attached to their failures by their names; a hook that attached nothing is left out."""
    return {failure.hook: cast("JsonValue", redacted(failure.detail, redact)) for failure in failures if failure.detail}


def headers_document(headers: Headers) -> list[JsonValue]:
    """Return headers as a list of objects, in order and with repeats."""
    return [{"name": name, **bytes_document("value", value)} for name, value in headers]


def bytes_document(name: str, raw: bytes | None) -> dict[str, JsonValue]:
    """Return bytes under ``name`` when they are UTF-8 or null, else as base64 under ``name_base64``."""
    if raw is None:
        return {name: None}
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(raw).decode("ascii")}
