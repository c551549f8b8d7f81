"""What keeps a hook from an event, and what lets it go on: expiry, rate, breaker, guard, gates, and holds that it asks for."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, GiveUp, Hold, Retry, RetryPolicy
from hookline.contract import DeadLetterClass, Event, GateKey
from hookline.errs import HttpStatusError
from hookline.hooks import (
    BreakerPolicy,
    Gate,
    Gates,
    GuardPolicy,
    HookPolicy,
    Hooks,
    ReceiverGoneError,
    TroubleKind,
)
from hookline.telemetry import Metrics
from tests.support.hooks import Script, altered, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from hookline.consume import Delivery
    from hookline.hooks import HookDelivery, Stage

AWAY = HttpStatusError(503, host="code-host")
QUICK_BREAKER = BreakerPolicy(subjects=3, probe_seconds=0.01, max_probe_seconds=0.01)
SMALL_GUARD = GuardPolicy(outcomes=6, subjects=3)


class Switched:
    """A hook whose dependency is there, away or broken, as told."""

    name = "switched"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.handled: list[str] = []

    async def handle(self, event: Event) -> None:
        """Do or fail."""
        if self.error is not None:
            raise self.error
        self.handled.append(event.subject)


def of_subjects(count: int, start: int = 0) -> list[Delivery]:
    """Make deliveries of one event each of so many subjects."""
    return [delivery_of(event_of(subject=f"s{number}")) for number in range(start, start + count)]


async def until_done(stage: Stage, delivery: Delivery) -> None:
    """Attempt it until it is done, each time that it is called."""
    while not isinstance(await attempt(stage, delivery), Done):
        called = asyncio.Event()
        delivery.note_waiting(called.set)
        await called.wait()


async def test_an_event_past_its_expirytime_ends_without_its_hooks() -> None:
    """P1: what its publisher gave an expiry is not run past it, is no dead letter, and is counted."""
    hook = Script("a")
    event = Event.versioned(
        source="submitqueue",
        type="batch.failed",
        subject="b",
        version=1,
        attributes={"expirytime": "2026-01-01T00:00:00Z"},
    )
    metrics = Metrics(domain="test")
    async with stage_of(Hooks({"*": [hook]}), metrics=metrics) as stage:
        assert await settle(stage, delivery_of(event)) == Done()
        assert metrics.value("expired_total", hook="a") == 1
    assert hook.runs == []


@pytest.mark.parametrize("text", ["2999-01-01T00:00:00Z", "tomorrow"])
async def test_an_event_before_its_expirytime_or_with_none_that_can_be_read_is_run(text: str) -> None:
    """P1: in doubt an event is handled."""
    hook = Script("a")
    event = Event.versioned(
        source="submitqueue", type="batch.failed", subject="b", version=1, attributes={"expirytime": text}
    )
    async with stage_of(Hooks({"*": [hook]})) as stage:
        assert await settle(stage, delivery_of(event)) == Done()
    assert len(hook.runs) == 1


async def test_an_old_event_is_kept_from_the_hook_that_says_so_only() -> None:
    """P7: `max_age_seconds` is one hook's; its siblings run."""
    fresh, patient = Script("fresh"), Script("patient")
    old = Event.versioned(source="s", type="batch.failed", subject="b", version=1, timestamp_ms=1_000)
    metrics, hooks = Metrics(domain="test"), {"fresh": HookPolicy(max_age_seconds=60)}
    async with stage_of(Hooks({"*": [fresh, patient]}), hooks=hooks, metrics=metrics) as stage:
        assert await settle(stage, delivery_of(old)) == Done()
        assert metrics.value("expired_total", hook="fresh") == 1
    assert (len(fresh.runs), len(patient.runs)) == (0, 1)


async def test_each_hook_has_its_own_retry_policy() -> None:
    """P7: of two hooks that fail alike one is tried twice and one five times."""
    short, long = Script("short", *[TimeoutError()] * 9), Script("long", *[TimeoutError()] * 9)
    quick = {"initial_seconds": 0.001, "max_seconds": 0.002}
    hooks = {
        "short": HookPolicy(retry=RetryPolicy(max_attempts=2, **quick)),
        "long": HookPolicy(retry=RetryPolicy(max_attempts=5, **quick)),
    }
    async with stage_of(Hooks({"*": [short, long]}), hooks=hooks) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert (len(short.runs), len(long.runs)) == (2, 5)


async def test_a_hook_may_carry_its_policy_and_the_settings_go_before() -> None:
    """What the settings say of a hook counts, and what they do not say is as its code has it."""
    hook = Script("a", *[TimeoutError()] * 9)
    hook.policy = HookPolicy(  # type: ignore[attr-defined] # as a hook of one's own may have it
        retry=RetryPolicy(max_attempts=2, initial_seconds=0.001, max_seconds=0.002), max_age_seconds=1
    )
    async with stage_of(Hooks({"*": [hook]}), hooks={"a": HookPolicy(max_age_seconds=1e9)}) as stage:
        assert isinstance(await settle(stage, delivery_of(event_of())), GiveUp)
    assert len(hook.runs) == 2


async def test_a_rate_spaces_the_beginnings_and_holds_no_slot() -> None:
    """P8: attempts begin no closer than the rate allows; the next one is held and called when its time has come."""
    gap_seconds = 0.05
    began: list[float] = []

    class Timed(Switched):
        async def handle(self, event: Event) -> None:
            began.append(time.monotonic())
            await super().handle(event)

    hook = Timed()
    async with stage_of(Hooks({"*": [hook]}), hooks={hook.name: HookPolicy(rate=1 / gap_seconds)}) as stage:
        for delivery in of_subjects(4):
            await until_done(stage, delivery)
    assert len(began) == 4
    assert all(later - earlier >= gap_seconds * 0.99 for earlier, later in pairwise(began))


async def test_an_outage_opens_the_breaker_and_costs_no_attempt() -> None:
    """P9: with the dependency away events are held; when a probe is answered all of them go on, and none is a dead letter."""
    hook, metrics = Switched(AWAY), Metrics(domain="test")
    async with stage_of(Hooks({"*": [hook]}), breaker=QUICK_BREAKER, metrics=metrics) as stage:
        first = of_subjects(3)
        for delivery in first:
            assert isinstance(await attempt(stage, delivery), Retry)
        assert metrics.value("breaker_open", hook=hook.name) == 1
        assert [each.kind for each in stage.troubles()] == [TroubleKind.BREAKER]
        hook.error = None
        rest = of_subjects(20, start=3)
        for delivery in [*rest, *first]:
            await until_done(stage, delivery)
        assert metrics.value("breaker_open", hook=hook.name) == 0
        assert stage.troubles() == []
    assert sorted(hook.handled) == sorted(f"s{number}" for number in range(23))


async def test_a_breaker_holds_its_own_hook_only() -> None:
    """P7, P9: the siblings of a hook whose dependency is away are done with the event, and are not run again."""
    hook, sibling = Switched(AWAY), Script("sibling")
    async with stage_of(Hooks({"*": [hook, sibling]}), breaker=BreakerPolicy(subjects=3, probe_seconds=3_600)) as stage:
        for delivery in of_subjects(3):
            await attempt(stage, delivery)
        held = of_subjects(1, start=9)[0]
        assert isinstance(await attempt(stage, held), Hold)
        assert isinstance(await attempt(stage, held), Hold)
    assert len(sibling.runs) == 4


async def test_a_permanent_failure_never_opens_the_breaker() -> None:
    """P9: what an event does wrong is no outage, however many do."""
    hook = Switched(HttpStatusError(404, host="code-host"))
    async with stage_of(Hooks({"*": [hook]}), breaker=QUICK_BREAKER, guard=GuardPolicy(enabled=False)) as stage:
        for delivery in of_subjects(30):
            assert isinstance(await attempt(stage, delivery), GiveUp)
        assert stage.troubles() == []


async def test_one_subject_whose_dependency_fails_is_told_of_and_not_held() -> None:
    """P9: in a quiet domain there is no breaker; that the dependency keeps failing is known all the same, until it answers."""
    hook = Switched(AWAY)
    async with stage_of(Hooks({"*": [hook]})) as stage:
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        assert [each.kind for each in stage.troubles()] == [TroubleKind.DEPENDENCY]
        hook.error = None
        assert await settle(stage, delivery) == Done()
        assert stage.troubles() == []


async def test_a_bad_deploy_is_held_after_some_dead_letters_and_released_by_its_gate() -> None:
    """P9: the guard holds the hook and has its gate closed; what comes meanwhile waits, and is handled once a person opens it."""
    hook, gates, closed = Switched(KeyError("bug")), Gates("test"), list[str]()

    def close(name: str, reason: str) -> None:
        closed.append(name)
        gates.close(Gate("test", name, "", reason, "hookline", 0))

    async with stage_of(Hooks({"*": [hook]}), guard=SMALL_GUARD, gates=gates, close_gate=close) as stage:
        outcomes = [await attempt(stage, delivery) for delivery in of_subjects(6)]
        assert all(isinstance(outcome, GiveUp) for outcome in outcomes)
        waiting = of_subjects(50, start=6)
        assert all([isinstance(await attempt(stage, delivery), Hold) for delivery in waiting])
        assert closed == [hook.name]
        assert [each.kind for each in stage.troubles()] == [TroubleKind.HELD]
        hook.error = None
        gates.open(gates.closed_for(hook.name, "").key)  # type: ignore[union-attr] # it is closed
        assert stage.troubles() == []
        assert [await attempt(stage, delivery) for delivery in waiting] == [Done()] * 50


async def test_what_fails_while_its_hook_is_held_waits() -> None:
    """P9: an attempt that was running when the guard closed the hook is no dead letter either."""
    gates = Gates("test")

    class Closing(Switched):
        async def handle(self, _: Event) -> None:
            gates.close(Gate("test", self.name, "", "bad deploy", "ada", 0))
            raise KeyError("bug")

    async with stage_of(Hooks({"*": [Closing()]}), gates=gates) as stage:
        assert isinstance(await attempt(stage, delivery_of()), Retry)


async def test_a_receiver_that_is_gone_holds_its_hook_and_the_event_waits() -> None:
    """P9: 410 Gone stops the hook until a person releases it, and dead-letters nothing."""

    class GoneError(ReceiverGoneError):
        """What a client says."""

    closed = list[str]()
    hook = Switched(GoneError("no more"))
    async with stage_of(Hooks({"*": [hook]}), close_gate=lambda name, _: closed.append(name)) as stage:
        assert not isinstance(await attempt(stage, delivery_of()), GiveUp)
        assert isinstance(await attempt(stage, delivery_of(event_of(subject="next"))), Hold)
    assert closed == [hook.name]


@pytest.mark.parametrize(
    ("hook", "subject"),
    [("", ""), ("switched", ""), ("", "s0"), ("switched", "s0")],
    ids=["domain", "hook", "subject", "both"],
)
async def test_a_closed_gate_holds_what_it_is_closed_for(hook: str, subject: str) -> None:
    """An operator closes a domain, a hook, a subject, or a hook for a subject; opening it lets everything go on."""
    gates, wired, other = Gates("test"), Switched(), Script("other")
    gate = Gate("test", hook, subject, "maintenance", "ada", 0)
    async with stage_of(Hooks({"*": [wired, other]}), gates=gates) as stage:
        gates.close(gate)
        delivery = of_subjects(1)[0]
        assert isinstance(await attempt(stage, delivery), Hold)
        assert len(other.runs) == (0 if not hook else 1)
        assert isinstance(await attempt(stage, of_subjects(1, start=5)[0]), Hold if not subject else Done)
        gates.open(gate.key)
        assert await attempt(stage, delivery) == Done()
    assert len(other.runs) == (2 if subject or hook else 1)


async def test_a_hook_may_ask_to_be_run_again_later_without_it_counting() -> None:
    """A hook that holds is run again as if for the first time, and its siblings are not; the last word of an attempt counts."""
    attempts: list[int] = []

    class Polling:
        name = "polling"

        async def handle(self, _: Event, delivery: HookDelivery) -> None:
            attempts.append(delivery.attempt)
            if len(attempts) < 3:
                delivery.hold(60)
                delivery.hold(0)

    sibling = Script("sibling")
    async with stage_of(Hooks({"*": [Polling(), sibling]})) as stage:
        delivery = delivery_of()
        assert await attempt(stage, delivery) == Hold(0.0)
        assert await attempt(stage, delivery) == Hold(0.0)
        assert await attempt(stage, delivery) == Done()
    assert attempts == [1, 1, 1]
    assert len(sibling.runs) == 1


async def test_a_failure_goes_before_a_hold() -> None:
    """A hook that asks to be run again and then raises has failed."""

    class Torn:
        name = "torn"

        async def handle(self, _: Event, delivery: HookDelivery) -> None:
            delivery.hold(60)
            raise KeyError("bug")

    async with stage_of(Hooks({"*": [Torn()]})) as stage:
        assert isinstance(await attempt(stage, delivery_of()), GiveUp)


async def test_a_plain_function_may_hold_too() -> None:
    """What runs in a thread is given the same delivery."""

    class Plain:
        name = "plain"

        def handle(self, _: Event, delivery: HookDelivery) -> None:
            delivery.hold(30)

    async with stage_of(Hooks({"*": [Plain()]})) as stage:
        outcome = await attempt(stage, delivery_of())
    assert isinstance(outcome, Hold)
    assert outcome.delay_seconds > 20


async def test_a_malformed_record_of_somebody_else_is_done_with() -> None:
    """P12: a stage beside the one that buries malformed records neither buries them nor runs a hook."""
    hook = Script("a")
    bad = altered(delivery_of(), value=b"\xff")
    async with stage_of(Hooks({"*": [hook]}), buries_malformed=False) as stage:
        assert stage.identify(bad) is None
        assert await attempt(stage, bad) == Done()
    async with stage_of(Hooks({"*": [hook]})) as stage:
        outcome = await attempt(stage, altered(bad))
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.MALFORMED
    assert hook.runs == []


async def test_a_gate_that_a_person_closed_is_no_alarm() -> None:
    """Only what hookline closed itself waits for somebody who may not know of it, also after a restart."""
    gates, hook, metrics = Gates("test"), Switched(), Metrics(domain="test")
    async with stage_of(Hooks({"*": [hook]}), gates=gates, metrics=metrics) as stage:
        await attempt(stage, delivery_of())
        for closed_by, is_held in (("ada", 0), ("hookline", 1)):
            gates.close(Gate("test", "switched", "", "why", closed_by, 1_796_032_800_000))
            assert metrics.value("held_hooks", hook="switched") == is_held
            assert [(each.kind, each.reason) for each in stage.troubles()] == [(TroubleKind.HELD, "why")] * is_held
        gates.open(GateKey("test", "switched"))
        assert stage.troubles() == []
