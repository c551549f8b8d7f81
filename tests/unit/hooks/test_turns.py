"""Places, turns and probes of a hook: each is given out once, and is lost to nobody."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import inf, nan
from typing import TYPE_CHECKING, Self

import pytest

from hookline.consume import Done, GiveUp, Hold
from hookline.contract import Event
from hookline.errs import HttpStatusError
from hookline.hooks import (
    BreakerPolicy,
    Condition,
    Gate,
    Gates,
    GuardPolicy,
    HookPolicy,
    Hooks,
    ReceiverGoneError,
    Rule,
    RuledHooks,
    TroubleKind,
)
from hookline.hooks._work import Work
from hookline.testing._time import virtual_time
from tests.support.hooks import Deaf, Script, attempt, delivery_of, event_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from hookline.consume import Delivery
    from hookline.hooks import Hook, HookDelivery, Stage
    from hookline.testing._time import VirtualTime

AWAY = HttpStatusError(503, host="code-host")


class Busy:
    """A hook that waits until it is let go, fails with what it is told to, and counts how many run at once."""

    name = "busy"

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.errors: list[BaseException | None] = []
        self.running = self.most = 0
        self.began: list[str] = []

    async def handle(self, event: Event) -> None:
        """Run."""
        self.began.append(event.subject)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go_on.wait()
            error = self.errors.pop(0) if self.errors else None
            if error is not None:
                raise error
        finally:
            self.running -= 1


class Called:
    """Deliveries of subjects that note when they are called."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def delivery(self, subject: str, **attributes: str) -> Delivery:
        """Make one."""
        event = Event.versioned(source="s", type="batch.failed", subject=subject, version=1, attributes=attributes)
        made = delivery_of(event)
        made.note_waiting(lambda: self.subjects.append(subject))
        return made


@asynccontextmanager
async def in_time(resolver: Any, **policy: Any) -> AsyncIterator[tuple[Stage, VirtualTime]]:
    """Open a stage in a time that passes when the test says so."""
    with virtual_time() as time:
        async with stage_of(resolver, **policy) as stage:
            yield stage, time


async def pass_time(time: VirtualTime, seconds: float) -> None:
    """Let time pass."""
    await time.let_pass(time.now + seconds, lambda: False)


async def opened(stage: Stage, subjects: int = 3) -> list[Delivery]:
    """Open the breaker of a stage whose hook's dependency is away."""
    failed = [delivery_of(event_of(subject=f"away{number}")) for number in range(subjects)]
    for delivery in failed:
        await attempt(stage, delivery)
    assert [each.kind for each in stage.troubles()] == [TroubleKind.BREAKER]
    return failed


async def test_a_thread_that_outlives_its_attempt_keeps_its_place_until_it_ends_and_gives_it_back_once() -> None:
    """P8, P10: cut off by a rebalance it is still at work, so one with a limit of one begins when it has ended, and no two."""
    let_go, began = threading.Event(), threading.Event()

    class Plain:
        name = "plain"

        def handle(self, _: Event) -> None:
            began.set()
            let_go.wait(60)

    called = Called()
    async with stage_of(Hooks({"*": [Plain()]}), concurrency={"plain": 1}) as stage:
        try:
            cut_off = delivery_of(event_of(subject="cut off"))
            running = asyncio.create_task(attempt(stage, cut_off))
            await eventually_async(began.is_set)
            cut_off.cut_off = True
            running.cancel()
            await asyncio.wait([running])
            others = [called.delivery(subject) for subject in "ab"]
            assert [type(await attempt(stage, other)) for other in others] == [Hold, Hold]
            stage._caller._mark_stuck(inf)
            assert called.subjects == ["a"]
        finally:
            let_go.set()
        await eventually_async(lambda: not stage._caller._calls)
        assert called.subjects == ["a"]
        assert await attempt(stage, others[0]) == Done()


@pytest.mark.parametrize("eager", [False, True], ids=["later", "at once"])
async def test_what_was_let_begin_takes_a_place_before_its_hook_is_called(*, eager: bool) -> None:
    """P8: beside another hook it is called in a task that begins later; no more than the limit run meanwhile."""
    busy, other = Busy(), Busy()
    other.name = "other"
    called = Called()
    async with stage_of(Hooks({"*": [other, busy]}), concurrency={"busy": 1}) as stage:
        running = [asyncio.ensure_future(attempt(stage, called.delivery(subject))) for subject in "abc"]
        await asyncio.sleep(0)
        if eager:
            busy.go_on.set()
        other.go_on.set()
        busy.go_on.set()
        await asyncio.gather(*running)
    assert busy.most == 1


async def test_what_was_cut_off_before_its_hook_was_called_gives_its_place_back() -> None:
    """P8: an attempt that ends between the two costs its hook nothing."""
    busy, other = Busy(), Busy()
    other.name = "other"
    async with stage_of(Hooks({"*": [other, busy]}), concurrency={"busy": 1}) as stage:
        for _ in range(3):
            delivery = delivery_of()
            stage.identify(delivery)
            rest: Any = stage.handle(delivery)
            delivery.cut_off = True
            rest.send(None)
            with pytest.raises(asyncio.CancelledError):
                await _thrown_into(rest)
        busy.go_on.set()
        other.go_on.set()
        assert await attempt(stage, delivery_of()) == Done()


async def _thrown_into(rest: Any) -> None:
    waits = rest.throw(asyncio.CancelledError())
    while True:
        await asyncio.sleep(0)
        if waits.done():
            waits = rest.send(None)


@pytest.mark.parametrize("error", [TimeoutError(), AWAY], ids=repr)
async def test_a_probe_that_may_be_tried_again_is_no_answer_and_costs_no_attempt(error: BaseException) -> None:
    """P9: a receiver that hangs is away too: however often it was asked, the breaker is open and no event is given up."""
    steps = [AWAY] * 3 + [error] * 20
    hook = Script("a", *steps)
    async with in_time(Hooks({"*": [hook]}), breaker=BreakerPolicy(subjects=3)) as (stage, time):
        failed = await opened(stage)
        while len(hook.runs) < len(steps):
            await pass_time(time, 60)
            for delivery in failed:
                assert not isinstance(await attempt(stage, delivery), GiveUp)
        assert [each.kind for each in stage.troubles()] == [TroubleKind.BREAKER]
        await pass_time(time, 60)
        assert Done() in [await attempt(stage, delivery) for delivery in failed]
        assert stage.troubles() == []


async def test_the_answer_of_an_older_probe_changes_nothing() -> None:
    """P9: what a receiver said of a request of long ago says nothing of now."""
    deaf, answers = Deaf(), asyncio.Event()
    steps: list[BaseException] = [AWAY] * 3

    class Switched:
        name = "switched"
        timeout_seconds = 1.0

        async def handle(self, event: Event) -> None:
            if steps:
                raise steps.pop()
            await (deaf.handle(event) if event.subject == "away0" else answers.wait())

    async with in_time(Hooks({"*": [Switched()]}), breaker=BreakerPolicy(subjects=3)) as (stage, time):
        failed = await opened(stage)
        await pass_time(time, 6)
        old = asyncio.create_task(attempt(stage, failed[0]))
        await pass_time(time, 7)
        young = asyncio.create_task(attempt(stage, failed[1]))
        await time.quiet()
        deaf.let_go.set()
        await old
        assert not young.done()
        assert [each.kind for each in stage.troubles()] == [TroubleKind.BREAKER]
        answers.set()
        await young
        assert stage.troubles() == []


async def test_a_probe_counts_as_gone_when_the_hooks_own_time_is_over() -> None:
    """P9: a hook that says how long it may take is asked again as soon as that and a grace have passed."""
    deaf, called = Deaf(timeout_seconds=1.0), Called()
    async with in_time(Hooks({"*": [deaf]}), breaker=BreakerPolicy(subjects=1)) as (stage, time):
        limits = stage._wiring.of(event_of()).hooks["deaf"].limits
        limits.breaker.failed("s", time.now, 1)
        stage._admission._look_whether_clear()
        await pass_time(time, 6)
        probe = asyncio.create_task(attempt(stage, delivery_of()))
        await time.quiet()
        waiting = called.delivery("next")
        assert isinstance(await attempt(stage, waiting), Hold)
        await pass_time(time, 8)
        assert called.subjects == ["next"]
        deaf.let_go.set()
        await probe


@pytest.mark.parametrize("why", ["expired", "closed", "cut off"])
async def test_a_turn_that_is_of_no_use_is_the_next_ones(why: str) -> None:
    """P8: an event that has expired, was closed or was let go while it stood in line strands nobody behind it."""
    busy, called, gates = Busy(), Called(), Gates("test")
    async with in_time(Hooks({"*": [busy]}), concurrency={"busy": 1}, gates=gates) as (stage, time):
        running = asyncio.create_task(attempt(stage, called.delivery("first")))
        await time.quiet()
        useless, other = called.delivery("useless", **_soon(time, why)), called.delivery("other")
        for delivery in (useless, other):
            assert isinstance(await attempt(stage, delivery), Hold)
        busy.go_on.set()
        await running
        assert called.subjects == ["useless"]
        if why == "expired":
            await pass_time(time, 10)
        elif why == "closed":
            gates._closed["", "useless"] = Gate("test", "", "useless", "", "ada", 0)
            gates.is_open = False
        else:
            useless.cut_off = True
        if why != "cut off":
            await attempt(stage, useless)
        else:
            await pass_time(time, 2)
        assert "other" in called.subjects
        assert await attempt(stage, other) == Done()


def _soon(time: VirtualTime, why: str) -> dict[str, str]:
    """Let an event expire in five seconds, if it shall."""
    at = datetime.fromtimestamp(time.wall() + 5, UTC)
    return {"expirytime": at.isoformat()} if why == "expired" else {}


async def test_hooks_of_one_name_share_their_places() -> None:
    """P8: a resolver that makes its hooks anew for each event gets around no limit."""
    made: list[Busy] = []
    go_on = asyncio.Event()

    class Anew:
        def for_event(self, _: Event) -> tuple[Hook, ...]:
            hook = Busy()
            hook.go_on = go_on
            made.append(hook)
            return (hook,)

    async with stage_of(Anew(), concurrency={"busy": 2}) as stage:
        running = [asyncio.create_task(attempt(stage, delivery_of(event_of(subject=s)))) for s in "abcd"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sum(hook.running for hook in made) == 2
        go_on.set()
        assert [type(each) for each in await asyncio.gather(*running)] == [Done, Done, Hold, Hold]


async def test_a_condition_that_cannot_be_answered_first_takes_no_bound_away() -> None:
    """P8: what stands in for a hook then has the hook's name, and its bounds with it."""
    busy = Busy()
    busy.policy = HookPolicy(concurrency=1)  # type: ignore[attr-defined] # as a hook of one's own may have it
    rules = RuledHooks([Rule(busy, when=Condition("payload.count > 1"))])
    async with stage_of(rules) as stage:
        assert isinstance(await attempt(stage, delivery_of()), GiveUp)
        wanted = [
            Event.versioned(source="s", type="t.t", subject=subject, version=1, payload={"count": 2})
            for subject in "abc"
        ]
        running = [asyncio.create_task(attempt(stage, delivery_of(event))) for event in wanted]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        busy.go_on.set()
        await asyncio.gather(*running)
    assert busy.most == 1


async def test_a_rate_calls_nobody_while_the_hook_is_held_and_goes_on_then() -> None:
    """P8: what waits for a person costs no turn of the loop; released the events go on in their order."""
    hook = Script("a", None, ReceiverGoneError("gone"))
    called, gates = Called(), Gates("test")

    def close(name: str, reason: str) -> None:
        gates.close(Gate("test", name, "", reason, "hookline", 0))

    policy = {"a": HookPolicy(rate=10.0)}
    async with in_time(Hooks({"*": [hook]}), hooks=policy, gates=gates, close_gate=close) as (stage, time):
        deliveries = {subject: called.delivery(subject) for subject in "abcd"}
        for delivery in deliveries.values():
            await attempt(stage, delivery)
        await pass_time(time, 0.15)
        assert called.subjects == ["b"]
        await attempt(stage, deliveries["b"])
        await pass_time(time, 50)
        assert called.subjects == ["b"]
        gates.replace_all([])
        for subject in "cd":
            assert called.subjects[-1] == subject
            assert await attempt(stage, deliveries[subject]) == Done()
            await pass_time(time, 0.11)
        assert await attempt(stage, deliveries["b"]) == Done()


async def test_as_many_are_called_as_may_begin_and_in_their_order() -> None:
    """P8: a gate that opens before a hook with two places calls two, the first that came, and each that ends one more."""
    busy, called, gates = Busy(), Called(), Gates("test")
    busy.go_on.set()
    gate = Gate("test", "busy", "", "", "ada", 0)
    gates.close(gate)
    async with stage_of(Hooks({"*": [busy]}), concurrency={"busy": 2}, gates=gates) as stage:
        deliveries = {subject: called.delivery(subject) for subject in "abcdef"}
        for delivery in deliveries.values():
            assert isinstance(await attempt(stage, delivery), Hold)
        gates.open(gate.key)
        assert called.subjects == ["a", "b"]
        for place in range(6):
            await attempt(stage, deliveries[called.subjects[place]])
    assert busy.began == list("abcdef")


async def test_what_waits_for_its_hook_to_be_entered_is_not_charged() -> None:
    """P9: an event that failed before a restart and waits until its hook is there has no less time for that."""

    class Never:
        name = "never"

        async def __aenter__(self) -> Self:
            await asyncio.Event().wait()
            return self

        async def __aexit__(self, *_: object) -> None:
            """Leave."""

        async def handle(self, _: Event) -> None:
            """Do nothing."""

    async with in_time(Hooks({"*": [Never()]}), leave_seconds=0.0) as (stage, time):
        delivery = delivery_of()
        stage.identify(delivery)
        assert isinstance(delivery.progress, Work)
        (run,) = delivery.progress.runs
        run.first_failed_at = time.now - 60
        assert isinstance(await attempt(stage, delivery), Hold)
        await pass_time(time, 1_000)
        assert run.first_failure_at(time.now) == pytest.approx(time.now - 60)


class Polling:
    """A hook that asks to be run again when it is told to, and else does what it is told."""

    name = "polling"

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.asks = False

    async def handle(self, _: Event, delivery: HookDelivery) -> None:
        """Ask, do or fail."""
        if self.error is not None:
            raise self.error
        if self.asks:
            delivery.hold(30)


async def test_a_hold_is_no_outcome_for_the_guard() -> None:
    """P9: a hook that polls well and then fails for good with each event is held all the same."""
    hook = Polling()
    async with stage_of(Hooks({"*": [hook]}), guard=GuardPolicy(outcomes=6, subjects=3)) as stage:
        for number in range(6):
            hook.error, hook.asks = None, True
            for polled in range(5):
                await attempt(stage, delivery_of(event_of(subject=f"p{number}.{polled}")))
            hook.error = KeyError("bug")
            assert isinstance(await attempt(stage, delivery_of(event_of(subject=f"s{number}"))), GiveUp)
        assert [each.kind for each in stage.troubles()] == [TroubleKind.HELD]


async def test_a_hold_is_no_answer_to_a_probe() -> None:
    """P9: a hook that asks to be run again may not have asked its dependency: the breaker is open, the next may probe."""
    hook, called = Polling(), Called()
    hook.error = AWAY
    async with in_time(Hooks({"*": [hook]}), breaker=BreakerPolicy(subjects=3)) as (stage, time):
        await opened(stage)
        hook.error, hook.asks = None, True
        await pass_time(time, 6)
        assert isinstance(await attempt(stage, called.delivery("polls")), Hold)
        assert [each.kind for each in stage.troubles()] == [TroubleKind.BREAKER]
        hook.asks = False
        assert await attempt(stage, called.delivery("answers")) == Done()
        assert stage.troubles() == []


@pytest.mark.parametrize("seconds", [-1, -0.001, inf, -inf, nan, 1e12])
async def test_a_hold_for_no_time_that_there_is_is_refused(seconds: float) -> None:
    """A hook is told at once what to give, and its event is a dead letter that names the mistake."""

    class Wrong:
        name = "wrong"

        async def handle(self, _: Event, delivery: HookDelivery) -> None:
            delivery.hold(seconds)

    async with stage_of(Hooks({"*": [Wrong()]})) as stage:
        outcome = await attempt(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.failures[0].exception == "ValueError"
