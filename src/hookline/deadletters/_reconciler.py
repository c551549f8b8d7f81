"""The reconciler: a dead letter is logged, counted and paged, and only then acknowledged."""

from __future__ import annotations

import asyncio
import base64
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.consume import Retry, RetryPolicy
from hookline.deadletters._clock import Clock
from hookline.deadletters._errors import PageNotAcceptedError
from hookline.deadletters._incidents import IncidentBook
from hookline.deadletters._letters import StoredLetter
from hookline.deadletters._pages import PageWriter
from hookline.deadletters._paging import Paging, Ticket
from hookline.deadletters._rows import detail_by_hook, failure_document
from hookline.deadletters._text import rfc3339
from hookline.errs import one_line
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from hookline.consume import Delivery
    from hookline.contract import JsonValue
    from hookline.deadletters._pagers import Pager
    from hookline.errs import Redactor
    from hookline.telemetry import Metrics

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """How a domain's dead letters are reconciled.

    ``log_payload`` False logs envelope, attribution and offset only. ``config_path`` goes into the command that a page names. The seconds are those of
    `IncidentBook`; ``repeat_seconds`` is how often a pager that forgets is told again.
    """

    config_path: str = "hookline.toml"
    log_payload: bool = True
    window_seconds: float = 300.0
    update_seconds: float = 60.0
    repeat_seconds: float = 60.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class ReconcilerStatus:
    """What a reconciler has done since it started: letters seen, letters whose page is out, pages accepted."""

    reconciled: int
    paged: int
    pages: int


class Reconciler:
    """A handler for the engine that reads a dead-letter topic. Belongs to one event loop.

    It never gives up: whatever fails, the letter is tried again, so no dead letter is ever dead-lettered. A letter is logged and counted once per process,
    paged by its incident, and done when the page was accepted. Enter it as an async context manager, so that standing alerts are repeated.
    """

    def __init__(
        self,
        *,
        domain: str,
        metrics: Metrics,
        redactor: Redactor,
        pagers: Sequence[Pager] = (),
        settings: ReconcilerSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings or ReconcilerSettings()
        self._metrics = metrics
        self._redactor = redactor
        self._paging = Paging(
            pagers,
            book=IncidentBook(
                window_seconds=self._settings.window_seconds, update_seconds=self._settings.update_seconds
            ),
            writer=PageWriter(domain, redactor.redact, self._settings.config_path),
            metrics=metrics,
            clock=clock or Clock(),
        )
        self._reconciled = 0
        self._paged = 0
        self._repeater: asyncio.Task[None] | None = None

    @property
    def status(self) -> ReconcilerStatus:
        """What it has done so far."""
        return ReconcilerStatus(self._reconciled, self._paged, self._paging.accepted_pages)

    def identify(self, delivery: Delivery) -> None:
        """Say nothing: every dead letter counts, also the second one of an event."""
        del delivery

    async def handle(self, delivery: Delivery) -> None:
        """Log, count and page one dead letter; return when its page was accepted, else raise `PageNotAcceptedError`."""
        stored = StoredLetter.read(delivery.record)
        if not isinstance(delivery.progress, Ticket):
            delivery.progress = self._take_in(stored)
        delivery.progress = await self._paging.release(stored.sighting, delivery.progress)
        self._paged += 1

    def decide(self, delivery: Delivery, error: BaseException) -> Retry:
        """Try again, always: after the time that the error names, else after the backoff.

        A page that is owed or was refused is said where it was sent; any other failure is a defect, and said here.
        """
        if not isinstance(error, PageNotAcceptedError):
            self._log_defect(delivery, error)
        elif error.delay_seconds is not None:
            return Retry(error.delay_seconds)
        return Retry(self._settings.retry.delay_seconds(delivery.attempt))

    async def repeat_standing_pages(self) -> None:
        """Tell pagers that forget once more of the incidents that last."""
        await self._paging.repeat_standing_pages()

    async def __aenter__(self) -> Self:
        """Start repeating standing pages, if any pager needs it."""
        if self._paging.repeats:
            self._repeater = asyncio.create_task(self._repeat_for_ever(), name="hookline-repeat-pages")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop repeating."""
        if self._repeater is None:
            return
        self._repeater.cancel()
        with suppress(asyncio.CancelledError):
            await self._repeater

    async def _repeat_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.repeat_seconds)
            await self.repeat_standing_pages()

    def _take_in(self, stored: StoredLetter) -> Ticket:
        self._log_letter(stored)
        self._metrics.reconciled_total.inc()
        self._metrics.reconciled_by_type_total.inc(source=stored.sighting.key.source, type=stored.sighting.key.type)
        self._reconciled += 1
        return self._paging.count(stored.sighting)

    def _log_letter(self, stored: StoredLetter) -> None:
        fields = {"id": stored.id, **self._attribution(stored), **_envelope(stored)}
        if self._settings.log_payload:
            fields |= _content(stored)
        fields["show"] = shlex.join(["hookline", "dlq", "show", stored.id, "--config", self._settings.config_path])
        _log.error("dead letter", **{name: value for name, value in fields.items() if value is not None})

    def _log_defect(self, delivery: Delivery, error: BaseException) -> None:
        record, text = delivery.record, one_line(error, redact=self._redactor.redact)
        id = f"{record.partition}/{record.offset}"
        attempt = delivery.attempt
        _log.error("dead letter not reconciled, trying again", id=id, topic=record.topic, attempt=attempt, error=text)

    def _attribution(self, stored: StoredLetter) -> dict[str, object]:
        letter, seen = stored.letter, stored.sighting
        return {
            "hook": ", ".join(stored.hooks) or None,
            "error": self._redactor.redact(letter.message),
            "code": letter.code,
            "letter_class": seen.letter_class,
            "host": seen.host,
            "http_status": seen.http_status,
            "attempts": letter.delivery_count,
            "redrives": letter.redrives,
            "failed_at": rfc3339(stored.failed_at_ms),
            "origin": str(stored.origin) if stored.origin else None,
            "failure_subjects": [self._redactor.redact(str(subject)) for subject in stored.subjects] or None,
            "failure_detail": detail_by_hook(letter.failures, self._redactor.redact) or None,
            "failures": [
                _without_attribution(failure_document(each, self._redactor.redact)) for each in letter.failures
            ],
        }


def _without_attribution(document: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in document.items() if name not in {"subjects", "detail"}}


def _envelope(stored: StoredLetter) -> dict[str, object]:
    event = stored.event
    if event is None:
        return {"topic": stored.record.topic}
    return {
        "topic": stored.record.topic,
        "event_id": event.id,
        "source": event.source,
        "type": event.type,
        "subject": event.subject,
        "version": event.version,
        "timestamp_ms": event.timestamp_ms,
    }


def _content(stored: StoredLetter) -> dict[str, object]:
    """Return what the event says, or, of what could not be read as one, key and value as base64 (null stays null)."""
    if stored.event is not None:
        return {"payload": stored.event.payload, "attributes": dict(stored.event.attributes) or None}
    return {"payload": {"key_base64": _base64(stored.record.key), "value_base64": _base64(stored.record.value)}}


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode("ascii")
