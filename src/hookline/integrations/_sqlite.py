"""One SQLite table of events. Blocking; one thread."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from hookline.contract import format_time
from hookline.integrations._errors import WarehouseSchemaError
from hookline.integrations._times import received_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from hookline.contract import Event

_KEY = ("source", "id")


@dataclass(frozen=True, slots=True)
class Row:
    """One event as a row; the fields are the columns, in order. `payload` is JSON text, times are RFC 3339 in UTC."""

    source: str
    id: str
    type: str
    subject: str
    version: int
    timestamp_ms: int
    occurred_at: str | None
    payload: str
    received_at: str


COLUMNS = tuple(field.name for field in fields(Row))


def row_of(event: Event, received: datetime) -> Row:
    """Return the event's row; `occurred_at` is None when the event has no timestamp."""
    return Row(
        source=event.source,
        id=event.id,
        type=event.type,
        subject=event.subject,
        version=event.version,
        timestamp_ms=event.timestamp_ms,
        occurred_at=format_time(event.timestamp_ms) if event.timestamp_ms else None,
        payload=json.dumps(event.payload, separators=(",", ":"), allow_nan=False),
        received_at=received_text(received),
    )


class SqliteTable:
    """Upsert rows by (source, id), a batch in one transaction, durable when it returns (WAL, synchronous=FULL)."""

    def __init__(self, path: Path, table: str, *, busy_timeout_seconds: float) -> None:
        self._path = path
        self._table = table
        self._busy_timeout_seconds = busy_timeout_seconds
        self._connection: sqlite3.Connection | None = None
        self._upsert = _upsert(table)

    def open(self) -> None:
        """Connect and make the table; raises sqlite3.Error or WarehouseSchemaError."""
        # Autocommit: every transaction here is begun and ended by name.
        connection = sqlite3.connect(self._path, timeout=self._busy_timeout_seconds, isolation_level=None)
        self._connection = connection
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(_create(self._table))
        found = [column[1] for column in connection.execute(f'PRAGMA table_info("{self._table}")')]
        if not set(COLUMNS) <= set(found):
            raise WarehouseSchemaError(f"table {self._table} has the columns {found}, needed are {list(COLUMNS)}")

    def commit(self, rows: Sequence[Row]) -> Sequence[Exception | None]:
        """Write the rows in one transaction; a row that cannot be written fails alone.

        Raises sqlite3.Error when none was written.
        """
        assert self._connection is not None  # noqa: S101 - committed between open and close
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            failures = [self._write(connection, row) for row in rows]
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return failures

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _write(self, connection: sqlite3.Connection, row: Row) -> Exception | None:
        try:
            connection.execute(self._upsert, astuple(row))
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            # SQLite ends the whole transaction by itself when the disk is full or broken: then nobody is written.
            if not connection.in_transaction:
                raise
            return error
        return None


def _create(table: str) -> str:
    return (
        f'CREATE TABLE IF NOT EXISTS "{table}" (source TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, '
        "subject TEXT NOT NULL, version INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, occurred_at TEXT, "
        "payload TEXT NOT NULL, received_at TEXT NOT NULL, PRIMARY KEY (source, id))"
    )


def _upsert(table: str) -> str:
    """Return the statement; `received_at` stays that of the first time."""
    names, marks = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
    changed = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in {*_KEY, "received_at"})
    return (
        f'INSERT INTO "{table}" ({names}) VALUES ({marks}) '  # noqa: S608 - the table's name is held to an identifier
        f"ON CONFLICT (source, id) DO UPDATE SET {changed}"
    )
