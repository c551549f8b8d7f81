"""Hooks that are plain functions, and those that only look like it."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

import pytest

from hookline.consume import Done, GiveUp
from hookline.contract import DeadLetterClass, Event
from hookline.hooks import Hook, Hooks
from hookline.hooks._call import Caller
from tests.support.hooks import Acting, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: ContextVar[str] = ContextVar("_PLACE", default="nowhere")


class Plain:
    """A hook that is a plain function."""

    name = "plain"

    def __init__(self, act: Callable[[Event], object]) -> None:
        self._act = act

    def handle(self, event: Event) -> object:
        """Act, and return what that returned."""
        return self._act(event)


def plain(act: Callable[[Event], object]) -> Hook:
    """Make a hook as people write them: what it returns is not looked at by any type checker."""
    return cast("Hook", Plain(act))


async def test_a_plain_function_runs_beside_the_loop() -> None:
    """P8: it blocks a thread of its own and nobody else; here it ends only when a coroutine of the same event lets it."""
    let_go = threading.Event()

    async def release(_: Event) -> None:
        let_go.set()

    blocking = plain(lambda _: let_go.wait(30))
    async with stage_of(Hooks({"*": [blocking, Acting("releases", release)]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()


async def test_a_plain_function_sees_the_context() -> None:
    """What is set around a hook, such as a trace, is there in its thread, and what it sets there leaks nowhere."""
    seen: list[str] = []

    def look(_: Event) -> None:
        seen.append(_PLACE.get())
        _PLACE.set("thread")

    _PLACE.set("loop")
    async with stage_of(Hooks({"*": [plain(look)]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()
    assert seen == ["loop"]
    assert _PLACE.get() == "loop"


@pytest.mark.parametrize("returned", [True, 204, {"ok": True}], ids=repr)
async def test_returning_anything_means_done(returned: object) -> None:
    """Case 14 (baseexception-from-hook): a hook returned, so its effect happened, whatever it returned."""
    async with stage_of(Hooks({"*": [plain(lambda _: returned)]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()


async def test_a_coroutine_that_a_function_returns_is_awaited() -> None:
    """A decorator may hide that a hook is a coroutine function; its work is waited for all the same."""
    ended: list[Event] = []

    async def work(event: Event) -> None:
        await asyncio.sleep(0)
        ended.append(event)

    async with stage_of(Hooks({"*": [plain(work)]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()
    assert len(ended) == 1


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), StopIteration(), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_plain_function_raises_is_its_failure(error: BaseException) -> None:
    """P7, case 14 (baseexception-from-hook): no exception of a thread is lost, stops the loop, or hangs the event."""

    def fail(_: Event) -> None:
        raise error

    async with stage_of(Hooks({"*": [plain(fail)]}), timeout_seconds={"plain": 5}) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert [failure.hook for failure in outcome.failures] == ["plain"]


async def test_a_thread_past_its_time_holds_its_subject() -> None:
    """P10, case 22: it cannot be stopped, so the attempt is failed only when it has ended, and never overlaps the next."""
    let_go = threading.Event()
    inside: list[int] = []

    def block(_: Event) -> None:
        inside.append(threading.get_ident())
        let_go.wait(30)

    async with stage_of(Hooks({"*": [plain(block)]}), timeout_seconds={"plain": 0.01}) as stage:
        running = asyncio.create_task(attempt(stage, delivery_of()))
        _, still = await asyncio.wait([running], timeout=0.1)
        assert still == {running}
        let_go.set()
        assert not isinstance(await running, Done)
    assert len(inside) == 1


async def test_waiting_for_a_thread_takes_nothing_of_a_time_limit() -> None:
    """P10: the limit is for the hook's own work; one that had to wait for a thread runs once and has all its time."""
    let_go = threading.Event()
    ran: list[Event] = []
    caller = Caller(threads=1)
    try:
        first = asyncio.create_task(caller.call(plain(lambda _: let_go.wait(30)), event_of(), 30))
        second = asyncio.create_task(caller.call(plain(ran.append), event_of(), 0.05))
        await asyncio.wait([second], timeout=0.2)
        assert ran == []
        let_go.set()
        await asyncio.gather(first, second)
    finally:
        let_go.set()
        caller.close()
    assert len(ran) == 1


async def test_a_thread_that_could_not_be_used_is_free_again() -> None:
    """P8: a call that fails before its function began, here for a limit that is no number, keeps no thread."""
    ran: list[Event] = []
    caller = Caller(threads=1)
    try:
        for _ in range(2):
            with pytest.raises(TypeError):
                await caller.call(plain(ran.append), event_of(), cast("float", "soon"))
        await caller.call(plain(ran.append), event_of(), 30)
    finally:
        caller.close()
    assert len(ran) == 1
