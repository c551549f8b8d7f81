"""Calling one hook within its time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

from hookline.consume import Raised, Returned

from ._log import say_overdue

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from hookline.contract import Event

    from ._hook import Hook

THREADS = 64
"""Threads for hooks that are plain functions; more of them at once wait for one."""

Running: TypeAlias = "asyncio.Future[Returned[object] | Raised]"


class Caller:
    """Calls hooks: coroutines on the event loop, plain functions in a bounded pool of threads."""

    def __init__(self, *, threads: int = THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hook")
        self._free = asyncio.Semaphore(threads)

    def close(self) -> None:
        """Let go of the threads without waiting for those that still run."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def call(self, hook: Hook, event: Event, timeout_seconds: float) -> None:
        """Run the hook. Raises what it raises, and TimeoutError when it outlives `timeout_seconds`.

        The wait for a thread is none of the hook's time.
        """
        if inspect.iscoroutinefunction(hook.handle):
            limit, running = asyncio.timeout(timeout_seconds), None
            work: Awaitable[object] = hook.handle(event)
        else:
            limit, running = await self._start(hook, event, timeout_seconds)
            work = _result_of(running)
        try:
            async with limit:
                await work
        except TimeoutError as error:
            if running is not None and not running.done():
                say_overdue(event, hook.name, timeout_seconds)
                # A thread cannot be stopped: its subject waits for it, or the next event would overlap it.
                await asyncio.wait((running,))
            if not limit.expired():
                raise
            # The cause has the frames in which the hook was cut off.
            raise _overdue(timeout_seconds) from error.__cause__ or error
        if limit.expired():  # it swallowed the cancellation and returned in the middle of its work
            raise _overdue(timeout_seconds)

    async def _start(self, hook: Hook, event: Event, timeout_seconds: float) -> tuple[asyncio.Timeout, Running]:
        """Begin a plain function as soon as a thread is free, and its time with it."""
        await self._free.acquire()
        run = contextvars.copy_context().run
        try:
            limit = asyncio.timeout(timeout_seconds)
            running = asyncio.get_running_loop().run_in_executor(self._threads, run, _invoke, hook, event)
        except BaseException:
            self._free.release()
            raise
        running.add_done_callback(lambda _: self._free.release())
        return limit, running


def _overdue(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"not done within {timeout_seconds:g} s")


async def _result_of(running: Running) -> None:
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
