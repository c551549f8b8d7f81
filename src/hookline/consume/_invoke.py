"""The one place where code of others is called, and the one broad `except` between a failure and a commit."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar

from ._outcome import DONE, Done

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from ._dedupe import Completed
    from ._delivery import Delivery, Handler
    from ._partition import Partition

T = TypeVar("T")
A = TypeVar("A")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The code returned."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised, whatever it was."""

    error: BaseException


Begun: TypeAlias = "Awaitable[None] | Done | Completed | Raised | None"
"""What comes of beginning an attempt: what is left to be awaited, that it is done or raised, the record of the same
identity that has completed before, or None for one that has begun in another lane."""


def begin(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | Raised:
    """Call foreign code that does not wait, and turn what it raises into a value."""
    try:
        return function(*arguments, **named)
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code, as in `invoke`
        return Raised(error)


def begin_attempt(handler: Handler, delivery: Delivery, partition: Partition) -> Begun:
    """Begin to run a record, unless its identity has completed, or is that of a record that runs and must end first."""
    try:
        identity = delivery.identity = handler.identify(delivery)
        if identity is not None:
            if identity in partition.completed.by_identity:
                earlier = partition.completed.find(identity, delivery.record.offset)
                if earlier is not None:
                    return earlier
            if partition.begun and partition.begun.get(identity, delivery) is not delivery:
                return None
        rest = handler.handle(delivery)
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code, as in `invoke`
        return Raised(error)
    return DONE if rest is None else rest


class Suspended:
    """A coroutine that was begun by hand, and what it awaits. To be gone on with in the task that began it."""

    __slots__ = ("_awaited", "_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, None], context: contextvars.Context, awaited: object) -> None:
        self._coroutine = coroutine
        self._context = context
        self._awaited = awaited

    def close(self) -> None:
        """Give it up."""
        self._coroutine.close()

    @types.coroutine
    def finish(self) -> Generator[object, Any, None]:
        """Await the rest."""
        step: Callable[[Any], object]
        awaited = self._awaited
        while True:
            try:
                sent = yield awaited
            except BaseException as error:  # noqa: BLE001 - passed on to the coroutine, as `await` would
                step, value = self._coroutine.throw, error
            else:
                step, value = self._coroutine.send, sent
            try:
                awaited = self._context.run(step, value)
            except StopIteration:
                return


def begin_coroutine(function: Callable[[A], Coroutine[Any, Any, None]], argument: A) -> Suspended | Raised | None:
    """Call a coroutine function and run it as far as it goes at once; None when it has ended.

    Without a task, a timer or a turn of the loop: that is what an event whose hooks do not wait is spared.
    """
    try:
        coroutine = function(argument)
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code; a StopIteration is no end yet
        return Raised(error)
    try:
        context = contextvars.copy_context()  # what it sets may not reach the next event of its worker
        awaited = context.run(coroutine.send, None)
    except StopIteration:
        return None
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code, as in `invoke`
        return Raised(error)
    return Suspended(coroutine, context, awaited)


def is_cancelled() -> bool:
    """Tell whether somebody asked for the end of this task, be it the code that runs in it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def invoke(work: Awaitable[T], is_cut_off: Callable[[], bool] = is_cancelled) -> Returned[T] | Raised:
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
    if is_cut_off() or (is_cancelled() and await forgets_cancellation(is_cut_off)):
        raise asyncio.CancelledError
    return result


async def finish(work: Awaitable[None], is_cut_off: Callable[[], bool], task: asyncio.Task[Any]) -> Raised | None:
    """Await foreign code as `invoke` does, in `task`, which is the current one; None when it returned."""
    raised = None
    try:
        await work
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code, as in `invoke`
        raised = Raised(error)
    if is_cut_off() or (task.cancelling() and await forgets_cancellation(is_cut_off)):
        raise asyncio.CancelledError
    return raised


def own_task() -> asyncio.Task[Any]:
    """Tell the task that runs. Raises RuntimeError outside of one."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("this code runs in a task only")
    return task


async def forgets_cancellation(is_cut_off: Callable[[], bool] = lambda: False) -> bool:
    """Undo what the code did with this task's own `cancel`, or the next code that runs in it would be cancelled.

    Before Python 3.13 `uncancel` leaves a cancellation that was not thrown yet, which is taken here. Tells whether the
    task was cut off meanwhile.
    """
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    return is_cut_off()
