"""Checks that a hook bounds its own work."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Final, Self

from ._steps import UNWIND_SECONDS, HookSource, Run, entered, limit_of, made_from
from ._time import VirtualTime, virtual_time

if TYPE_CHECKING:
    from types import FrameType

    from hookline.contract import Event
    from hookline.hooks import Hook

_BLOCKED_SECONDS: Final = 0.5
_MOST_CUTS: Final = 100
_LOOKS: Final = 4
"""How often it is looked at a step within the time that one may last."""

_real_seconds = time.perf_counter


async def assert_bounds_its_work(
    hook: HookSource,
    event: Event | None = None,
    *,
    blocked_seconds: float = _BLOCKED_SECONDS,
    most_cuts: int = _MOST_CUTS,
) -> None:
    """Check that a hook ends by itself, gives way to others, ends when it is cancelled, and leaves nothing behind.

    It runs once to its end, which must come within its time limit (`timeout_seconds`, else 30 s), by returning or by
    raising; then it is run again and again and cancelled at its first suspension, its second, and so on, up to
    `most_cuts`. After that it must end within a second, and not as if nothing had been. At no time may it keep the
    event loop for longer than `blocked_seconds`, the only real time in this, nor leave a task running.

    Give the hook doubles that answer, and in a second check `Double(hangs=True)`: a receiver that never answers must not
    keep it to its time limit. Without an event it is given a `batch.failed`. `hook` is a hook, which is copied for each
    run, or what makes one.

    A plain function runs in a thread, and only that it ends can be checked, within 5 s of real time. Raises
    AssertionError with what to do. A hook that blocks for ever blocks the test too: let the test runner limit its time.
    """
    if event is None:
        from . import events  # noqa: PLC0415 - a catalogue that is wanted here only

        event = events.batch_failed()
    with virtual_time() as virtual, _Look(blocked_seconds) as look:
        check = _Check(hook, event, virtual, look)
        await check.ends_by_itself()
        for cut_at in count(1):
            if cut_at > most_cuts or not await check.ends_when_cancelled(cut_at):
                return


class _Check:
    """Runs a hook, each time a fresh one, and says what is wrong with how it ends."""

    def __init__(self, source: HookSource, event: Event, virtual: VirtualTime, look: _Look) -> None:
        self._source = source
        self._event = event
        self._time = virtual
        self._look = look

    async def ends_by_itself(self) -> None:
        """Check a run that nobody disturbs."""
        hook = await made_from(self._source, self._time)
        async with entered(hook, self._time):
            before = asyncio.all_tasks()
            run, seconds = Run(hook, self._event, self._time, around_step=self._look.steps), limit_of(hook)
            has_ended = await self._time.let_pass(self._time.now + seconds, run.task.done)
            self._look.require_nothing_blocked(hook)
            if not has_ended:
                where = run.where()
                await self._abandon(run)
                raise AssertionError(
                    f"hook {hook.name} hangs: after its time limit of {seconds:g} s it still waits at {where}. "
                    "Give that call a timeout of its own, well below the limit"
                )
            await self._require_nothing_left(hook, before)

    async def ends_when_cancelled(self, cut_at: int) -> bool:
        """Check a run that is cancelled at a suspension; tells whether it came to that."""
        hook = await made_from(self._source, self._time)
        async with entered(hook, self._time):
            before = asyncio.all_tasks()
            run = Run(hook, self._event, self._time, cut_at=cut_at, around_step=self._look.steps)
            await self._time.let_pass(self._time.now + limit_of(hook), lambda: run.was_cut or run.task.done())
            has_ended = await self._time.let_pass(self._time.now + UNWIND_SECONDS, run.task.done)
            self._look.require_nothing_blocked(hook)
            if not run.was_cut:
                return False
            where = run.where()
            if not has_ended:
                await self._abandon(run)
                raise AssertionError(
                    f"hook {hook.name} swallows cancellation: cancelled at suspension {cut_at}, it goes on at {where}. "
                    "Let asyncio.CancelledError pass, and clean up in `finally` without waiting for long"
                )
            if run.error is None:
                raise AssertionError(
                    f"hook {hook.name} swallows cancellation: cancelled at suspension {cut_at}, it returned as if it were "
                    "done. Let asyncio.CancelledError pass"
                )
            await self._require_nothing_left(hook, before)
        return True

    async def _require_nothing_left(self, hook: Hook, before: set[asyncio.Task[object]]) -> None:
        left = _Left(before)
        if await self._time.let_pass(self._time.now + UNWIND_SECONDS, left.is_over):
            return
        tasks = left.tasks()
        for task in tasks:
            task.cancel()
        await self._time.quiet()
        names = ", ".join(str(task.get_coro()) for task in tasks)
        raise AssertionError(
            f"hook {hook.name} leaves work behind: a second after its end {names} still runs. "
            "Await what it starts, or cancel it"
        )

    async def _abandon(self, run: Run) -> None:
        run.abandon()
        await self._time.quiet()


class _Left:
    """The tasks that have begun since and go on."""

    def __init__(self, before: set[asyncio.Task[object]]) -> None:
        self._before = before

    def tasks(self) -> list[asyncio.Task[object]]:
        """List them."""
        return [task for task in asyncio.all_tasks() - self._before if not task.done()]

    def is_over(self) -> bool:
        """Tell whether there is none."""
        return not self.tasks()


class _Steps:
    """Entered around each step of a hook: knows since when one lasts, and how long the longest did."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.longest_seconds = 0.0

    def __enter__(self) -> None:
        self.began = _real_seconds()

    def __exit__(self, *_: object) -> None:
        began, self.began = self.began, None
        if began is not None:
            self.longest_seconds = max(self.longest_seconds, _real_seconds() - began)


class _Look:
    """Looks from another thread where a step of a hook stands that lasts long."""

    def __init__(self, most_seconds: float) -> None:
        self.steps = _Steps()
        self._most_seconds = most_seconds
        self._loop_thread = threading.get_ident()
        self._seen_at = ""
        self._over = threading.Event()
        self._looker = threading.Thread(target=self._watch, name="hookline.testing", daemon=True)

    def __enter__(self) -> Self:
        self._looker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looker.join()

    def require_nothing_blocked(self, hook: Hook) -> None:
        """Raise AssertionError when a step lasted too long."""
        if self.steps.longest_seconds > self._most_seconds:
            where = f" at {self._seen_at}" if self._seen_at else ""
            raise AssertionError(
                f"hook {hook.name} blocks the event loop for {self.steps.longest_seconds:.2f} s{where}. "
                "Await a client that is made for asyncio, or put the call into `asyncio.to_thread`"
            )

    def _watch(self) -> None:
        while not self._over.wait(self._most_seconds / _LOOKS):
            began = self.steps.began
            if began is not None and _real_seconds() - began > self._most_seconds / 2:
                self._seen_at = _place_of(sys._current_frames().get(self._loop_thread)) or self._seen_at


def _place_of(frame: FrameType | None) -> str:
    """Tell where the code stands that a step of a hook has called."""
    innermost = frame
    while frame is not None:
        if frame.f_code is Run.step_by_step.__code__:
            return "" if innermost is None else _named(innermost)
        frame = frame.f_back
    return ""


def _named(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}"
