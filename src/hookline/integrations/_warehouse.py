"""Events kept as rows of one SQL table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from hookline.integrations._batches import BatchWriter
from hookline.integrations._errors import NotOpenError
from hookline.integrations._sqlite import Row, SqliteTable, row_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from hookline.contract import Event

_SQLITE = "sqlite:///"
_SUPPORTED = "supported is sqlite:///relative/path or sqlite:////absolute/path"


class WarehouseOptions(BaseModel):
    """Keys of a hook of kind `warehouse`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    url: Annotated[str, Field(repr=False, description="The database: `sqlite:///path`.")]
    table: Annotated[
        str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$", description="The table; made when it is not there.")
    ] = "hook_events"
    busy_timeout_seconds: Annotated[float, Field(ge=0, description="Wait for another writer's lock this long.")] = 5.0

    @field_validator("url")
    @classmethod
    def _supported(cls, url: str) -> str:
        scheme = urlsplit(url).scheme
        if scheme != "sqlite":
            raise ValueError(f"a database of scheme {scheme[:40] or 'none'} cannot be written; {_SUPPORTED}")
        path = url.removeprefix(_SQLITE)
        if path in {"", url} or path.startswith(":memory:") or "?" in path:
            raise ValueError(f"a file is needed, and no parameters; {_SUPPORTED}")
        return url

    @property
    def path(self) -> Path:
        """The database file."""
        return Path(self.url.removeprefix(_SQLITE))


class Warehouse:
    """Keep one row for each (source, id), committed to disk before `handle` returns; a repeat changes nothing but its row.

    What happens together is one transaction. Other processes may read and write the database. For one event loop.
    """

    kind: ClassVar[str] = "warehouse"
    Options: ClassVar[type[BaseModel]] = WarehouseOptions

    def __init__(
        self, name: str, options: WarehouseOptions, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.name = name
        self.options = options
        self._now = now
        self._writer: BatchWriter[Row] | None = None

    async def __aenter__(self) -> Self:
        """Open the database, and make the table when it is not there.

        Raises sqlite3.Error or WarehouseSchemaError, and may be entered again after that.
        """
        options = self.options
        table = SqliteTable(options.path, options.table, busy_timeout_seconds=options.busy_timeout_seconds)
        writer = BatchWriter(table, name=f"warehouse-{self.name}")
        await writer.start()
        self._writer = writer
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what waits, and close the database."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.aclose()

    async def handle(self, event: Event) -> None:
        """Insert the event's row, or bring the one that is there up to it; returns when it is committed.

        Raises sqlite3.Error.
        """
        if self._writer is None:
            raise NotOpenError(self.name)
        await self._writer.submit(row_of(event, self._now()))
