"""Looks for what would go wrong at start, without starting anything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.integrations import KINDS
from hookline.kafka import ClientConfig, KafkaClientError, TopicAdmin, check_producer
from hookline.service._hooks import build_hooks
from hookline.service._isolation import Isolation
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
    hooks = _problems_of(partial(_place_hooks, settings)) or _secret_problems(settings)
    return [*hooks, *check_connections(settings)]


def check_connections(settings: Settings) -> list[Problem]:
    """List what is wrong with the options of Kafka's clients and with the secrets of pagers; talks to nobody."""
    pagers = (partial(settings.pager_keys, index) for index in range(len(settings.pagers)))
    attempts: tuple[Callable[[], object], ...] = (partial(_make_clients, settings), *pagers)
    return [problem for attempt in attempts for problem in _problems_of(attempt)]


def _place_hooks(settings: Settings) -> None:
    """Make the hooks and find their groups. Raises `SettingsError`."""
    Isolation(settings, build_hooks(settings))


def _secret_problems(settings: Settings) -> list[Problem]:
    """List the files that hooks of the file would miss when they are entered."""
    return [problem for index in range(len(settings.hooks)) for problem in _problems_of_files(settings, index)]


def _problems_of_files(settings: Settings, index: int) -> list[Problem]:
    table = settings.hooks[index]
    ships = table.kind in KINDS
    named = {key: value for key, value in table.options.items() if key.endswith("_file")}
    wanted = {key: named[key] for key in named if key == "secret_file" or not ships}
    look = _read_secrets if ships else _open_files
    return [
        problem for key, files in wanted.items() for problem in _problems_of(partial(look, settings, index, key, files))
    ]


def _read_secrets(settings: Settings, index: int, key: str, files: str | list[str]) -> None:
    """Read files of `whsec_` secrets. Raises `SettingsError`."""
    spoken_key = spoken(("hooks", index, key), settings.names())
    for file in [files] if isinstance(files, str) else files:
        signing_keys(settings.path(file), spoken_key, settings.place("hooks", index))


def _open_files(settings: Settings, index: int, key: str, files: object) -> None:
    """Look whether the files that an option of a plug-in names can be read. Raises `SettingsError`."""
    for file in files if isinstance(files, list) else [files]:
        path = settings.path(str(file))
        try:
            if path.is_fifo():  # opening it would wait for who writes
                continue
            with path.open("rb"):
                continue
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            what = f"{spoken(('hooks', index, key), settings.names())}: file {path} cannot be read: {reason}"
            raise SettingsError(
                [Problem(what, settings.place("hooks", index), "mount the file, or correct its path")]
            ) from None


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
