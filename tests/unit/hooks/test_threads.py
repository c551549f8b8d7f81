"""Hooks that are plain functions, and those that only look like it."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

import pytest

from hookline.consume import Done, GiveUp
from hookline.contract import DeadLetterClass, Event
from hookline.hooks import Hook, Hooks
from hookline.hooks._call import THREADS
from tests.support.hooks import Acting, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_PLACE: ContextVar[str] = ContextVar("_PLACE", default="nowhere")


class Plain:
    """A hook that is a plain function."""

    def __init__(self, act: Callable[[Event], object], name: str) -> None:
        self._act = act
        self.name = name

    def handle(self, event: Event) -> object:
        """Act, and return what that returned."""
        return self._act(event)


def plain(act: Callable[[Event], object], name: str = "plain") -> Hook:
    """Make a hook as people write them: what it returns is not looked at by any type checker."""
    return cast("Hook", Plain(act, name))


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


async def test_a_coroutine_that_a_function_returns_too_late_is_closed() -> None:
    """P10: its time was over before it began, so it is not run, and nobody is warned that it was forgotten."""
    let_go = threading.Event()
    returned: list[Coroutine[object, object, None]] = []
    ran: list[Event] = []

    async def work(event: Event) -> None:
        ran.append(event)

    def block(event: Event) -> object:
        let_go.wait(30)
        returned.append(work(event))
        return returned[0]

    async with stage_of(Hooks({"*": [plain(block)]}), timeout_seconds={"plain": 0.01}) as stage:
        running = asyncio.create_task(attempt(stage, delivery_of()))
        await asyncio.wait([running], timeout=0.1)
        let_go.set()
        assert not isinstance(await running, Done)
    assert inspect.getcoroutinestate(returned[0]) == inspect.CORO_CLOSED
    assert ran == []


async def test_waiting_for_a_thread_takes_nothing_of_a_time_limit() -> None:
    """P10: the limit is for the hook's own work; one that had to wait for a thread runs once and has all its time."""
    let_go = threading.Event()
    ran: list[Event] = []
    hooks = Hooks({"block.*": [plain(lambda _: let_go.wait(30), "blocks")], "late.*": [plain(ran.append, "late")]})
    async with stage_of(hooks, timeout_seconds={"late": 0.05}) as stage:
        blocking = [asyncio.create_task(attempt(stage, delivery_of(event_of("block.it")))) for _ in range(THREADS)]
        late = asyncio.create_task(attempt(stage, delivery_of(event_of("late.one"))))
        await asyncio.wait([late], timeout=0.2)
        assert ran == []
        let_go.set()
        assert set(await asyncio.gather(*blocking, late)) == {Done()}
    assert len(ran) == 1


async def test_a_thread_that_could_not_be_used_is_free_again() -> None:
    """P8: a call that fails before its function began, here for a limit that is no number, keeps no thread."""
    ran: list[Event] = []
    hooks = Hooks({"bad.*": [plain(ran.append, "bad")], "good.*": [plain(ran.append, "good")]})
    async with stage_of(hooks, timeout_seconds={"bad": cast("float", "soon")}) as stage:
        for _ in range(THREADS + 1):
            assert isinstance(await attempt(stage, delivery_of(event_of("bad.one"))), GiveUp)
        assert await attempt(stage, delivery_of(event_of("good.one"))) == Done()
    assert len(ran) == 1
