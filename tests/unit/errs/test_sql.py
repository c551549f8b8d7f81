"""What a database's errors mean: the SQL table of docs/errors.md."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from hookline.errs import Verdict, classify
from tests.unit.errs.making import foreign

if TYPE_CHECKING:
    from pathlib import Path

AWAY = Verdict.INFRA_DEPENDENCY_RETRYABLE
REFUSED = Verdict.INFRA_DEPENDENCY


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("08006", AWAY),
        ("57P01", AWAY),
        ("57P04", REFUSED),
        ("57014", AWAY),
        ("53300", AWAY),
        ("40001", AWAY),
        ("40P01", AWAY),
        ("40002", REFUSED),
        ("55P03", AWAY),
        ("25006", AWAY),
        ("58030", AWAY),
        ("25P03", AWAY),
        ("25P04", AWAY),
        ("23505", REFUSED),
        ("42P01", REFUSED),
        ("22003", REFUSED),
        ("28P01", REFUSED),
        ("XX000", REFUSED),
    ],
)
@pytest.mark.parametrize("attribute", ["sqlstate", "pgcode"])
def test_sqlstates(state: str, verdict: Verdict, attribute: str) -> None:
    """The SQLSTATE decides, whichever driver carries it and whatever its class is called."""
    error = foreign("psycopg.errors", "Error", "DatabaseError", "OperationalError")
    setattr(error, attribute, state)
    assert classify(error) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (foreign("psycopg", "Error", "DatabaseError", "OperationalError", sqlstate=None), AWAY),
        (foreign("psycopg", "Error", "InterfaceError"), AWAY),
        (foreign("psycopg_pool.errors", "PoolTimeout"), AWAY),
        (foreign("asyncpg.exceptions", "InterfaceError"), AWAY),
        (foreign("pymysql.err", "MySQLError", "DatabaseError", "OperationalError"), AWAY),
        (foreign("psycopg", "Error", "DatabaseError", "DataError", sqlstate=None), REFUSED),
        (foreign("sqlalchemy.exc", "SQLAlchemyError", "TimeoutError"), AWAY),
        (foreign("sqlalchemy.exc", "SQLAlchemyError", "DisconnectionError"), AWAY),
        (foreign("sqlalchemy.exc", "DBAPIError", "InternalError", connection_invalidated=True), AWAY),
        (foreign("sqlalchemy.exc", "DBAPIError", "InternalError", connection_invalidated=False), Verdict.UNKNOWN),
        (foreign("mysql.connector.errors", "Error", "DatabaseError", "OperationalError", sqlstate="HY000"), AWAY),
        (foreign("mysql.connector.errors", "Error", "DatabaseError", "DataError", sqlstate="HY000"), REFUSED),
        (foreign("psycopg", "Error", "ProgrammingError"), Verdict.UNKNOWN),
    ],
    ids=repr,
)
def test_drivers_without_a_sqlstate(error: Exception, verdict: Verdict) -> None:
    """A driver that lost its server has no SQLSTATE; PEP 249's class names say it then."""
    assert classify(error) is verdict


@pytest.mark.parametrize(
    ("below", "verdict"),
    [
        (foreign("psycopg.errors", "Error", "OperationalError", sqlstate="57P01"), AWAY),
        (foreign("psycopg.errors", "Error", "IntegrityError", sqlstate="23505"), REFUSED),
        (foreign("asyncpg.exceptions", "PostgresError", "ConnectionDoesNotExistError", sqlstate="08003"), AWAY),
        (ConnectionRefusedError(), AWAY),
    ],
    ids=repr,
)
def test_sqlalchemy_is_seen_through(below: Exception, verdict: Verdict) -> None:
    """What SQLAlchemy raises from a driver's error means what that one means."""
    outer = foreign("sqlalchemy.exc", "SQLAlchemyError", "DBAPIError", "OperationalError", connection_invalidated=False)
    outer.__cause__ = below
    assert classify(outer) is verdict


def sqlite_error(code: int) -> sqlite3.OperationalError:
    """Make the error SQLite raises for a result code."""
    error = sqlite3.OperationalError("some text")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (sqlite3.SQLITE_BUSY, AWAY),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, AWAY),
        (sqlite3.SQLITE_LOCKED, AWAY),
        (sqlite3.SQLITE_FULL, AWAY),
        (sqlite3.SQLITE_IOERR, AWAY),
        (sqlite3.SQLITE_CANTOPEN, AWAY),
        (sqlite3.SQLITE_NOMEM, Verdict.INFRA_RETRYABLE),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, REFUSED),
        (sqlite3.SQLITE_CORRUPT, REFUSED),
        (sqlite3.SQLITE_READONLY, REFUSED),
    ],
)
def test_sqlite_result_codes(code: int, verdict: Verdict) -> None:
    """SQLite speaks by its result code, extended codes by their primary one, never by text."""
    assert classify(sqlite_error(code)) is verdict


def test_a_locked_sqlite_file_is_a_dependency_that_is_busy(tmp_path: Path) -> None:
    """A real lock held by another connection waits for it."""
    first, second = (sqlite3.connect(tmp_path / "w.db", timeout=0, isolation_level=None) for _ in range(2))
    try:
        first.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as caught:
            second.execute("BEGIN EXCLUSIVE")
    finally:
        first.close()
        second.close()
    assert classify(caught.value) is AWAY
