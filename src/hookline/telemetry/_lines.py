"""From a log record to a line."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import structlog

from hookline.telemetry._fields import WHOLE_FIELDS
from hookline.telemetry._plain import CUT, Plain, Redact, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TRACE_HEAD_CHARS: Final = 4096
_TRACE_TAIL_CHARS: Final = 12_288
# Controls other than tab and newline, and what turns text around: a value must not paint the terminal.
_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


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
            line["exception"] = self._trace(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = self._trace(record.stack_info)
        return line

    def _fields(self, record: logging.LogRecord) -> Mapping[str, Any]:
        own = getattr(record, self._own_fields, None)
        return own if isinstance(own, dict) else structlog.contextvars.get_contextvars()

    def _trace(self, text: str) -> str:
        if len(text) <= _TRACE_HEAD_CHARS + _TRACE_TAIL_CHARS:
            return self._redact(text)
        return self._redact(text[:_TRACE_HEAD_CHARS]) + f"\n{CUT}\n" + self._redact(text[-_TRACE_TAIL_CHARS:])


def render_json(line: dict[str, object]) -> str:
    """Return the line as JSON in ASCII: no control, escape or bidirectional character stands in it unescaped."""
    return json.dumps(line, separators=(",", ":"), default=readable)


def renderer_for_people(*, colors: bool, encoding: str) -> Callable[[dict[str, object]], str]:
    """Make the renderer for a terminal; what `encoding` cannot hold is escaped."""
    console = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)

    def render(line: dict[str, object]) -> str:
        shown = {name: _visible(value) for name, value in line.items()}
        text = str(console(None, str(line["level"]), shown))
        return text.encode(encoding, "backslashreplace").decode(encoding)

    return render


def _visible(value: object) -> object:
    return _CONTROLS.sub(_escaped, value) if isinstance(value, str) else value


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _head(record: logging.LogRecord, event: str) -> dict[str, object]:
    at = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
    return {
        "timestamp": at.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": event,
        "logger": record.name,
    }
