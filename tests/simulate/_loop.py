"""An event loop in virtual time: nothing sleeps, and one who drives it decides when it turns."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from tests.simulate._clock import Clock

_DISPOSAL_ROUNDS = 200
_Ts = TypeVarTuple("_Ts")


class VirtualLoop(asyncio.AbstractEventLoop):
    """What asyncio needs of a loop, without a selector. Each process of a history has one of its own."""

    def __init__(self, clock: Clock, report: Callable[[str], None]) -> None:
        self._clock = clock
        self._report = report
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._is_running = False
        self._tasks: set[asyncio.Task[Any]] = set()

    # Asked by the one who drives it.

    def due_at(self) -> float | None:
        """Tell when something is to be done next; None for never."""
        if self._ready:
            return self._clock.now
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def turn(self, most: int, goes_on: Callable[[], bool]) -> None:
        """Run what is due, `most` callbacks at once, as long as the process lives."""
        while self._timers and self._timers[0][0] <= self._clock.now:
            self._ready.append(heapq.heappop(self._timers)[2])
        asyncio._set_running_loop(self)
        self._is_running = True
        try:
            for _ in range(min(len(self._ready), most)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
                if not goes_on():
                    return
        finally:
            self._is_running = False
            asyncio._set_running_loop(None)

    def dispose(self) -> None:
        """End what is left of a process that is gone, whatever the time."""
        self._report = _ignore
        for _ in range(_DISPOSAL_ROUNDS):
            tasks = self.tasks()
            if not tasks:
                return
            for task in tuple(tasks):
                task.cancel()
            if not self._ready and self._timers:
                self._ready.append(heapq.heappop(self._timers)[2])
            self.turn(len(self._ready), _always)
        raise RuntimeError(f"tasks that cannot be ended: {self.tasks()}")

    def tell(self, callback: Callable[[], None]) -> None:
        """Call something from outside."""
        self.call_soon(callback)

    def tasks(self) -> set[asyncio.Task[Any]]:
        """Tell the tasks that have not ended."""
        return self._tasks or asyncio.all_tasks(self)  # the second one looks through those of all loops

    # Asked by asyncio.

    def time(self) -> float:
        """Tell the virtual time."""
        return self._clock.now

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call as soon as it turns."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Do the same: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call after a virtual delay."""
        return self.call_at(self._clock.now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at a virtual time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **named: Any) -> asyncio.Task[Any]:  # type: ignore[override,unused-ignore] # a coroutine is all that comes here; newer Pythons take it
        """Make a task."""
        task = asyncio.Task(coro, loop=self, **named)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report what nobody has handled."""
        self._report(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        """Tell asyncio to be quick."""
        return False

    def is_running(self) -> bool:
        """Tell whether it turns now."""
        return self._is_running

    def is_closed(self) -> bool:
        """Tell that it can be used."""
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave it where it is: it is passed over."""


def _ignore(_: str) -> None:
    """Say nothing of what a dead process does."""


def _always() -> bool:
    return True
