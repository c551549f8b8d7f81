"""Virtual time on the event loop that runs: nothing waits for a timer, and nothing is missed that needs real time."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol

from ._clock import told_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_TURNS: Final = 100_000
_BREATH_SECONDS: Final = 0.001
_THREAD_SECONDS: Final = 5.0
_OTHERS_SECONDS: Final = 0.1
_OWN_SOCKETS: Final = 1
"""The loop itself listens to one, for calls from other threads."""

_IDLE_THREADS: Final = ("MainThread", "asyncio_", "hook_", "hookline.testing")
"""Of which it is known whether they work; their names begin so."""

_wakes_a_sleeper: Any = vars(asyncio.futures)["_set_result_unless_cancelled"]
_sleep = time.sleep
_real_seconds = time.monotonic


class Follower(Protocol):
    """Somebody who lives in virtual time."""

    def moved(self) -> None:
        """Be told that the time has moved."""
        ...

    def is_at_work(self) -> bool:
        """Tell whether somebody runs who may wait for a socket."""
        ...


class VirtualTime:
    """The time of one event loop. It stands still until somebody lets it pass.

    Then it jumps from timer to timer, each time once nothing can happen without. What needs real time has it: a thread
    of the loop that works up to 5 s; and while a hook runs, which may wait for an open socket or for somebody's own thread,
    those up to 0.1 s. What they bring comes first.
    """

    def __init__(self, loop: asyncio.BaseEventLoop) -> None:
        self.loop = loop
        self._owner = asyncio.current_task(loop)
        self.now = loop.time()
        self.followers: list[Follower] = []
        self._wall_ahead = time.time() - self.now
        self._ready: Any = vars(loop)["_ready"]
        self._in_threads: set[asyncio.Future[Any]] = set()
        self._is_patient = True

    def monotonic(self) -> float:
        """Tell the time by the loop's clock."""
        return self.now

    def wall(self) -> float:
        """Tell the time of day."""
        return self._wall_ahead + self.now

    def wall_ns(self) -> int:
        """Tell the time of day in nanoseconds."""
        return int(self.wall() * 1_000) * 1_000_000

    def work(self) -> float:
        """Tell that work takes no time."""
        return self.now

    def be_patient(self) -> None:
        """Wait for sockets again: somebody has begun to work."""
        self._is_patient = True

    async def quiet(self) -> None:
        """Let the loop turn until everything waits: for the time, a socket, a thread, or this call."""
        for _ in range(_MOST_TURNS):
            if not await self._turn():
                return
        raise RuntimeError(f"the event loop is still busy after {_MOST_TURNS:,} turns: somebody never waits")

    async def let_pass(self, until: float, is_over: Callable[[], bool]) -> bool:
        """Let the time pass until something is so, or until a moment; tells whether it is so."""
        while True:
            await self.quiet()
            if is_over():
                return True
            if await self._others_bring_something():
                continue
            next_at = self._next_at()
            if next_at > until or next_at == inf:
                break
            self._move(next_at)
        if until < inf:
            self._move(until)
            await self.quiet()
        return is_over()

    def call_at(
        self, when: float, callback: Callable[..., object], *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Set a timer, as the loop does.

        Raises RuntimeError for the sleep of the test itself: it would wait for ever, since nobody lets time pass meanwhile.
        """
        if callback is _wakes_a_sleeper and asyncio.current_task(self.loop) is self._owner:
            raise RuntimeError("time stands still while a test sleeps: write `await stage.advance(seconds)` instead")
        return type(self.loop).call_at(self.loop, when, callback, *arguments, context=context)

    def in_thread(self, executor: Any, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run a function in a thread, as the loop does, and know of it."""
        future = type(self.loop).run_in_executor(self.loop, executor, function, *arguments)
        self._in_threads.add(future)
        future.add_done_callback(self._in_threads.discard)
        self._is_patient = True
        return future

    def in_own_thread(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run a function in a thread that nobody waits for at the end."""
        future = self.loop.create_future()
        self._in_threads.add(future)
        future.add_done_callback(self._in_threads.discard)
        self._is_patient = True
        run = partial(_run_for, future, function, *arguments)
        threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
        return future

    def _move(self, at: float) -> None:
        self.now = max(self.now, at)
        for follower in self.followers:
            follower.moved()

    async def _turn(self) -> bool:
        """Turn the loop once; tells whether anybody else wants to run."""
        await asyncio.sleep(0)
        return bool(self._ready)

    def _next_at(self) -> float:
        timers: list[asyncio.TimerHandle] = vars(self.loop)["_scheduled"]
        return min((timer.when() for timer in timers if not timer.cancelled()), default=inf)

    async def _others_bring_something(self) -> bool:
        """Give real time to what needs it; False when it brought nothing, and until somebody begins to work again."""
        give_up = _real_seconds() + self._patience_seconds()
        while _real_seconds() < give_up:
            _sleep(_BREATH_SECONDS)
            if await self._turn():
                self._is_patient = True
                return True
        self._is_patient = False
        return False

    def _patience_seconds(self) -> float:
        if not self._is_patient:
            return 0.0
        if self._in_threads:
            return _THREAD_SECONDS
        is_at_work = any(follower.is_at_work() for follower in self.followers)
        return _OTHERS_SECONDS if is_at_work and (self._has_sockets() or _has_threads()) else 0.0

    def _has_sockets(self) -> bool:
        selector = vars(self.loop).get("_selector")
        return selector is not None and len(selector.get_map()) > _OWN_SOCKETS


_open: list[VirtualTime] = []


@contextmanager
def virtual_time() -> Iterator[VirtualTime]:
    """Give the running loop, and hookline, virtual time; within such a time give that one.

    Raises RuntimeError for a loop whose clock cannot be replaced, such as uvloop's, and while another loop has virtual time.
    """
    loop = asyncio.get_running_loop()
    if _open and _open[0].loop.is_closed():
        _open.clear()
    if _open:
        if _open[0].loop is not loop:
            raise RuntimeError("another event loop has virtual time: end its stage first")
        yield _open[0]
        return
    if not isinstance(loop, asyncio.BaseEventLoop):
        kind = f"{type(loop).__module__}.{type(loop).__qualname__}"
        raise RuntimeError(f"{kind} keeps its own clock: run the tests of hooks on asyncio's event loop")  # noqa: TRY004 - the loop is right, for others
    virtual = VirtualTime(loop)
    own: dict[str, object] = {
        "time": virtual.monotonic,
        "call_at": virtual.call_at,
        "run_in_executor": virtual.in_thread,
    }
    vars(loop).update(own)
    _open.append(virtual)
    try:
        with told_by(virtual):
            yield virtual
    finally:
        _open.remove(virtual)
        for name in own:
            del vars(loop)[name]


def _has_threads() -> bool:
    """Tell whether there are threads of which nobody knows whether they work, such as a database client's own."""
    return any(not thread.name.startswith(_IDLE_THREADS) for thread in threading.enumerate())


def _run_for(future: asyncio.Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
    settle: Callable[[Any], None]
    result: Any
    try:
        result, settle = function(*arguments), future.set_result
    except BaseException as error:  # noqa: BLE001 - raised again where the future is awaited
        result, settle = error, future.set_exception
    with suppress(RuntimeError):  # the loop may be gone
        future.get_loop().call_soon_threadsafe(lambda: None if future.done() else settle(result))
