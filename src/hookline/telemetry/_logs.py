"""One log line for each thing that happened, from whatever library, in one shape.

Records go through the standard library's logging, so a host application that configures logging itself keeps its own
look, and `configure_logging` is for the process that hookline owns.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, cast

import structlog
from structlog.contextvars import merge_contextvars

from hookline.telemetry._lines import LineFormatter, render_json, renderer_for_people
from hookline.telemetry._traces import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import EventDict, Processor

LogFormat = Literal["json", "console"]

_FIELDS: Final = "hookline"
# Their lines at "info" are one for each request, and name URLs.
_CHATTY: Final = ("httpx", "httpx2", "httpcore", "httpcore2", "urllib3", "asyncio")
_UVICORN: Final = ("uvicorn", "uvicorn.error", "uvicorn.access")


class LineHandler(logging.StreamHandler[TextIO]):
    """Write lines to one stream; known by its type, so that configuring again replaces it."""


def configure_logging(
    *,
    format: LogFormat = "json",  # noqa: A002  # the setting's own name
    level: str = "info",
    stream: TextIO | None = None,
    redact: Callable[[str], str] = str,
) -> None:
    """Send every log record of this process to `stream` (standard output) as one line.

    `redact` sees every string of a line, the tracebacks too. Records of the standard library's loggers (uvicorn's,
    and librdkafka's where a client is given a logger) take the same way, as do structlog's own loggers. Calling it
    again replaces what the last call set up. Global by nature: the root logger and structlog's defaults.
    """
    stream = stream if stream is not None else sys.stdout
    handler = LineHandler(stream)
    handler.setFormatter(LineFormatter(_renderer(format, stream), redact, own_fields=_FIELDS))
    _install(handler, level)
    structlog.configure(
        processors=_PROCESSORS,
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger `name`: `log.warning("dead letter held", hook="ci", attempt=3)`.

    Cheap when its level is off. Independent of structlog's configuration: it hands records to the standard library's
    logger of the same name.
    """
    bound = structlog.wrap_logger(
        logging.getLogger(name),
        processors=_PROCESSORS,
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )
    return cast("structlog.stdlib.BoundLogger", bound)


def _hand_over(_logger: object, _method: str, event_dict: EventDict) -> tuple[tuple[object, ...], dict[str, Any]]:
    args = event_dict.pop("positional_args", ())
    known = {name: event_dict.pop(name) for name in ("exc_info", "stack_info", "stacklevel") if name in event_dict}
    if isinstance(known.get("exc_info"), tuple):
        known["exc_info"] = printable(known["exc_info"])
    event = event_dict.pop("event", "")
    return (event, *args), {**known, "extra": {_FIELDS: dict(event_dict)}}


_PROCESSORS: Final[list[Processor]] = [
    structlog.stdlib.filter_by_level,
    merge_contextvars,
    cast("Processor", _hand_over),
]


def _renderer(format: LogFormat, stream: TextIO) -> Callable[[dict[str, object]], str]:  # noqa: A002  # the setting's own name
    if format == "json":
        return render_json
    colors = stream.isatty() and not os.environ.get("NO_COLOR")
    return renderer_for_people(colors=colors, encoding=getattr(stream, "encoding", None) or "utf-8")


def _install(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, LineHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(
            max(root.level, logging.WARNING) if root.level > logging.DEBUG else logging.NOTSET
        )
    for name in _UVICORN:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
