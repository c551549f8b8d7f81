"""Runs of a hook taken apart: each step from one suspension to the next, and cuts between them."""

from __future__ import annotations

import asyncio
import copy
import inspect
import types
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from hookline.hooks import DEFAULT_TIMEOUT_SECONDS

from ._delivery import arguments_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator
    from contextlib import AbstractContextManager

    from hookline.contract import Event
    from hookline.hooks import Hook

    from ._time import VirtualTime

HookSource: TypeAlias = "Hook | Callable[[], Any]"
"""A hook, or what makes one."""

UNWIND_SECONDS: Final = 1.0
"""How long a hook may go on after it was cancelled: as in the stage, where it is stuck then."""


class Run:
    """One run of a hook, in a task of its own.

    With `cut_at` it is cancelled at that suspension, counted from 1. `around_step` is entered for each step.
    """

    def __init__(
        self,
        hook: Hook,
        event: Event,
        time: VirtualTime,
        *,
        cut_at: int | None = None,
        around_step: AbstractContextManager[object] | None = None,
    ) -> None:
        self.suspensions = 0
        self.was_cut = False
        self._is_abandoned = False
        self._time = time
        self._cut_at = cut_at
        self._around_step = around_step or nullcontext()
        self._coroutine: Coroutine[Any, Any, Any] | None = None
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._run(hook, event))
        time.followers.append(self)
        time.be_patient()
        self.task.add_done_callback(lambda _: time.followers.remove(self))

    @property
    def error(self) -> BaseException | None:
        """What it raised; None when it returned. For one that has ended."""
        return asyncio.CancelledError() if self.task.cancelled() else self.task.exception()

    def moved(self) -> None:
        """Be told that the time has moved."""

    def is_at_work(self) -> bool:
        """Tell that it goes on."""
        return True

    def abandon(self) -> None:
        """End it, whatever it makes of being cancelled."""
        self._is_abandoned = True
        self.task.cancel()

    def where(self) -> str:
        """Tell in which line of the hook it waits, of one that goes on."""
        code = getattr(self._coroutine, "cr_code", None)
        found, awaited = "a place that cannot be told", cast("Any", self._coroutine)
        while awaited is not None:
            frame = getattr(awaited, "cr_frame", None)
            if frame is not None and code is not None and frame.f_code.co_filename == code.co_filename:
                found = f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}"
            awaited = getattr(awaited, "cr_await", None)
        return found

    async def _run(self, hook: Hook, event: Event) -> None:
        handle = cast("Any", hook).handle
        arguments = arguments_of(hook, event)
        if inspect.iscoroutinefunction(handle):
            self._coroutine = handle(*arguments)
            await self.step_by_step()
            return
        result = await self._time.in_own_thread(handle, *arguments)
        if inspect.isawaitable(result):
            await result

    @types.coroutine
    def step_by_step(self) -> Generator[object, Any, None]:
        """Await the hook, with a look at each of its suspensions."""
        coroutine = cast("Any", self._coroutine)
        step, argument = coroutine.send, None
        while True:
            with self._around_step:
                try:
                    awaited = step(argument)
                except StopIteration:
                    return
            self._suspended()
            try:
                argument = yield awaited
            except BaseException as error:
                if self._is_abandoned:
                    with suppress(RuntimeError):  # of a hook that ignores even that
                        coroutine.close()
                    raise
                step, argument = coroutine.throw, error
            else:
                step = coroutine.send

    def _suspended(self) -> None:
        self.suspensions += 1
        if self.suspensions == self._cut_at:
            self.was_cut = True
            self.task.cancel()


async def made_from(source: HookSource, time: VirtualTime) -> Hook:
    """Make a hook, with doubles of its own: by what makes one, or as a copy.

    Raises TypeError for a hook that cannot be copied.
    """
    if callable(getattr(source, "handle", None)) and not isinstance(source, type):
        return _copied(cast("Hook", source))
    return cast("Hook", await told(cast("Any", source)(), time))


async def told(value: Any, time: VirtualTime) -> Any:
    """Give a value, or what it gives when it is awaited, whatever time that takes."""
    if not inspect.isawaitable(value):
        return value
    asked = asyncio.ensure_future(value)
    await time.let_pass(inf, asked.done)
    return await asked


@asynccontextmanager
async def entered(hook: Hook, time: VirtualTime) -> AsyncIterator[None]:
    """Keep a hook that is a context manager entered, in a task of its own as the stage does. Raises what it raises."""
    if not isinstance(hook, AbstractAsyncContextManager):
        yield
        return
    opened, closing = asyncio.Event(), asyncio.Event()
    keeper = asyncio.ensure_future(_keep(hook, opened, closing))
    try:
        await time.let_pass(inf, lambda: opened.is_set() or keeper.done())
        if keeper.done():
            await keeper
        yield
    finally:
        closing.set()
        await told(keeper, time)


async def _keep(hook: AbstractAsyncContextManager[object], opened: asyncio.Event, closing: asyncio.Event) -> None:
    async with hook:
        opened.set()
        await closing.wait()


def limit_of(hook: Hook) -> float:
    """Tell a hook's own time limit, in seconds."""
    policy_seconds = getattr(getattr(hook, "policy", None), "timeout_seconds", None)
    return float(policy_seconds or getattr(hook, "timeout_seconds", None) or DEFAULT_TIMEOUT_SECONDS)


def _copied(hook: Hook) -> Hook:
    try:
        return copy.deepcopy(hook)
    except Exception as error:
        text = f"hook {hook.name} cannot be copied ({error}); give a function that makes one, with doubles of its own"
        raise TypeError(text) from error
