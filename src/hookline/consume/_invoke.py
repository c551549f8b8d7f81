"""The one place where code of others is called, and the one broad `except` between a failure and a commit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The code returned."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised, whatever it was."""

    error: BaseException


async def invoke(work: Awaitable[T]) -> Returned[T] | Raised:
    """Await foreign code and turn what it raises into a value.

    A cancellation that somebody asked of this task is no failure and passes. One that the code raised by itself is a
    failure like any other, and so are SystemExit and KeyboardInterrupt: a handler cannot stop the process.
    """
    try:
        return Returned(await work)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Raised(error)
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code: from here on its error is a value
        return Raised(error)
