"""Tasks that run beside one another for one event."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine


class Together:
    """The tasks of one attempt, counted: waiting for all of them costs one future, whatever their number.

    A task calls `ended` last, whatever became of it. Since Python 3.12 a task begins as it is started, and may have
    ended then.
    """

    __slots__ = ("_all_ended", "_running", "_tasks")

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._running = 0
        self._all_ended: asyncio.Future[None] | None = None

    def start(self, call: Coroutine[object, object, None]) -> None:
        """Start a task."""
        self._running += 1
        self._tasks.append(_start(call))

    def ended(self) -> None:
        """Note that one has ended."""
        self._running -= 1
        if not self._running and self._all_ended is not None and not self._all_ended.done():
            self._all_ended.set_result(None)

    async def finish(self, rest: Awaitable[None]) -> None:
        """Await something and all tasks; when cancelled cancel them too, and wait for them.

        Raises what broke a task beside its hook, whose errors are noted.
        """
        try:
            await rest
            if self._running:
                self._all_ended = asyncio.get_running_loop().create_future()
                await self._all_ended
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
            raise
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()


if sys.version_info >= (3, 12):

    def _start(call: Coroutine[object, object, None]) -> asyncio.Task[None]:
        return asyncio.Task(call, loop=asyncio.get_running_loop(), eager_start=True)

else:

    def _start(call: Coroutine[object, object, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(call)
