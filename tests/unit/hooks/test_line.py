"""Events that wait for a hook: in which order they are called, and what those cost that are gone."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Hold
from hookline.hooks import HookPolicy, Hooks
from hookline.hooks._line import Line
from hookline.hooks._runs import HookRun
from tests.support.hooks import Script, attempt, delivery_of, event_of, stage_of

if TYPE_CHECKING:
    from hookline import Event
    from hookline.consume import Delivery
    from hookline.hooks import Hook


class Waiting:
    """Runs that wait, each with a delivery that tells when it is called."""

    def __init__(self, count: int) -> None:
        self.line = Line()
        self.called: list[int] = []
        self.pairs: list[tuple[HookRun, Delivery]] = []
        for number in range(count):
            run, delivery = HookRun("a", None), delivery_of()
            delivery.note_waiting(partial(self.called.append, number))
            self.line.join(run, delivery, f"s{number}")
            self.pairs.append((run, delivery))

    def call_all(self) -> None:
        """Call one after another."""
        while self.line.call():
            pass


def test_the_first_to_come_is_called_first() -> None:
    """P8: those that wait for a hook are served in the order in which they came, each once."""
    waiting = Waiting(3)
    waiting.call_all()
    assert waiting.called == [0, 1, 2]


def test_who_asks_again_keeps_its_place_and_who_was_called_in_vain_is_first_again() -> None:
    """P8: asking costs no place, nor does being called when somebody else was quicker."""
    waiting = Waiting(2)
    waiting.line.join(*waiting.pairs[0])
    assert len(waiting.line) == 2
    waiting.line.call()
    waiting.line.join(*waiting.pairs[0])
    waiting.call_all()
    assert waiting.called == [0, 0, 1]


def test_who_was_called_together_stands_in_the_same_order_again() -> None:
    """P8: of many that were called and that all came too late each has its place, in whatever order they ask."""
    waiting = Waiting(4)
    waiting.call_all()
    for number in (2, 0, 3, 1):
        waiting.line.join(*waiting.pairs[number])
    waiting.called.clear()
    waiting.call_all()
    assert waiting.called == [0, 1, 2, 3]


def test_who_begins_and_comes_again_is_the_last() -> None:
    """P8: a place is good for one beginning, and nobody is called for a place that it had before."""
    waiting = Waiting(2)
    run, delivery = waiting.pairs[0]
    run.note_begun(1.0)
    waiting.line.join(run, delivery)
    assert waiting.line.count() == 2
    waiting.call_all()
    assert waiting.called == [1, 0]


def test_a_turn_goes_past_those_that_have_no_use_for_it() -> None:
    """P8: one that was cut off, one that is done, and one whose event is at work with another hook, which asks by itself."""
    waiting = Waiting(4)
    (_, cut_off), (done, _), (busy, at_work), _ = waiting.pairs
    cut_off.cut_off = True
    done.done = True
    at_work.note_waiting(None)
    busy.due_at = 1e9
    assert waiting.line.call()
    assert waiting.called == [3]
    assert busy.due_at == 0
    assert not busy.was_called


def test_who_moves_to_another_line_keeps_its_place() -> None:
    """P8: a gate that closes and opens again costs nobody its place."""
    waiting, parked = Waiting(4), Line()
    waiting.line.move(parked, lambda subject: subject in {"s0", "s2"})
    assert (len(waiting.line), len(parked)) == (2, 2)
    parked.move(waiting.line, lambda _: True)
    waiting.call_all()
    assert waiting.called == [0, 1, 2, 3]
    assert not parked.call()


def test_events_that_are_gone_are_passed_over() -> None:
    """P10: a partition that was let go leaves nobody behind in the line."""
    waiting = Waiting(3)
    del waiting.pairs[:2]
    gc.collect()
    assert waiting.line.call()
    assert waiting.called == [2]
    assert not waiting.line.call()


class Held:
    """A hook that ends as it is called, or waits and then ends, as it is told."""

    name = "a"

    def __init__(self, error: BaseException | None, *, waits: bool) -> None:
        self._error = error
        self._waits = waits

    async def handle(self, _: Event) -> None:
        """Do so."""
        if self._waits:
            await asyncio.sleep(0)
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "awaited"])
@pytest.mark.parametrize("error", [None, TimeoutError(), SystemExit()], ids=repr)
@pytest.mark.parametrize("siblings", [0, 1], ids=["alone", "beside another"])
async def test_a_place_is_given_back_once(error: BaseException | None, siblings: int, *, waits: bool) -> None:
    """P8: however a run ends, its place is free again; it counts as one, so that no more than the limit run after it."""
    hooks: list[Hook] = [Held(error, waits=waits), *[Script("other") for _ in range(siblings)]]
    async with stage_of(Hooks({"*": hooks}), concurrency={"a": 1}) as stage:
        for _ in range(3):
            assert not isinstance(await attempt(stage, delivery_of()), Hold)


async def test_the_next_is_called_when_a_place_falls_free() -> None:
    """P8: who waits for a place is called as soon as there is one, without asking for it by time."""
    let_go = asyncio.Event()

    class Narrow:
        name = "narrow"

        async def handle(self, event: Event) -> None:
            if event.subject == "first":
                await let_go.wait()

    called = asyncio.Event()
    async with stage_of(Hooks({"*": [Narrow()]}), hooks={"narrow": HookPolicy(concurrency=1)}) as stage:
        first = asyncio.create_task(attempt(stage, delivery_of(event_of(subject="first"))))
        await asyncio.sleep(0)
        second = delivery_of(event_of(subject="second"))
        assert isinstance(await attempt(stage, second), Hold)
        second.note_waiting(called.set)
        let_go.set()
        await first
        assert called.is_set()
        assert not isinstance(await attempt(stage, second), Hold)
