"""Dead letters: the original record with the reason beside it, in text headers that any tool can show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, Self

from hookline.contract._failures import FailureDocument, HookFailure, Subject, clip_text, subjects_of
from hookline.contract._headers import Headers, read_text
from hookline.contract._redrives import Origin, Redrive, read_count, read_origin, redrive_headers, strip_reserved
from hookline.contract._times import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS, format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MAX_ATTRIBUTION_BYTES", "UNKNOWN_ORIGIN", "DeadLetter", "DeadLetterClass", "Shrink"]

# By so much may the dead-letter topic's limit lie above the hook topic's; what we add stays well below.
MAX_ATTRIBUTION_BYTES: Final = 64 * 1024

_DOCUMENT_BYTES: Final = 16 * 1024
_SHRUNK_DOCUMENT_BYTES: Final = 2 * 1024
_MESSAGE_BYTES: Final = 2 * 1024
_SHRUNK_MESSAGE_BYTES: Final = 128
_CODE_BYTES: Final = 128

_TOPIC: Final = "__dlq.errors.topic"
_PARTITION: Final = "__dlq.errors.partition"
_OFFSET: Final = "__dlq.errors.offset"
_GROUP: Final = "__dlq.errors.group"
_DELIVERY_COUNT: Final = "__dlq.errors.delivery.count"
_MESSAGE: Final = "__dlq.errors.message"
_CODE: Final = "hookline-dlq-code"
_CLASS: Final = "hookline-dlq-class"
_FAILED_AT: Final = "hookline-dlq-failed-at"
_FIRST_FAILED_AT: Final = "hookline-dlq-first-failed-at"
_ORIGIN: Final = "hookline-dlq-origin"
_REDRIVES: Final = "hookline-dlq-redrives"
_AGAIN: Final = "hookline-dlq-again"
_FAILURE: Final = "hookline-dlq-failure"
_DROPPED: Final = "hookline-dlq-dropped"

# Without these a reader cannot tell what the value is, so that even the barest letter keeps them.
_NEEDED_TO_READ: Final = frozenset(
    {"ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "ce_subject", "content-type"}
)

UNKNOWN_ORIGIN: Final = Origin("", -1, -1)


class DeadLetterClass(StrEnum):
    """Why a record became a dead letter."""

    MALFORMED = "malformed"
    PERMANENT = "permanent"
    EXHAUSTED = "exhausted"
    CRASHED = "crashed"


class Shrink(Enum):
    """How much of a dead letter is given up to make it fit, step by step.

    FAILURE cuts the failure document and the message; BARE also drops the producer's headers that reading the value
    does not need, and says so in `hookline-dlq-dropped`. Key and value are never given up.
    """

    NONE = 0
    FAILURE = 1
    BARE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record that could not be handled, and why.

    `key`, `value` and `headers` are the producer's own, byte for byte and in order; the headers without the
    reserved ones (`__dlq.*`, `hookline-*`). `source` is where the record was read when it failed this time,
    `origin` where it stood when it first failed (write-once over republishing), `group` who read it,
    `delivery_count` how often it was tried. `code` is a stable word, `message` one line for people, `failures` one
    member per hook that failed. Times are milliseconds since the epoch, of this delivery. `redrives` counts how
    often it was republished. `again` says that the record ran although its identity may have completed before, as its
    republication has to. `truncated` and `dropped_headers` say what was given up to make it fit.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers
    source: Origin
    group: str
    delivery_count: int
    message: str
    code: str
    letter_class: DeadLetterClass
    failed_at_ms: int
    first_failed_at_ms: int
    origin: Origin
    redrives: int = 0
    again: bool = False
    failures: tuple[HookFailure, ...] = ()
    truncated: bool = False
    dropped_headers: bool = False

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What the letter is about, each once: the hooks that failed, and what was attached to their failures."""
        return subjects_of(self.failures)

    @classmethod
    def of_record(  # noqa: PLR0913  # the parts of a record and of its failure, by name
        cls,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        *,
        source: Origin,
        group: str,
        delivery_count: int,
        letter_class: DeadLetterClass,
        code: str,
        message: str,
        failed_at_ms: int,
        first_failed_at_ms: int | None = None,
        failures: Sequence[HookFailure] = (),
    ) -> Self:
        """Make the letter of a record that was read at `source`.

        When the record had been republished, its count, its origin and its `again` go over into the letter; what earlier rounds
        wrote is replaced, so that the size stays the same over any number of rounds.
        """
        redrive = Redrive.from_headers(headers)
        return cls(
            key=key,
            value=value,
            headers=strip_reserved(headers),
            source=source,
            group=group,
            delivery_count=delivery_count,
            message=message,
            code=code,
            letter_class=letter_class,
            failed_at_ms=failed_at_ms,
            first_failed_at_ms=failed_at_ms if first_failed_at_ms is None else first_failed_at_ms,
            origin=(redrive and redrive.origin) or source,
            redrives=redrive.redrives if redrive else 0,
            again=redrive is not None and redrive.again,
            failures=tuple(failures),
        )

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None, headers: Headers) -> Self:
        """Read a record of a dead-letter topic. Total: without our headers it is a letter of code `unknown`.

        Also reads what Kafka itself writes for a share group (KIP-1191). Of a repeated header the last counts.
        """
        found = dict(headers)
        source = _read_source(found)
        document = FailureDocument.from_json(found.get(_FAILURE))
        failed_at_ms = _read_time(found.get(_FAILED_AT))
        return cls(
            key=key,
            value=value,
            headers=strip_reserved(headers),
            source=source,
            group=_text(found, _GROUP),
            delivery_count=read_count(found.get(_DELIVERY_COUNT)) or 0,
            message=_text(found, _MESSAGE),
            code=_text(found, _CODE) or "unknown",
            letter_class=_read_class(found.get(_CLASS)),
            failed_at_ms=failed_at_ms,
            first_failed_at_ms=_read_time(found.get(_FIRST_FAILED_AT)) or failed_at_ms,
            origin=read_origin(found.get(_ORIGIN)) or source,
            redrives=read_count(found.get(_REDRIVES)) or 0,
            again=found.get(_AGAIN) == b"true",
            failures=document.failures,
            truncated=document.truncated,
            dropped_headers=_DROPPED in found,
        )

    def record_headers(self, shrink: Shrink = Shrink.NONE) -> Headers:
        """Return the headers of the record to write: the producer's own, then the attribution."""
        dropped = self.dropped_headers or shrink is Shrink.BARE
        kept = tuple(header for header in self.headers if _is_needed(header[0])) if dropped else self.headers
        attribution = self._attribution(shrunk=shrink is not Shrink.NONE)
        if dropped:
            attribution[_DROPPED] = "headers"
        return kept + tuple((name, text.encode("utf-8", "replace")) for name, text in attribution.items())

    def republished(self, *, hooks: Sequence[str] | None, operation: str, again: bool = False) -> Headers:
        """Return the headers of the record to write back to the origin's topic, beside the same key and value.

        The producer's own, then the redrive's: `hooks` are the only ones to run (None: all), `operation` is the
        operator's operation id, `again` runs them even if the identity has completed since; so does the letter's own.
        """
        origin = None if self.origin == UNKNOWN_ORIGIN else self.origin
        names = None if hooks is None else tuple(hooks)
        redrive = Redrive(
            redrives=self.redrives + 1, hooks=names, operation=operation, again=again or self.again, origin=origin
        )
        return self.headers + redrive_headers(redrive)

    def _attribution(self, *, shrunk: bool) -> dict[str, str]:
        document = FailureDocument(self.failures, truncated=self.truncated)
        limit_bytes = _SHRUNK_DOCUMENT_BYTES if shrunk else _DOCUMENT_BYTES
        attribution = {
            _TOPIC: self.source.topic,
            _PARTITION: str(self.source.partition),
            _OFFSET: str(self.source.offset),
            _GROUP: self.group,
            _DELIVERY_COUNT: str(self.delivery_count),
            _MESSAGE: clip_text(self.message, _SHRUNK_MESSAGE_BYTES if shrunk else _MESSAGE_BYTES),
            _CODE: clip_text(self.code, _CODE_BYTES),
            _CLASS: self.letter_class.value,
            _FAILED_AT: _format(self.failed_at_ms),
            _FIRST_FAILED_AT: _format(self.first_failed_at_ms),
            _ORIGIN: str(self.origin),
            _REDRIVES: str(self.redrives),
        }
        again = {_AGAIN: "true"} if self.again else {}
        failures = {_FAILURE: document.to_json(limit_bytes=limit_bytes)} if self.failures else {}
        return attribution | again | failures


def _is_needed(name: str) -> bool:
    return name in _NEEDED_TO_READ or name.lower() == "content-type"


def _format(timestamp_ms: int) -> str:
    return format_time(min(max(timestamp_ms, MIN_TIMESTAMP_MS), MAX_TIMESTAMP_MS))


def _text(found: Mapping[str, bytes | None], name: str) -> str:
    return read_text(found.get(name) or b"")


def _read_source(found: Mapping[str, bytes | None]) -> Origin:
    topic, partition, offset = _text(found, _TOPIC), read_count(found.get(_PARTITION)), read_count(found.get(_OFFSET))
    if not topic or partition is None or offset is None:
        return UNKNOWN_ORIGIN
    return Origin(topic, partition, offset)


def _read_class(data: bytes | None) -> DeadLetterClass:
    try:
        return DeadLetterClass(read_text(data or b""))
    except ValueError:
        return DeadLetterClass.PERMANENT


def _read_time(data: bytes | None) -> int:
    try:
        return parse_time(read_text(data or b""))
    except ValueError:
        return 0
