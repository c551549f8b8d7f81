"""What a test may not leave behind: threads of its own, tasks on its event loop."""

from __future__ import annotations

import asyncio
import threading

from .waiting import NotInTimeError, eventually, eventually_async

__all__ = ["LeakError", "check_tasks", "check_threads"]

_GRACE_SECONDS = 2.0


class LeakError(AssertionError):
    """A test ended and something that it started did not."""


def check_threads(before: set[threading.Thread], *, grace_seconds: float = _GRACE_SECONDS) -> None:
    """Raise LeakError when threads that were not there before stay, after a moment to end."""
    try:
        eventually(lambda: not (set(threading.enumerate()) - before), grace_seconds)
    except NotInTimeError:
        left = sorted(thread.name for thread in set(threading.enumerate()) - before)
        raise LeakError(f"threads left running: {left}") from None


async def check_tasks(*, grace_seconds: float = _GRACE_SECONDS) -> None:
    """Raise LeakError when tasks other than the caller's stay on this loop, after a moment to end."""
    try:
        await eventually_async(lambda: not _other_tasks(), grace_seconds)
    except NotInTimeError:
        raise LeakError(f"tasks left running: {sorted(map(repr, _other_tasks()))}") from None


def _other_tasks() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}
