"""Events appended to a file of JSON lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from hookline.contract import event_to_json
from hookline.errs import retryable_dependency_error
from hookline.integrations._audit_file import AuditFile, AuditLine, identity_of
from hookline.integrations._batches import BatchWriter
from hookline.integrations._errors import AuditFileError, NotOpenError
from hookline.integrations._times import received_text
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from hookline.contract import Event


class AuditOptions(BaseModel):
    """Keys of a hook of kind `audit`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[Path, Field(description="The file to append to; its directory exists.")]


class Audit:
    """Append every event to a file of JSON lines, on disk before `handle` returns, once for each (source, id).

    What happens together is fsynced together. A repeat, also after a restart, adds no line. One process and one hook
    may write a file; a file that was moved away is begun anew. For one event loop.
    """

    kind: ClassVar[str] = "audit"
    Options: ClassVar[type[BaseModel]] = AuditOptions

    def __init__(
        self, name: str, options: AuditOptions, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.name = name
        self.options = options
        self._now = now
        self._writer: BatchWriter[AuditLine] | None = None

    async def __aenter__(self) -> Self:
        """Lock the file, repair its end, and read the identities in it.

        Raises AuditFileLockedError, AuditFileError or OSError, and may be entered again after that.
        """
        writer = BatchWriter(_AuditStore(self.name, self.options.path), name=f"audit-{self.name}")
        await writer.start()
        self._writer = writer
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what waits, and let go of the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.aclose()

    async def handle(self, event: Event) -> None:
        """Append the event; returns when its line is on disk, at once when it was there already.

        Raises OSError or AuditFileError when it could not be written, wrapped as a dependency that is away: whatever is wrong
        with the file, also after a rotation that went wrong, is wrong for every event and the fault of none.
        """
        if self._writer is None:
            raise NotOpenError(self.name)
        line = self._line(event)
        try:
            await self._writer.submit(line)
        except (OSError, AuditFileError) as error:
            raise retryable_dependency_error(error) from error

    def _line(self, event: Event) -> AuditLine:
        # The id first: by its beginning a torn first line is told from a file that is not ours.
        document = {"id": event.id} | event_to_json(event) | {"received_at": received_text(self._now())}
        raw = json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
        return AuditLine(identity_of(event.source, event.id), raw)


class _AuditStore:
    def __init__(self, hook: str, path: Path) -> None:
        self._path = path
        self._file: AuditFile | None = None
        self._log = get_logger(__name__).bind(hook=hook, path=str(path))

    def open(self) -> None:
        self._file = file = AuditFile(self._path)
        if file.torn_bytes_cut:
            self._log.warning("audit_torn_line_cut", bytes=file.torn_bytes_cut)
        if file.unreadable_lines:
            self._log.warning("audit_lines_unreadable", lines=file.unreadable_lines)

    def commit(self, lines: Sequence[AuditLine]) -> Sequence[Exception | None]:
        self._file_at_path().append(lines)
        return [None] * len(lines)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _file_at_path(self) -> AuditFile:
        if self._file is None or not self._file.is_at_its_path():
            self.close()
            self.open()
        assert self._file is not None  # noqa: S101 - open() sets it or raises
        return self._file
