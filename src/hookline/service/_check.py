"""Looks for what would go wrong at start, without starting anything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.service._hooks import build_hooks
from hookline.service._problems import Problem, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.service._settings import Settings


def check_settings(settings: Settings) -> list[Problem]:
    """List what is wrong with settings that could be read.

    Imports the application and makes every hook, reads the secrets of pagers, and makes the options of the Kafka clients; it
    enters no hook, opens no port and talks to nobody. Empty when all is well.
    """
    pagers = (partial(settings.pager_secrets, index) for index in range(len(settings.pagers)))
    attempts: tuple[Callable[[], object], ...] = (settings.client_config, partial(build_hooks, settings), *pagers)
    return [problem for attempt in attempts for problem in _problems_of(attempt)]


def _problems_of(attempt: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        attempt()
    except SettingsError as error:
        return error.problems
    return ()
