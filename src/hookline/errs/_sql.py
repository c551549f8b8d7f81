"""What a database failure means: by SQLSTATE, by SQLite's result code, else by PEP 249's class names."""

from __future__ import annotations

from typing import Final

from hookline.errs._names import lookup, packages
from hookline.errs._verdict import Verdict
from hookline.errs._walk import peek

_DRIVERS: Final = frozenset(
    {
        "psycopg",
        "psycopg2",
        "psycopg_pool",
        "asyncpg",
        "pymysql",
        "MySQLdb",
        "mysql",
        "mariadb",
        "aiomysql",
        "asyncmy",
        "oracledb",
        "pyodbc",
    }
)
_NAMES: Final[dict[tuple[str, str], Verdict]] = {
    **{(driver, "OperationalError"): Verdict.INFRA_DEPENDENCY_RETRYABLE for driver in _DRIVERS},
    **{(driver, "InterfaceError"): Verdict.INFRA_DEPENDENCY_RETRYABLE for driver in _DRIVERS},
    **{(driver, "DatabaseError"): Verdict.INFRA_DEPENDENCY for driver in _DRIVERS},
    ("asyncpg", "PostgresError"): Verdict.INFRA_DEPENDENCY,
    ("psycopg_pool", "PoolTimeout"): Verdict.INFRA_DEPENDENCY_RETRYABLE,
    ("sqlalchemy", "TimeoutError"): Verdict.INFRA_DEPENDENCY_RETRYABLE,
    ("sqlalchemy", "DisconnectionError"): Verdict.INFRA_DEPENDENCY_RETRYABLE,
}

# Longest prefix first. Sources: PostgreSQL manual, appendix A; a read-only transaction is what a failover looks like.
_SQLSTATES: Final = (
    ("40002", Verdict.INFRA_DEPENDENCY),
    ("57P04", Verdict.INFRA_DEPENDENCY),
    ("57014", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("25P03", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("25P04", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("25006", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("55P03", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("55006", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("57P", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("08", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("40", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("53", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("58", Verdict.INFRA_DEPENDENCY_RETRYABLE),
    ("", Verdict.INFRA_DEPENDENCY),
)
_SQLSTATE_LENGTH: Final = 5
_SAYS_NOTHING: Final = "HY000"  # what MySQL's drivers give where there is no better one, a lost server among it

# Primary result codes of sqlite.org/rescode.html that pass by themselves; every other is permanent.
_SQLITE: Final = {
    5: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # BUSY: another connection holds the lock
    6: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # LOCKED: another statement of this one does
    7: Verdict.INFRA_RETRYABLE,  # NOMEM
    9: Verdict.INFRA_RETRYABLE,  # INTERRUPT
    10: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # IOERR
    13: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # FULL
    14: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # CANTOPEN
    15: Verdict.INFRA_DEPENDENCY_RETRYABLE,  # PROTOCOL: lost a race for the lock
}
_PRIMARY: Final = 0xFF


def sql_classifier(error: BaseException) -> Verdict:
    """Claim database failures: away, busy or in failover InfraDependencyRetryable, any other InfraDependency.

    Never User: a refused row is a dependency's refusal, and only the hook can know whose fault it is.
    """
    if peek(error, "connection_invalidated") is True:  # SQLAlchemy's: the connection is gone, whatever the driver said
        return Verdict.INFRA_DEPENDENCY_RETRYABLE
    state = sqlstate(error)
    if state is not None and state != _SAYS_NOTHING:
        return next(verdict for prefix, verdict in _SQLSTATES if state.startswith(prefix))
    code = peek(error, "sqlite_errorcode")
    if isinstance(code, int):
        return _SQLITE.get(code & _PRIMARY, Verdict.INFRA_DEPENDENCY)
    return lookup(error, _NAMES) or Verdict.UNKNOWN


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE an error carries, by psycopg's, asyncpg's or psycopg2's attribute."""
    found = (peek(error, name) for name in ("sqlstate", "pgcode"))
    return next((state for state in found if isinstance(state, str) and len(state) == _SQLSTATE_LENGTH), None)


def is_sql(error: BaseException) -> bool:
    """Tell whether a database driver raised `error`."""
    return sqlstate(error) is not None or not packages(error).isdisjoint(_DRIVERS | {"sqlite3"})
