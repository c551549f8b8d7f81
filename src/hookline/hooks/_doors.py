"""Entering and leaving the hooks that are async context managers."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from hookline.consume import Raised, RetryPolicy, invoke
from hookline.errs import one_line
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._hook import Hook

_REENTER = RetryPolicy(initial_seconds=0.5, max_seconds=30.0)

_log = get_logger(__name__)


class HookNotReadyError(Exception):
    """The hook could not be entered yet; its events wait, and nothing is charged."""


class Doors:
    """Keeps hooks entered. Each has a task of its own, so that it is left in the task that entered it."""

    def __init__(self) -> None:
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._opened: dict[str, asyncio.Event] = {}
        self._closing = asyncio.Event()
        self._doorless = set[str]()
        """Names of hooks that are no context managers."""

    def enter(self, hooks: Iterable[Hook]) -> None:
        """Begin to enter hooks; those that are no context managers are ready as they are."""
        for hook in hooks:
            if not isinstance(hook, AbstractAsyncContextManager):
                self._doorless.add(hook.name)
            elif hook.name not in self._keepers:
                self._opened[hook.name] = asyncio.Event()
                self._keepers[hook.name] = asyncio.create_task(self._keep(hook.name, hook))

    def is_open(self, hook: Hook) -> bool:
        """Tell whether a hook may be given events; one that was not known before is entered now."""
        name = hook.name
        if name in self._doorless:
            return True
        if name not in self._opened:
            self.enter((hook,))
        return name not in self._opened or self._opened[name].is_set()

    def waiting(self) -> list[str]:
        """Name the hooks that are not entered yet."""
        return [name for name, opened in self._opened.items() if not opened.is_set()]

    async def leave(self, seconds: float) -> None:
        """Leave all hooks, at most so long; those that take longer are cancelled."""
        self._closing.set()
        if not self._keepers:
            return
        _, late = await asyncio.wait(self._keepers.values(), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            names = [name for name, task in self._keepers.items() if task in late]
            _log.warning("hooks did not close in time", hooks=names, waited_seconds=seconds)
            await asyncio.wait(late, timeout=1.0)

    async def _keep(self, name: str, hook: AbstractAsyncContextManager[object]) -> None:
        attempt = 0
        while not self._closing.is_set():
            attempt += 1
            result = await invoke(self._stay(name, hook))
            if not isinstance(result, Raised):
                return
            if self._closing.is_set():
                _log.error("hook not closed", hook=name, error=one_line(result.error))
                return
            self._opened[name].clear()
            delay_seconds = _REENTER.delay_seconds(attempt)
            _log.error(
                "hook not entered, trying again",
                hook=name,
                error=one_line(result.error),
                delay_seconds=delay_seconds,
            )
            await self._pause(delay_seconds)

    async def _stay(self, name: str, hook: AbstractAsyncContextManager[object]) -> None:
        async with hook:
            self._opened[name].set()
            await self._closing.wait()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return
