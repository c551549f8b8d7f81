"""Events as lines of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from hookline.contract import Event

MAX_FIELD_CHARACTERS = 1024


class LogOptions(BaseModel):
    """Keys of a hook of kind `log`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Annotated[Literal["debug", "info", "warning", "error"], Field(description="Level of the line.")] = "info"
    payload: Annotated[bool, Field(description="Whether the line holds the payload; it may hold what is private.")] = (
        False
    )


class Log:
    """Write one structured log line for every event: a repeat is a second line of the same (source, event_id)."""

    kind: ClassVar[str] = "log"
    Options: ClassVar[type[BaseModel]] = LogOptions

    def __init__(self, name: str, options: LogOptions) -> None:
        self.name = name
        self.options = options
        self._log = get_logger(__name__)

    async def handle(self, event: Event) -> None:
        """Write the line `hook_event`; texts longer than 1,024 characters are cut, the payload never is."""
        texts = {"source": event.source, "event_id": event.id, "type": event.type, "subject": event.subject}
        line: dict[str, object] = {name: text[:MAX_FIELD_CHARACTERS] for name, text in texts.items()}
        line |= {"hook": self.name, "version": event.version, "timestamp_ms": event.timestamp_ms}
        if self.options.payload:
            line["payload"] = event.payload
        write = getattr(self._log, self.options.level)
        write("hook_event", **line)
