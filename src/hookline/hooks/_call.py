"""Calling one hook within its time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hookline.consume import Raised, Returned

from ._log import say_overdue

if TYPE_CHECKING:
    from hookline.contract import Event

    from ._hook import Hook

THREADS = 64
"""Threads for hooks that are plain functions; more of them at once wait for one."""


class Caller:
    """Calls hooks: coroutines on the event loop, plain functions in a bounded pool of threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="hook")

    def close(self) -> None:
        """Let go of the threads without waiting for those that still run."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def call(self, hook: Hook, event: Event, timeout_seconds: float) -> None:
        """Run the hook. Raises what it raises, and TimeoutError when it outlives `timeout_seconds`."""
        limit = asyncio.timeout(timeout_seconds)
        try:
            await self._call(hook, event, limit, timeout_seconds)
        except TimeoutError as error:
            if not limit.expired():
                raise
            # The cause has the frames in which the hook was cut off.
            raise _overdue(timeout_seconds) from error.__cause__ or error
        if limit.expired():  # it swallowed the cancellation and returned in the middle of its work
            raise _overdue(timeout_seconds)

    async def _call(self, hook: Hook, event: Event, limit: asyncio.Timeout, timeout_seconds: float) -> None:
        if inspect.iscoroutinefunction(hook.handle):
            async with limit:
                await hook.handle(event)
            return
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, contextvars.copy_context().run, _invoke, hook, event)
        try:
            async with limit:
                await _result_of(running)
        except TimeoutError:
            if not running.done():
                say_overdue(event, hook.name, timeout_seconds)
            # A thread cannot be stopped: its subject waits for it, or the next event would overlap it.
            await asyncio.wait((running,))
            raise


def _overdue(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"not done within {timeout_seconds:g} s")


async def _result_of(running: asyncio.Future[Returned[object] | Raised]) -> None:
    result = await asyncio.shield(running)
    if isinstance(result, Raised):
        raise result.error
    if inspect.isawaitable(result.value):
        await result.value


def _invoke(hook: Hook, event: Event) -> Returned[object] | Raised:
    """Call a plain function; what it raises is a value, for a future that raises it can hang or kill its awaiter."""
    try:
        return Returned(hook.handle(event))
    except BaseException as error:  # noqa: BLE001 - raised again on the loop
        return Raised(error)
