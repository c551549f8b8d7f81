"""Answering probes while the settings cannot be used, so that a sidecar does not take its neighbour out of service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from hookline.service._health import Check, HealthServer
from hookline.service._problems import SettingsError
from hookline.telemetry import Metrics, get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.service._listen import ListenAddress

T = TypeVar("T")

_TRY_SECONDS = 2.0
_HOLD_OFF_SECONDS = 10.0

_log = get_logger(__name__)


async def wait_until_usable(load: Callable[[], T], listen: ListenAddress, stopping: asyncio.Event) -> T | None:
    """Try `load` again and again until it raises no SettingsError, and return what it gave; None when told to stop.

    Meanwhile `listen` answers: `/livez` is green, `/readyz` says what is wrong. Nothing listens when this returns.
    """
    problem = _problem_of(load)
    if not isinstance(problem, SettingsError):
        return problem
    async with HealthServer(listen, lambda: [Check("process")], lambda: [_check(problem)], Metrics(domain="unknown")):
        said = ""
        while isinstance(problem, SettingsError):
            if str(problem) != said:
                said = str(problem)
                _log.error("settings cannot be used, trying again", error=said, every_seconds=_TRY_SECONDS)
            if await _told(stopping, _TRY_SECONDS):
                return None
            problem = _problem_of(load)
    return problem


async def hold_off(problem: SettingsError, listen: ListenAddress, stopping: asyncio.Event) -> None:
    """Answer probes in the same way for a while: the settings were usable, and Kafka has shown that they are not."""
    async with HealthServer(listen, lambda: [Check("process")], lambda: [_check(problem)], Metrics(domain="unknown")):
        _log.error("settings cannot be used, trying again", error=str(problem), every_seconds=_HOLD_OFF_SECONDS)
        await _told(stopping, _HOLD_OFF_SECONDS)


def _problem_of(load: Callable[[], T]) -> T | SettingsError:
    try:
        return load()
    except SettingsError as error:
        return error


def _check(problem: object) -> Check:
    return Check("settings", "; ".join(str(problem).splitlines()))


async def _told(stopping: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await stopping.wait()
    except TimeoutError:
        return False
