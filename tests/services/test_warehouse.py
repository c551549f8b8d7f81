from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hookline.contract import Event
from hookline.errs import Verdict, classify
from hookline.integrations import Warehouse, WarehouseOptions, WarehouseSchemaError
from hookline.integrations._sqlite import Row, SqliteTable, row_of
from tests.unit.integrations.events import failed_batch

if TYPE_CHECKING:
    from pathlib import Path

RECEIVED = datetime(2026, 11, 30, 10, 0, 1, tzinfo=UTC)


def warehouse_at(path: Path, **options: Any) -> Warehouse:
    return Warehouse("warehouse", WarehouseOptions(url=f"sqlite:///{path}", **options), now=lambda: RECEIVED)


def rows_of(path: Path, query: str = "SELECT * FROM hook_events") -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


async def test_an_event_is_one_row_with_everything(tmp_path: Path) -> None:
    """A row holds the envelope, both times and the payload as JSON text."""
    async with warehouse_at(tmp_path / "events.db") as warehouse:
        await warehouse.handle(failed_batch())
    [row] = rows_of(tmp_path / "events.db")
    assert json.loads(row.pop("payload")) == {"batch_id": "batch-778", "error": "merge conflict", "size": 3}
    assert row == {
        "source": "submitqueue",
        "id": "submitqueue/batch.failed/batch-778/4",
        "type": "batch.failed",
        "subject": "batch-778",
        "version": 4,
        "timestamp_ms": 1_796_032_800_123,
        "occurred_at": "2026-11-30T10:00:00.123Z",
        "received_at": "2026-11-30T10:00:01.000Z",
    }


async def test_a_thousand_concurrent_events_are_a_thousand_rows(tmp_path: Path) -> None:
    """Concurrent handles are written together, each event once."""
    async with warehouse_at(tmp_path / "events.db") as warehouse:
        await asyncio.gather(*(warehouse.handle(failed_batch(number)) for number in range(1000)))
    rows = rows_of(tmp_path / "events.db", "SELECT subject FROM hook_events ORDER BY rowid")
    assert [row["subject"] for row in rows] == [f"batch-{number}" for number in range(1000)]


async def test_a_repeat_leaves_one_row(tmp_path: Path) -> None:
    """P4: a repeat of (source, id), in one batch or after a restart, is the same row, received when it first came."""
    path = tmp_path / "events.db"
    async with warehouse_at(path) as warehouse:
        await asyncio.gather(*(warehouse.handle(failed_batch()) for _ in range(10)))
    later = Warehouse("warehouse", WarehouseOptions(url=f"sqlite:///{path}"))
    async with later:
        await later.handle(failed_batch(error="told again"))
    [row] = rows_of(path)
    assert json.loads(row["payload"])["error"] == "told again"
    assert row["received_at"] == "2026-11-30T10:00:01.000Z"


async def test_a_row_that_cannot_be_written_fails_alone(tmp_path: Path) -> None:
    """P7: an event that the database refuses does not take its neighbours of the batch with it."""
    refused = Event(id="1", source="s", type="t", version=2**70)
    async with warehouse_at(tmp_path / "events.db") as warehouse:
        outcomes = await asyncio.gather(
            warehouse.handle(failed_batch(1)),
            warehouse.handle(refused),
            warehouse.handle(failed_batch(2)),
            return_exceptions=True,
        )
    assert [type(outcome) for outcome in outcomes] == [type(None), OverflowError, type(None)]
    assert len(rows_of(tmp_path / "events.db")) == 2


async def test_values_are_data_not_sql(tmp_path: Path) -> None:
    """Quotes and statements in an event end up as text in the row, in a table of any allowed name."""
    hostile = "'); DROP TABLE hook_events; --"
    async with warehouse_at(tmp_path / "events.db", table="select") as warehouse:
        await warehouse.handle(Event(id=hostile, source=hostile, type=hostile, subject=hostile))
    [row] = rows_of(tmp_path / "events.db", 'SELECT * FROM "select"')
    assert (row["id"], row["source"], row["occurred_at"], row["payload"]) == (hostile, hostile, None, "{}")


async def test_a_locked_database_fails_the_events_and_recovers(tmp_path: Path) -> None:
    """P1: while another writer holds the lock the events fail as SQLite's error; once it is free they are written."""
    path = tmp_path / "events.db"
    async with warehouse_at(path, busy_timeout_seconds=0) as warehouse:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(sqlite3.OperationalError) as caught:
                await warehouse.handle(failed_batch())
            other.execute("ROLLBACK")
        assert classify(caught.value) is Verdict.INFRA_DEPENDENCY_RETRYABLE
        await warehouse.handle(failed_batch())
    assert len(rows_of(path)) == 1


def test_a_full_database_fails_what_it_cannot_hold(tmp_path: Path) -> None:
    """P1: a batch that fills the database is told so, row by row or as a whole, and what was told written is there."""
    path = tmp_path / "events.db"
    table = SqliteTable(path, "hook_events", busy_timeout_seconds=0)
    rows = [row_of(failed_batch(number, error="x" * size), RECEIVED) for number, size in ((1, 1), (2, 10**6), (3, 1))]
    table.open()
    assert table._connection is not None
    [pages] = table._connection.execute("PRAGMA page_count").fetchone()
    table._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    outcomes = _outcomes(table, rows)
    assert table.commit([row_of(failed_batch(4), RECEIVED)]) == [None]
    table.close()
    told = {row.subject for row, outcome in zip(rows, outcomes, strict=True) if outcome is None}
    assert isinstance(outcomes[1], sqlite3.Error)
    assert {row["subject"] for row in rows_of(path)} == told | {"batch-4"}


def _outcomes(table: SqliteTable, rows: list[Row]) -> list[Exception | None]:
    try:
        return list(table.commit(rows))
    except sqlite3.Error as error:
        return [error] * len(rows)


async def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    """A table that is not ours is a typed error when the hook is opened, not a failure of every event."""
    with closing(sqlite3.connect(tmp_path / "events.db")) as connection:
        connection.execute("CREATE TABLE hook_events (id TEXT)")
    with pytest.raises(WarehouseSchemaError):
        await warehouse_at(tmp_path / "events.db").__aenter__()


async def test_a_database_that_cannot_be_opened_is_sqlites_error(tmp_path: Path) -> None:
    """A missing directory or a file of something else is a plain sqlite3 error, and the hook may be entered again."""
    warehouse = warehouse_at(tmp_path / "later" / "events.db")
    with pytest.raises(sqlite3.OperationalError):
        await warehouse.__aenter__()
    (tmp_path / "other").write_text("no database " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        await warehouse_at(tmp_path / "other").__aenter__()
    (tmp_path / "later").mkdir()
    async with warehouse:
        await warehouse.handle(failed_batch())


def test_commits_are_durable_and_readers_do_not_wait(tmp_path: Path) -> None:
    """P1: the database runs in WAL mode with synchronous=FULL, so a commit is on disk and a reader blocks nobody."""
    path = tmp_path / "events.db"
    table = SqliteTable(path, "hook_events", busy_timeout_seconds=0)
    table.open()
    assert table._connection is not None
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM hook_events").fetchone()
        assert table.commit([row_of(failed_batch(), RECEIVED)]) == [None]
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert table._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    table.close()
