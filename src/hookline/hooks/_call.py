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
        if inspect.iscoroutinefunction(hook.handle):
            async with asyncio.timeout(timeout_seconds) as limit:
                await hook.handle(event)
            _require_in_time(limit)
            return
        await self._call_in_thread(hook, event, timeout_seconds)

    async def _call_in_thread(self, hook: Hook, event: Event, timeout_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, contextvars.copy_context().run, _invoke, hook, event)
        try:
            async with asyncio.timeout(timeout_seconds) as limit:
                result = await asyncio.shield(running)
                if isinstance(result, Raised):
                    raise result.error
                if inspect.isawaitable(result.value):
                    await result.value
            _require_in_time(limit)
        except TimeoutError:
            if not running.done():
                say_overdue(event, hook.name, timeout_seconds)
            # A thread cannot be stopped: its subject waits for it, or the next event would overlap it.
            await asyncio.wait((running,))
            raise


def _require_in_time(limit: asyncio.Timeout) -> None:
    """Raise TimeoutError when the hook swallowed the cancellation and returned in the middle of its work."""
    if limit.expired():
        raise TimeoutError


def _invoke(hook: Hook, event: Event) -> Returned[object] | Raised:
    """Call a plain function; what it raises is a value, for a future that raises it can hang or kill its awaiter."""
    try:
        return Returned(hook.handle(event))
    except BaseException as error:  # noqa: BLE001 - raised again on the loop
        return Raised(error)
