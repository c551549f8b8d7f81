"""Waiting for a condition with a deadline: the one place where tests look again after a pause."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NotInTimeError", "eventually", "eventually_async"]

_Seen = TypeVar("_Seen")
_PAUSE_SECONDS = 0.02


class NotInTimeError(AssertionError):
    """A condition did not hold before its deadline."""


def eventually(condition: Callable[[], _Seen | None], seconds: float = 15, *, what: str = "") -> _Seen:
    """Ask until the answer is true and return it; raise NotInTimeError after so many seconds.

    Blocks its thread: on an event loop use `eventually_async`.
    """
    deadline = time.monotonic() + seconds
    while not (seen := condition()):
        _check(deadline, seconds, what, seen)
        time.sleep(_PAUSE_SECONDS)
    return seen


async def eventually_async(condition: Callable[[], _Seen | None], seconds: float = 15, *, what: str = "") -> _Seen:
    """Do as `eventually`, letting the event loop run between two looks."""
    deadline = time.monotonic() + seconds
    while not (seen := condition()):
        _check(deadline, seconds, what, seen)
        await asyncio.sleep(_PAUSE_SECONDS)
    return seen


def _check(deadline: float, seconds: float, what: str, seen: object) -> None:
    if time.monotonic() > deadline:
        raise NotInTimeError(f"not within {seconds:g} s: {what or 'the condition'} (last seen: {seen!r})")
