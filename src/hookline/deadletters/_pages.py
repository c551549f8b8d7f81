"""What a page says: the incident as a value, without payload and without secrets."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from hookline.deadletters._incidents import MANY
from hookline.deadletters._text import one_line, rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import JsonValue
    from hookline.deadletters._incidents import Incident, IncidentKey

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Page:
    """One page about one incident. Every text is one bounded line that has passed the redactor.

    ``incident`` is the same for every page of one cause, also after a restart: a pager that folds repeats folds by it. ``count`` is how many dead letters this
    process has counted into the incident since it opened. Times are milliseconds since 1970: of the first and last failure, when the incident opened here, and
    when the page was written. ``subjects`` is what ``letter`` is about, such as `batch:batch-778`; what was attached as detail stays in the dead letter.
    """

    incident: str
    domain: str
    source: str
    type: str
    hooks: tuple[str, ...]
    code: str
    letter_class: str
    count: int
    update: bool
    first_failed_at_ms: int | None
    last_failed_at_ms: int | None
    opened_at_ms: int
    paged_at_ms: int
    letter: str
    command: str
    host: str | None = None
    http_status: int | None = None
    exception: str | None = None
    subjects: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Say it in one line."""
        letters = "1 dead letter" if self.count == 1 else f"{self.count} dead letters"
        hooks = f" of hook {', '.join(self.hooks)}" if self.hooks else ""
        status = f" (HTTP {self.http_status})" if self.http_status is not None else ""
        host = f" at {self.host}" if self.host else ""
        return one_line(
            f"{self.domain}: {letters}{hooks}: {self.code}{status}{host}, {self.type} from {self.source}", 400
        )

    @property
    def occasion(self) -> tuple[str, ...]:
        """What tells this page from every other one, the same when it is sent again."""
        return self.incident, self.letter, str(self.count)

    def labels(self) -> dict[str, str]:
        """Return what one incident keeps, by Alertmanager's customs; empty where it is not known."""
        return {
            "alertname": "HooklineDeadLetter",
            "code": self.code,
            "domain": self.domain,
            "event_source": self.source,
            "event_type": self.type,
            "hook": ",".join(self.hooks),
            "host": self.host or "",
        }

    def annotations(self) -> dict[str, str | None]:
        """Return what changes while an incident lasts; None where it is not known."""
        return {
            "summary": self.summary,
            "command": self.command,
            "count": str(self.count),
            "first_failed_at": rfc3339(self.first_failed_at_ms),
            "http_status": None if self.http_status is None else str(self.http_status),
            "last_failed_at": rfc3339(self.last_failed_at_ms),
            "letter": self.letter,
            "letter_class": self.letter_class,
            "subjects": ", ".join(self.subjects) or None,
        }

    def document(self) -> dict[str, JsonValue]:
        """Return the page as JSON: the fields by name, times as RFC 3339, what is not known left out."""
        document: dict[str, JsonValue] = {"kind": "hookline.dead_letters", "summary": self.summary}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name.endswith("_at_ms"):
                name, value = name.removesuffix("_ms"), rfc3339(value)  # noqa: PLW2901 - the JSON name and text of a time
            if value is not None:
                document[name] = list(value) if isinstance(value, tuple) else value
        return document


@dataclass(frozen=True, slots=True)
class PageWriter:
    """Writes pages for one domain. ``redact`` is applied to every text that came with a dead letter; ``config_path`` goes into the command to type."""

    domain: str
    redact: Callable[[str], str]
    config_path: str = "hookline.toml"

    def write(self, incident: Incident, now_ms: int) -> Page:
        """Write the page of an incident as it stands now."""
        key, sample = incident.key, incident.sample
        return Page(
            incident=key.digest(self.domain),
            domain=self.domain,
            source=self._safe(key.source),
            type=self._safe(key.type),
            hooks=tuple(self._safe(hook) for hook in key.hooks),
            code=self._safe(key.code),
            letter_class=sample.letter_class,
            count=incident.count,
            update=bool(incident.told),
            first_failed_at_ms=incident.first_failed_at_ms,
            last_failed_at_ms=incident.last_failed_at_ms,
            opened_at_ms=incident.opened_at_ms,
            paged_at_ms=now_ms,
            letter=sample.position,
            command=self.command(key),
            host=self._safe(sample.host) if sample.host else None,
            http_status=sample.http_status,
            exception=self._safe(sample.exception) if sample.exception else None,
            subjects=tuple(self._safe(subject) for subject in sample.subjects),
        )

    def command(self, key: IncidentKey) -> str:
        """Return the command that lists the incident's dead letters, quoted for a shell."""
        words = ["hookline", "dlq", "list"]
        for hook in key.hooks:
            words += ["--hook", self._safe(hook)]
        if not key.hooks:
            words += self._where(key)
        return shlex.join([*words, "--config", self.config_path])

    def _where(self, key: IncidentKey) -> list[str]:
        known = (("--type", key.type), ("--source", key.source))
        return [word for flag, text in known if text not in (UNKNOWN, MANY) for word in (flag, self._safe(text))]

    def _safe(self, text: str) -> str:
        return one_line(self.redact(text))
