"""From a log record to a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from hookline.telemetry._fields import WHOLE_FIELDS
from hookline.telemetry._people import for_people
from hookline.telemetry._plain import Plain, Redact, readable
from hookline.telemetry._traces import bounded, trace_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class LineFormatter(logging.Formatter):
    """Format any record, ours or a library's, as one line; a record that cannot be shown says so instead."""

    def __init__(self, render: Callable[[dict[str, object]], str], redact: Redact, *, own_fields: str) -> None:
        super().__init__()
        self._render = render
        self._redact = redact
        self._own_fields = own_fields

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. Never raises."""
        try:
            return self._render(self._line(record))
        except Exception as failed:  # noqa: BLE001  # a record nobody can print must not cost the next ones
            said = Plain(self._redact).text(readable(record.msg))
            lost = _head(record, "a log record could not be shown")
            return self._render({**lost, "said": said, "error": type(failed).__name__})

    def _line(self, record: logging.LogRecord) -> dict[str, object]:
        line = _head(record, Plain(self._redact).text(record.getMessage()))
        for name, value in self._fields(record).items():
            plain = Plain(self._redact, whole=name in WHOLE_FIELDS)
            line[name if name not in line else f"{name}_"] = plain.named(name, value)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = bounded(trace_text(record.exc_info), self._redact)
        if record.stack_info:
            line["stack"] = bounded(record.stack_info, self._redact)
        return line

    def _fields(self, record: logging.LogRecord) -> Mapping[str, Any]:
        own = getattr(record, self._own_fields, None)
        return own if isinstance(own, dict) else structlog.contextvars.get_contextvars()


def render_json(line: dict[str, object]) -> str:
    """Return the line as JSON in ASCII: no control, escape or bidirectional character stands in it unescaped."""
    return json.dumps(line, separators=(",", ":"), default=readable)


def renderer_for_people(*, colors: bool, encoding: str) -> Callable[[dict[str, object]], str]:
    """Make the renderer for a terminal; what `encoding` cannot hold is escaped."""
    console = structlog.dev.ConsoleRenderer(
        colors=colors, sort_keys=False, exception_formatter=structlog.dev.plain_traceback
    )

    def render(line: dict[str, object]) -> str:
        shown = {name: for_people(name, value) for name, value in line.items()}
        text = str(console(None, str(line["level"]), shown))
        return text.encode(encoding, "backslashreplace").decode(encoding)

    return render


def _head(record: logging.LogRecord, event: str) -> dict[str, object]:
    at = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
    return {
        "timestamp": at.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": event,
        "logger": record.name,
    }
