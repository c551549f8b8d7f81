"""Calling one hook within its time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from hookline.consume import Raised, Returned

from ._log import say_overdue, say_stuck

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from hookline.consume import Delivery
    from hookline.contract import Event
    from hookline.telemetry import Metrics

    from ._hook import Hook
    from ._wiring import WiredHook

THREADS = 64
"""Threads for hooks that are plain functions; more of them at once wait for one."""
STUCK_AFTER_SECONDS = 1.0
"""How long after its time limit a run that was cancelled may go on before it is stuck."""
_LOOK_SECONDS = 0.5

Running: TypeAlias = "asyncio.Future[Returned[object] | Raised]"


class Rest(Protocol):
    """What is left of a call that could not end at once."""

    async def within(self, seconds: float, call: Call) -> None:
        """Go on with it. Raises what the hook raises, and TimeoutError when it outlives `seconds`."""
        ...

    def close(self) -> None:
        """Give it up."""
        ...


class Call:
    """One run of a hook that has not ended."""

    __slots__ = ("delivery", "ends_at", "event", "hook", "is_stuck")

    def __init__(self, hook: WiredHook, delivery: Delivery, event: Event) -> None:
        self.hook = hook
        self.delivery = delivery
        self.event = event
        self.ends_at: float | None = None
        """By the loop's clock: when its time is over. None before its time has begun."""
        self.is_stuck = False


class Caller:
    """Calls hooks: coroutines on the event loop, plain functions in a bounded pool of threads.

    A run that its time limit could not end holds its subject and no slot of the engine any more.
    """

    def __init__(self, metrics: Metrics, *, threads: int = THREADS) -> None:
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hook")
        self._free = asyncio.Semaphore(threads)
        self._calls: set[Call] = set()
        self._looking: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look for runs that are stuck."""
        self._looking = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Let go of the threads without waiting for those that still run."""
        if self._looking is not None:
            self._looking.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def begin(self, hook: WiredHook, event: Event) -> Rest | None:
        """Call a hook as far as it goes at once, in the task that will await the rest; None when it has ended."""
        if not hook.is_coroutine:
            return _InThread(self._threads, self._free, hook.hook, event)
        coroutine = cast("Coroutine[Any, Any, None]", hook.hook.handle(event))
        context = contextvars.copy_context()  # what a hook sets may not reach the next event of its worker
        try:
            awaited = context.run(coroutine.send, None)
        except StopIteration:
            return None
        return _Suspended(coroutine, context, awaited)

    async def finish(self, rest: Rest, hook: WiredHook, delivery: Delivery, event: Event, seconds: float) -> None:
        """Go on with a call. Raises what the hook raises, and TimeoutError when it outlives `seconds`."""
        call = Call(hook, delivery, event)
        self._calls.add(call)
        try:
            await rest.within(seconds, call)
        finally:
            self._calls.discard(call)

    def stuck_hooks(self) -> dict[str, float]:
        """Tell by hook for how many seconds the oldest run of it is past its time."""
        now = asyncio.get_running_loop().time()
        late: dict[str, float] = {}
        for call in self._calls:
            if call.is_stuck and call.ends_at is not None:
                late[call.hook.name] = max(late.get(call.hook.name, 0.0), now - call.ends_at)
        return late

    async def _look(self) -> None:
        shown: set[str] = set()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for call in self._calls:
                if not call.is_stuck and call.ends_at is not None and now > call.ends_at + STUCK_AFTER_SECONDS:
                    call.is_stuck = True
                    call.delivery.release_slot()
                    say_stuck(call.event, call.hook.name, now - call.ends_at)
            shown = self._show(shown)

    def _show(self, shown: set[str]) -> set[str]:
        counts: dict[str, int] = dict.fromkeys(shown, 0)
        for call in self._calls:
            if call.is_stuck:
                counts[call.hook.name] = counts.get(call.hook.name, 0) + 1
        for name, count in counts.items():
            self._metrics.stuck_hooks.set(count, hook=name)
        return {name for name, count in counts.items() if count}


class _Suspended:
    """A coroutine that was begun by hand, and what it awaits."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], context: contextvars.Context, awaited: object) -> None:
        self._coroutine = coroutine
        self._context = context
        self._awaited = awaited

    def close(self) -> None:
        self._coroutine.close()

    async def within(self, seconds: float, call: Call) -> None:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                call.ends_at = limit.when()
                await _resume(self._coroutine, self._context, self._awaited)
        except TimeoutError as error:
            if not limit.expired():
                raise
            # The cause has the frames in which the hook was cut off.
            raise _overdue(seconds) from error.__cause__ or error
        if limit.expired():  # it swallowed the cancellation and returned in the middle of its work
            raise _overdue(seconds)


class _InThread:
    """A plain function that waits for a thread. The wait for it is none of the hook's time."""

    def __init__(self, threads: ThreadPoolExecutor, free: asyncio.Semaphore, hook: Hook, event: Event) -> None:
        self._threads = threads
        self._free = free
        self._hook = hook
        self._event = event

    def close(self) -> None:
        return

    async def within(self, seconds: float, call: Call) -> None:
        await self._free.acquire()
        limit, running = self._start(seconds)
        try:
            async with limit:
                call.ends_at = limit.when()
                await _result_of(running)
        except TimeoutError as error:
            if not running.done():
                say_overdue(self._event, self._hook.name, seconds)
                # A thread cannot be stopped: its subject waits for it, or the next event would overlap it.
                await asyncio.wait((running,))
            if not limit.expired():
                raise
            raise _overdue(seconds) from error.__cause__ or error
        if limit.expired():
            raise _overdue(seconds)

    def _start(self, seconds: float) -> tuple[asyncio.Timeout, Running]:
        """Begin a plain function, and its time with it."""
        run = contextvars.copy_context().run
        try:
            limit = asyncio.timeout(seconds)
            running = asyncio.get_running_loop().run_in_executor(self._threads, run, _invoke, self._hook, self._event)
        except BaseException:
            self._free.release()
            raise
        running.add_done_callback(lambda _: self._free.release())
        return limit, running


@types.coroutine
def _resume(
    coroutine: Coroutine[Any, Any, None], context: contextvars.Context, awaited: object
) -> Generator[object, Any, None]:
    """Go on with a coroutine that was begun by hand, in the task that began it."""
    step: Callable[[Any], object]
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001 - passed on to the coroutine, as `await` would
            step, value = coroutine.throw, error
        else:
            step, value = coroutine.send, sent
        try:
            awaited = context.run(step, value)
        except StopIteration:
            return


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
