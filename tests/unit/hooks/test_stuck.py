"""Runs that their time limit cannot end, and finding the hook that a thread is at."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, cast

import pytest

from hookline.consume import Done, GiveUp, Hold, Raised, Retry, begin_coroutine, finish, own_task
from hookline.contract import DeadLetterClass
from hookline.hooks import BreakerPolicy, GuardPolicy, Hook, HookPolicy, Hooks, hook_in
from hookline.hooks._admission import Admission
from hookline.hooks._call import Call, Caller
from hookline.hooks._wiring import WiredHook
from hookline.telemetry import Metrics
from tests.support.hooks import QUICK, Acting, Deaf, attempt, delivery_of, event_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.consume import Delivery
    from hookline.contract import Event
    from hookline.hooks._runs import HookRun


class Plain:
    """A hook that is a plain function."""

    name = "plain"

    def __init__(self, act: Callable[[Event], object]) -> None:
        self._act = act

    def handle(self, event: Event) -> object:
        """Act, and return what that returned."""
        return self._act(event)


class Slots:
    """Counts the slots that deliveries gave back."""

    def __init__(self) -> None:
        self.freed: list[Delivery] = []

    def delivery(self) -> Delivery:
        """Make a delivery that holds a slot."""
        made = delivery_of()
        made.release_slot = lambda: self.freed.append(made)
        return made


def wired(hook: object, metrics: Metrics) -> WiredHook:
    """Wire a hook."""
    known = cast("Hook", hook)
    admission = Admission(BreakerPolicy(), GuardPolicy(), metrics)
    return WiredHook(known.name, known, metrics, HookPolicy(), admission)


def nobody(run: HookRun, hook: WiredHook) -> None:
    """Call nobody out of a line."""


def unheard(delivery: Delivery, hook: str, *, is_stuck: bool) -> None:
    """Note nothing."""


async def call(caller: Caller, hook: WiredHook, delivery: Delivery, seconds: float) -> None:
    """Call a hook as the stage does."""
    function = hook.coroutine_function
    rest = caller.in_thread(hook, event_of()) if function is None else begin_coroutine(function, event_of())
    assert rest is not None
    assert not isinstance(rest, Raised)
    known = Call(hook, delivery, event_of(), seconds, own_task())
    try:
        raised = await finish(caller.go_on(rest, known), known.is_cut_off, known.task)
    finally:
        caller.end(known)
    outcome = known.outcome(raised)
    if outcome is not None:
        raise outcome.error


async def test_a_coroutine_that_swallows_its_cancellation_is_named_until_it_ends() -> None:
    """P10, case 22: it gives back its slot, the gauge names it, and shows zero again once it has ended; it has failed."""
    metrics, slots, let_go = Metrics(domain="test"), Slots(), asyncio.Event()

    async def swallow(_: Event) -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    caller = Caller(metrics, unheard, nobody)
    caller.open()
    delivery = slots.delivery()
    running = asyncio.create_task(call(caller, wired(Acting("bad", swallow), metrics), delivery, 0.01))
    await eventually_async(lambda: metrics.value("stuck_hooks", hook="bad") == 1)
    assert slots.freed == [delivery]
    assert caller.stuck_hooks()["bad"] > 0
    let_go.set()
    await asyncio.wait([running])
    assert isinstance(running.exception(), TimeoutError)
    await eventually_async(lambda: metrics.value("stuck_hooks", hook="bad") == 0)
    assert caller.stuck_hooks() == {}
    caller.close()


async def test_a_run_that_is_stuck_keeps_no_other_subject_from_its_hook() -> None:
    """P10: it is none of the events that a hook with a limit handles at once, and is so once only."""
    deaf = Deaf()
    async with stage_of(Hooks({"*": [deaf]}), timeout_seconds={"deaf": 0.01}, concurrency={"deaf": 1}) as stage:
        first = asyncio.create_task(attempt(stage, delivery_of()))
        try:
            await asyncio.sleep(0)
            assert isinstance(await attempt(stage, delivery_of(event_of(subject="other"))), Hold)
            await eventually_async(stage.stuck_hooks)
        finally:
            deaf.let_go.set()
        assert isinstance(await attempt(stage, delivery_of(event_of(subject="another"))), Done)
        assert isinstance(await first, Retry)
        assert isinstance(await attempt(stage, delivery_of(event_of(subject="last"))), Done)


async def test_who_waits_for_a_thread_that_never_comes_holds_no_slot() -> None:
    """P10, case 22: with every thread lost the events of plain functions wait, and take nobody's slot meanwhile."""
    metrics, slots, let_go = Metrics(domain="test"), Slots(), threading.Event()
    caller = Caller(metrics, unheard, nobody, threads=2)
    caller.open()
    blocked = wired(Plain(lambda _: let_go.wait(60)), metrics)
    try:
        deliveries = [slots.delivery() for _ in range(5)]
        running = [asyncio.create_task(call(caller, blocked, each, 0.01)) for each in deliveries]
        await eventually_async(lambda: len({id(each) for each in slots.freed}) == 5)
        assert metrics.value("stuck_hooks", hook="plain") == 2
    finally:
        let_go.set()
    await asyncio.gather(*running, return_exceptions=True)
    caller.close()


async def test_a_thread_that_is_only_late_keeps_the_slots_of_those_behind_it() -> None:
    """The bound on what runs at once holds as long as threads come back."""
    metrics, slots, let_go = Metrics(domain="test"), Slots(), threading.Event()
    caller = Caller(metrics, unheard, nobody, threads=2)
    caller.open()
    stuck, fine = wired(Plain(lambda _: let_go.wait(60)), metrics), wired(Plain(lambda _: None), metrics)
    try:
        running = asyncio.create_task(call(caller, stuck, slots.delivery(), 0.01))
        await eventually_async(lambda: len(slots.freed) == 1)
        for _ in range(3):
            await call(caller, fine, slots.delivery(), 30)
        assert len(slots.freed) == 1
    finally:
        let_go.set()
    await asyncio.gather(running, return_exceptions=True)
    caller.close()


async def test_a_thread_that_outlives_its_attempt_is_named_until_it_ends() -> None:
    """P10: cut off by a rebalance, the attempt is over and the thread is not; it is still lost to the pool."""
    metrics, slots, let_go = Metrics(domain="test"), Slots(), threading.Event()
    caller = Caller(metrics, unheard, nobody)
    caller.open()
    delivery = slots.delivery()
    began = threading.Event()

    def block(_: Event) -> None:
        began.set()
        let_go.wait(60)

    try:
        running = asyncio.create_task(call(caller, wired(Plain(block), metrics), delivery, 0.5))
        await eventually_async(began.is_set)
        delivery.cut_off = True
        running.cancel()
        await asyncio.wait([running])
        await eventually_async(lambda: metrics.value("stuck_hooks", hook="plain") == 1)
    finally:
        let_go.set()
    await eventually_async(lambda: metrics.value("stuck_hooks", hook="plain") == 0)
    caller.close()


@pytest.mark.parametrize("is_let_go", [False, True], ids=["ended by a restart", "ended by itself"])
async def test_a_run_that_only_a_restart_ends_has_used_a_try(is_let_go: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """P6, P10: an event whose hook hangs each time costs its budget in restarts, and is a dead letter then, not a loop."""
    saved = b""
    for _ in range(QUICK.max_attempts):
        saved = await run_until_stuck(saved, is_let_go=is_let_go)
    async with stage_of(Hooks({"*": [Deaf()]})) as stage:
        delivery = delivery_of()
        stage.memory.restore(delivery, saved)
        outcome = await attempt(stage, delivery)
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert [(failure.hook, failure.attempts) for failure in outcome.failures] == [("deaf", QUICK.max_attempts)]


async def run_until_stuck(saved: bytes, *, is_let_go: bool) -> bytes:
    """Run an event until its hook is stuck, then end it in order or cut it off, and tell what is kept of it."""
    deaf, delivery = Deaf(), delivery_of()
    async with stage_of(Hooks({"*": [deaf]}), timeout_seconds={"deaf": 0.01}) as stage:
        stage.memory.restore(delivery, saved)
        running = asyncio.create_task(attempt(stage, delivery))
        await eventually_async(stage.stuck_hooks)
        delivery.cut_off = not is_let_go
        kept = stage.memory.save(delivery)
        assert kept != saved
        deaf.let_go.set()
        await asyncio.gather(running, return_exceptions=True)
        return stage.memory.save(delivery) if is_let_go else kept


async def test_the_hook_that_a_thread_is_at_is_found() -> None:
    """P10: from its first step and from a later one, alone and beside another; between its steps it is nobody's."""
    found: list[str | None] = []

    def look() -> None:
        found.append(hook_in(sys._getframe()))

    def acting(name: str) -> Acting:
        async def act(_: Event) -> None:
            look()
            await asyncio.sleep(0)
            look()

        return Acting(name, act)

    for hooks in ([acting("a")], [acting("b"), acting("c")]):
        async with stage_of(Hooks({"*": hooks})) as stage:
            delivery = delivery_of()
            stage.identify(delivery)
            await cast("Awaitable[None]", stage.handle(delivery))
    look()
    assert found[:2] == ["a", "a"]
    assert sorted(filter(None, found[2:])) == ["b", "b", "c", "c"]
    assert found[-1] is None
