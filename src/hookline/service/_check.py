"""Looks for what would go wrong at start, without starting anything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.kafka import ClientConfig, KafkaClientError, TopicAdmin, check_producer
from hookline.service._hooks import build_hooks
from hookline.service._problems import Problem, SettingsError
from hookline.service._secrets import signing_keys
from hookline.service._sources import spoken

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.service._settings import Settings


def check_settings(settings: Settings) -> list[Problem]:
    """List what is wrong with settings that could be read.

    Imports the application and makes every hook, reads the secrets of hooks and pagers, and lets librdkafka judge the
    options of its clients; it enters no hook, opens no port and talks to nobody. Empty when all is well.
    """
    hooks = _problems_of(partial(build_hooks, settings)) or _secret_problems(settings)
    return [*hooks, *check_connections(settings)]


def check_connections(settings: Settings) -> list[Problem]:
    """List what is wrong with the options of Kafka's clients and with the secrets of pagers; talks to nobody."""
    pagers = (partial(settings.pager_keys, index) for index in range(len(settings.pagers)))
    attempts: tuple[Callable[[], object], ...] = (partial(_make_clients, settings), *pagers)
    return [problem for attempt in attempts for problem in _problems_of(attempt)]


def _secret_problems(settings: Settings) -> list[Problem]:
    """List the secret files that hooks of the file would miss when they are entered."""
    indexes = range(len(settings.hooks))
    return [problem for index in indexes for problem in _problems_of(partial(_read_secrets, settings, index))]


def _read_secrets(settings: Settings, index: int) -> None:
    files = settings.hooks[index].options.get("secret_file", [])
    key = spoken(("hooks", index, "secret_file"), settings.names())
    for file in [files] if isinstance(files, str) else files:
        signing_keys(settings.path(file), key, settings.place("hooks", index))


def _problems_of(attempt: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        attempt()
    except SettingsError as error:
        return error.problems
    return ()


def _make_clients(settings: Settings) -> None:
    """Make a client of each table's options, one that knows no broker. Raises `SettingsError`."""
    settings.client_config()
    tables = settings.with_bootstrap("").kafka.tables()
    for table in ("common", "consumer", "admin"):
        _judge(settings, table, partial(_make_admin, tables["common"] | tables[table]))
    _judge(settings, "producer", partial(_make_producer, tables["common"], tables["producer"]))


class _Silent:
    def log(self, level: int, msg: str, *args: object) -> None:
        """Say nothing: a client without a broker complains of just that."""


def _make_admin(options: dict[str, str]) -> None:
    with TopicAdmin(ClientConfig(common=options, log=_Silent())):
        return


def _make_producer(common: dict[str, str], options: dict[str, str]) -> None:
    check_producer(ClientConfig(common=common, producer=options, log=_Silent()).producer())


def _judge(settings: Settings, table: str, make: Callable[[], None]) -> None:
    try:
        make()
    except KafkaClientError as error:
        where = settings.place("kafka", table)
        raise SettingsError([Problem(f"kafka.{table}: {error}", where, "see librdkafka's CONFIGURATION.md")]) from error
