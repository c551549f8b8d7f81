"""The one place where code of others is called, and the one broad `except` between a failure and a commit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The code returned."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised, whatever it was."""

    error: BaseException


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def invoke(work: Awaitable[T], is_cut_off: Callable[[], bool] = _is_cancelled) -> Returned[T] | Raised:
    """Await foreign code and turn what it raises into a value.

    Raises CancelledError when `is_cut_off` says that this task was cancelled from outside: that is no failure, and
    what the code made of it, an error of its own or a return in the middle of its work, is no outcome. A cancellation
    that the code made by itself is a failure like any other, and so are SystemExit and KeyboardInterrupt: a handler
    cannot stop the process.
    """
    result: Returned[T] | Raised
    try:
        result = Returned(await work)
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code: from here on its error is a value
        result = Raised(error)
    if is_cut_off():
        raise asyncio.CancelledError
    _forget_cancellation()
    return result


def _forget_cancellation() -> None:
    """Undo what the code did with this task's own `cancel`, or the next code that runs in it would be cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
