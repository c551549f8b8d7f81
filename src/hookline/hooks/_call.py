"""Calling one hook within its time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeAlias

from hookline.consume import Raised, Returned, Suspended
from hookline.errs import is_of

from ._deadlines import Deadlines
from ._log import say_no_thread_left, say_overdue, say_stuck

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.consume import Delivery
    from hookline.contract import Event
    from hookline.telemetry import Metrics

    from ._hook import Hook, HookDelivery
    from ._runs import HookRun
    from ._wiring import WiredHook

THREADS = 64
"""Threads for hooks that are plain functions; more of them at once wait for one. Generous: a stuck one is lost to it."""
STUCK_AFTER_SECONDS = 1.0
"""How long after its time limit a run that was cancelled may go on before it is stuck."""
_LOOK_SECONDS = 0.5

Running: TypeAlias = "asyncio.Future[Returned[object] | Raised]"
Rest: TypeAlias = "Suspended | InThread"
"""What is left of a call that could not end at once."""


class Call:
    """One run of a hook that has not ended."""

    __slots__ = (
        "delivery", "ends_at", "event", "has_left", "hook", "is_expired", "is_stuck", "limit_seconds", "run", "task", "thread",
    )  # fmt: skip

    def __init__(
        self,
        hook: WiredHook,
        delivery: Delivery,
        event: Event,
        limit_seconds: float,
        task: asyncio.Task[None],
        run: HookRun | None = None,
    ) -> None:
        self.hook = hook
        self.run = run
        """None when the event has this hook only, and nothing bounds it."""
        self.limit_seconds = limit_seconds
        self.delivery = delivery
        self.event = event
        self.ends_at = inf
        """By the loop's clock: when its time is over. Without end before its time has begun."""
        self.is_expired = False
        self.is_stuck = False
        self.has_left = False
        """Whether it counts no more among what its hook does: it has ended, its thread too, or it is stuck."""
        self.task = task
        self.thread: Running | None = None
        """The thread that runs it, if one does; it may outlive the attempt."""

    def expire(self) -> None:
        """Cancel it: its time is over."""
        self.is_expired = True
        self.task.cancel()

    def is_cut_off(self) -> bool:
        """Tell whether its end counts for nothing."""
        return self.delivery.cut_off

    def outcome(self, raised: Raised | None) -> Raised | None:
        """Tell what came of it: nothing that it returned, nor its cancellation, when its time was over."""
        if self.is_expired and (raised is None or is_of(raised.error, asyncio.CancelledError)):
            overdue = TimeoutError(f"not done within {self.limit_seconds:g} s")
            overdue.__cause__ = None if raised is None else raised.error
            return Raised(overdue)
        return raised


class NoteStuck(Protocol):
    """What is told of a run that its time limit could not end, and when it ends all the same."""

    def __call__(self, delivery: Delivery, hook: str, *, is_stuck: bool) -> None: ...


class Caller:
    """Calls hooks: coroutines on the event loop, plain functions in a bounded pool of threads.

    A run that its time limit could not end holds its subject and no slot of the engine any more. When every thread is
    lost to such runs, those that wait for one hold no slot either: hooks that are coroutines go on. A thread that outlives
    its attempt, which was cut off, still counts.
    """

    def __init__(
        self,
        metrics: Metrics,
        note_stuck: NoteStuck,
        left: Callable[[HookRun, WiredHook], None],
        *,
        threads: int = THREADS,
    ) -> None:
        self._metrics = metrics
        self._note_stuck = note_stuck
        self._left = left
        self._most_threads = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hook")
        self._free = asyncio.Semaphore(threads)
        self._calls: set[Call] = set()
        self._deadlines = Deadlines()
        self._looking: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look for runs that are stuck, on the loop that calls this."""
        self._loop = asyncio.get_running_loop()
        self._looking = self._loop.create_task(self._look())

    def close(self) -> None:
        """Let go of the threads without waiting for those that still run."""
        if self._looking is not None:
            self._looking.cancel()
        self._deadlines.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def in_thread(self, hook: WiredHook, event: Event, delivery: HookDelivery | None = None) -> Rest:
        """Call a plain function, once it is awaited."""
        return InThread(self._threads, self._free, hook.hook, event, delivery)

    def go_on(self, rest: Rest, call: Call) -> Awaitable[None]:
        """Give what goes on with a call, to be awaited in its task; `end` is to be called behind it."""
        self._calls.add(call)
        call.hook.count(+1)
        if isinstance(rest, Suspended):
            self._limit(call)
            return rest.finish()
        return rest.finish(partial(self._limit, call), call)

    def end(self, call: Call) -> None:
        """Note that a call has ended, as far as its task is concerned."""
        self._deadlines.discard(call)
        if call.is_stuck and not call.delivery.cut_off:
            self._note_stuck(call.delivery, call.hook.name, is_stuck=False)
        if call.thread is None or call.thread.done():
            self._forget(call)
        else:
            call.thread.add_done_callback(lambda _: self._forget(call))

    def _forget(self, call: Call) -> None:
        self._calls.discard(call)
        if not call.has_left:
            self._leave(call)

    def _leave(self, call: Call) -> None:
        """Count it no more among what its hook does; to be called once."""
        call.has_left = True
        call.hook.count(-1)
        if call.run is not None:
            self._left(call.run, call.hook)

    def _limit(self, call: Call) -> None:
        call.ends_at = self._loop.time() + call.limit_seconds
        self._deadlines.add(call)

    def stuck_hooks(self) -> dict[str, float]:
        """Tell by hook for how many seconds the oldest run of it is past its time."""
        now = asyncio.get_running_loop().time()
        late: dict[str, float] = {}
        for call in self._calls:
            if call.is_stuck:
                late[call.hook.name] = max(late.get(call.hook.name, 0.0), now - call.ends_at)
        return late

    async def _look(self) -> None:
        shown: set[str] = set()
        had_threads = True
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self._mark_stuck(asyncio.get_running_loop().time())
            has_threads = (
                sum(call.is_stuck and call.hook.coroutine_function is None for call in self._calls) < self._most_threads
            )
            if not has_threads:
                self._let_wait(is_news=had_threads)
            had_threads = has_threads
            shown = self._show(shown)

    def _mark_stuck(self, now: float) -> None:
        for call in self._calls:
            if not call.is_stuck and now > call.ends_at + STUCK_AFTER_SECONDS:
                call.is_stuck = True
                self._leave(call)
                call.delivery.release_slot()
                self._note_stuck(call.delivery, call.hook.name, is_stuck=True)
                say_stuck(call.event, call.hook.name, now - call.ends_at)

    def _let_wait(self, *, is_news: bool) -> None:
        """Take the slots of those that wait for a thread: there is none left."""
        for call in self._calls:
            if call.ends_at == inf:
                call.delivery.release_slot()
        if is_news:
            say_no_thread_left(self._most_threads)

    def _show(self, shown: set[str]) -> set[str]:
        counts: dict[str, int] = dict.fromkeys(shown, 0)
        for call in self._calls:
            if call.is_stuck:
                counts[call.hook.name] = counts.get(call.hook.name, 0) + 1
        for name, count in counts.items():
            self._metrics.stuck_hooks.set(count, hook=name)
        return {name for name, count in counts.items() if count}


class InThread:
    """A call of a plain function that waits for a thread. The wait for it is none of the hook's time."""

    def __init__(
        self,
        threads: ThreadPoolExecutor,
        free: asyncio.Semaphore,
        hook: Hook,
        event: Event,
        delivery: HookDelivery | None,
    ) -> None:
        self._threads = threads
        self._free = free
        self._hook = hook
        self._event = event
        self._arguments = (event,) if delivery is None else (event, delivery)

    def close(self) -> None:
        """Give it up: it has not begun."""

    async def finish(self, begins: Callable[[], None], call: Call) -> None:
        """Run it, once there is a thread; `begins` is called then. Raises what it raises; cancelled, only once it has ended."""
        await self._free.acquire()
        running = call.thread = self._start()
        begins()
        try:
            await _result_of(running)
        except asyncio.CancelledError:
            if call.is_expired and not running.done():
                say_overdue(self._event, self._hook.name, call.limit_seconds)
                # A thread cannot be stopped: its subject waits for it, or the next event would overlap it.
                await asyncio.wait((running,))
                _close_late(running)
            raise

    def _start(self) -> Running:
        run = contextvars.copy_context().run
        try:
            running = asyncio.get_running_loop().run_in_executor(
                self._threads, run, _invoke, self._hook, self._arguments
            )
        except BaseException:  # raised again
            self._free.release()
            raise
        running.add_done_callback(lambda _: self._free.release())
        return running


def _close_late(running: Running) -> None:
    """Close the coroutine that a plain function returned when its time was over, for nobody will await it."""
    result = None if running.cancelled() else running.result()
    if isinstance(result, Returned) and inspect.iscoroutine(result.value):
        result.value.close()


async def _result_of(running: Running) -> None:
    result = await asyncio.shield(running)
    if isinstance(result, Raised):
        raise result.error
    if inspect.isawaitable(result.value):
        await result.value


def _invoke(hook: Hook, arguments: tuple[Event] | tuple[Event, HookDelivery]) -> Returned[object] | Raised:
    """Call a plain function; what it raises is a value, for a future that raises it can hang or kill its awaiter."""
    try:
        return Returned(hook.handle(*arguments))
    except BaseException as error:  # noqa: BLE001 - raised again on the loop
        return Raised(error)
