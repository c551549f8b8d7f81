"""Calling foreign code: what it raises is a value, and what it makes of a cancellation of ours is nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Raised, Returned, begin_coroutine, invoke

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine


async def _cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def _give_in() -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "half done"
    return "done"


async def _turn_into_an_error() -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as error:
        raise ValueError("connection lost") from error
    return "done"


async def test_a_cancellation_that_the_code_made_is_its_failure() -> None:
    """P7, cases: baseexception-from-hook. Code that cancels its own task has failed, and what runs after it is not cancelled."""
    result = await invoke(_cancel_itself(), lambda: False)
    assert isinstance(result, Raised)
    assert isinstance(result.error, asyncio.CancelledError)
    assert await invoke(asyncio.sleep(0, "next"), lambda: False) == Returned("next")


@pytest.mark.parametrize("code", [_give_in, _turn_into_an_error])
async def test_nothing_made_of_our_cancellation_counts(code: Callable[[], Awaitable[str]]) -> None:
    """P1, cases: cancel-is-not-failure. Code that is cut off may return or raise what it likes: there is no outcome."""
    cut_off = False
    task = asyncio.create_task(invoke(code(), lambda: cut_off))
    await asyncio.sleep(0)
    cut_off = True
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_code_that_cancels_its_task_and_returns_harms_nobody_after_it() -> None:
    """P3: a cancellation that the code asked of its own task and left behind does not hit what runs in it next."""

    async def cancel_and_return() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    assert await invoke(cancel_and_return(), lambda: False) == Returned("done")
    assert await invoke(asyncio.sleep(0, "next"), lambda: False) == Returned("next")


def test_code_that_cannot_be_called_has_not_ended() -> None:
    """P1, case 14 (baseexception-from-hook): a StopIteration of the call itself is a failure, not the end of a coroutine."""

    def stop(_: None) -> Coroutine[object, object, None]:
        raise StopIteration

    result = begin_coroutine(stop, None)
    assert isinstance(result, Raised)
    assert isinstance(result.error, StopIteration)
