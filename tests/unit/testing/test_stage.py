from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline import Event
from hookline.consume import Done, Duplicate, GiveUp, RetryPolicy
from hookline.contract import DeadLetterClass, InvalidEventError
from hookline.errs import retryable_error
from hookline.hooks import HookPolicy
from hookline.testing import HookStage, NotSettledError, events
from tests.unit.testing.hooks import Comment, Hangs, Opened, Plain

if TYPE_CHECKING:
    from hookline.hooks import HookDelivery


async def test_an_event_is_done() -> None:
    """An event that is published reaches the hooks of its type, as they would see it, and is done when they are."""
    comment, plain = Comment(), Plain()
    async with HookStage({"batch.*": [comment], "job.*": [plain]}) as stage:
        event = events.batch_failed()
        stage.publish(event)
        await stage.settle()
        assert isinstance(stage.outcome_of(event), Done)
        assert [attempt.event for attempt in stage.attempts()] == [event]
        assert [call.arguments for call in comment.host.calls] == [(event.subject,)]
        assert plain.seen == []


async def test_it_waits_in_no_real_time() -> None:
    """Minutes of the stage's time pass at once, and only when the test says so; the hook's own waiting is in that time too."""
    seconds = 0.0

    class Slow:
        name = "slow"
        timeout_seconds = 10_000.0

        async def handle(self, _: Event) -> None:
            nonlocal seconds
            await asyncio.sleep(1_200)
            seconds = asyncio.get_running_loop().time()

    async with HookStage({"*": [Slow()]}) as stage:
        began = asyncio.get_running_loop().time()
        stage.publish(events.batch_failed())
        await stage.advance(1_199)
        assert not seconds
        await stage.advance(2)
        assert seconds - began == pytest.approx(1_200)
        assert stage.now == pytest.approx(1_201)
        await stage.settle()


async def test_a_test_does_not_sleep() -> None:
    """A test that sleeps while time stands still would never wake; it is told what to write instead."""
    async with HookStage({"*": [Comment()]}):
        with pytest.raises(RuntimeError, match=r"stage\.advance"):
            await asyncio.sleep(1)
    await asyncio.sleep(0.001)


async def test_the_loop_gets_its_own_time_back() -> None:
    """What a stage has changed of the loop and of hookline ends with it, also when a test fails in it."""
    loop = asyncio.get_running_loop()
    with pytest.raises(ZeroDivisionError):
        async with HookStage({"*": [Comment()]}):
            raise ZeroDivisionError
    before = loop.time()
    assert loop.time() - before < 60
    assert not {"time", "call_at", "run_in_executor"} & vars(loop).keys()
    assert vars(sys.modules["hookline.hooks._decisions"])["time"] is time


async def test_a_failure_is_retried_and_given_up() -> None:
    """Verdicts, retries and dead letters are the product's own."""
    retry = RetryPolicy(max_attempts=3, initial_seconds=10.0, max_seconds=100.0)
    async with HookStage({"*": [Comment()]}, retry=retry) as stage:
        event = events.batch_failed()
        stage.fail("comment", times=9, error=retryable_error(RuntimeError("simulated")))
        stage.publish(event)
        await stage.settle()
        [letter] = stage.dead_letters
        assert letter.letter_class is DeadLetterClass.EXHAUSTED
        assert [failure.hook for failure in letter.failures] == ["comment"]
        assert len(stage.attempts("comment", event)) == 3
        assert stage.now >= 10.0 + 20.0
        assert isinstance(stage.outcomes[-1].outcome, GiveUp)
        assert stage.metrics.value("records_total", outcome="dead_lettered") == 1
        assert stage.metrics.value("hook_attempts_total", hook="comment", outcome="error") == 3


async def test_bytes_that_are_no_event_are_a_dead_letter() -> None:
    """Any record may be put on the topic; what cannot be decoded reaches no hook."""
    async with HookStage({"*": [Comment()]}) as stage:
        stage.publish_record(b"key", b"\xff")
        await stage.settle()
        [letter] = stage.dead_letters
        assert letter.letter_class is DeadLetterClass.MALFORMED
        assert stage.outcomes[-1].event is None
        assert stage.attempts() == []


async def test_an_event_that_may_not_be_published_is_refused() -> None:
    """The stage takes what a publisher may publish, and nothing else."""
    async with HookStage({"*": [Comment()]}) as stage:
        with pytest.raises(InvalidEventError):
            stage.publish(Event(id="x", source="s", type="", subject="b"))


async def test_a_repeat_is_dropped_and_a_redelivery_is_not() -> None:
    """Publishing an event again is a duplicate; redelivering it is what a hook must bear."""
    comment = Comment()
    async with HookStage({"*": [comment]}) as stage:
        event = events.batch_failed()
        stage.publish(event)
        stage.publish(event)
        await stage.settle()
        assert isinstance(stage.outcome_of(event), Duplicate)
        assert len(stage.attempts("comment")) == 1
        stage.redeliver(event)
        await stage.settle()
        assert len(stage.attempts("comment")) == 2
        assert len(comment.host.calls) == 1


async def test_a_plain_function_is_waited_for() -> None:
    """A hook in a thread needs real time: the stage's own does not run away from it."""
    plain = Plain()
    async with HookStage({"*": [plain]}) as stage:
        stage.publish(events.batch_failed())
        await stage.settle()
        assert stage.attempts("plain")[0].ended_at == 0.0
        assert len(plain.seen) == 1


async def test_a_hook_is_entered_and_left() -> None:
    """A hook that opens what it needs is entered before its first event and left at the end, with its own attributes."""
    opened = Opened()
    async with HookStage({"*": [opened]}) as stage:
        stage.publish(events.batch_failed("b-1"))
        await stage.settle()
    assert opened.what == ["entered", "b-1", "left"]


async def test_a_time_limit_is_the_hooks_own() -> None:
    """A hook that hangs is cut off at its own limit, and tried again."""
    opened = Opened()
    async with HookStage({"*": [opened]}) as stage:
        stage.hang("opened")
        stage.publish(events.batch_failed("b-1"))
        await stage.settle()
        first, second = stage.attempts("opened")
        assert first.ended_at == pytest.approx(3.0)
        assert second.succeeded


async def test_what_does_not_settle_is_told() -> None:
    """A test that waits for what never comes fails with what happened, in no time."""
    async with HookStage({"*": [Hangs()]}) as stage:
        stage.publish(events.batch_failed())
        with pytest.raises(NotSettledError, match="hangs begins"):
            await stage.settle(within_seconds=20.0)


async def test_a_resolver_may_be_given() -> None:
    """Hooks may come from whatever tells the hooks of an event."""
    comment = Comment()

    class BySubject:
        def for_event(self, event: Event) -> tuple[Comment, ...]:
            return (comment,) if event.subject == "b-1" else ()

    async with HookStage(BySubject()) as stage:
        stage.publish(events.batch_failed("b-1"), events.batch_failed("b-2"))
        await stage.settle()
        assert [attempt.event.subject for attempt in stage.attempts("comment")] == ["b-1"]


async def test_subjects_lie_in_several_partitions() -> None:
    """With several partitions every event is handled, each subject in its order."""
    comment = Comment()
    async with HookStage({"*": [comment]}, partitions=4) as stage:
        for version in (1, 2, 3):
            stage.publish(*(events.batch_failed(f"b-{number}", version=version) for number in range(6)))
        await stage.settle()
        versions = [attempt.event.version for attempt in stage.attempts() if attempt.event.subject == "b-3"]
        assert versions == [1, 2, 3]
        assert len(comment.host.calls) == 18


async def test_a_handle_may_take_the_delivery() -> None:
    """A hook that wants to know of its attempt is told, and may ask to be run again later."""

    class Waits:
        name = "waits"

        async def handle(self, event: Event, delivery: HookDelivery) -> None:
            if stage.now < event.version:
                delivery.hold(60)

    hooks: Any = {"*": [Waits()]}  # its protocol knows the event alone
    async with HookStage(hooks) as stage:
        event = events.batch_failed(version=100)
        stage.publish(event)
        await stage.settle()
        assert [round(attempt.began_at) for attempt in stage.attempts("waits")] == [0, 60, 120]
        assert isinstance(stage.outcome_of(event), Done)


async def test_a_hook_may_have_a_policy() -> None:
    """What settings say of one hook can be given, and goes before what the hook says itself."""
    opened = Opened()
    async with HookStage({"*": [opened]}, policies={"opened": HookPolicy(timeout_seconds=9.0)}) as stage:
        stage.hang("opened")
        stage.publish(events.batch_failed())
        await stage.settle()
        assert stage.attempts("opened")[0].ended_at == pytest.approx(9.0)


async def test_stages_share_a_time() -> None:
    """Two stages at once are two domains in one time."""
    async with HookStage({"*": [Comment()]}) as one, HookStage({"*": [Comment()]}) as other:
        one.publish(events.batch_failed())
        other.publish(events.job_started())
        await one.advance(5)
        assert one.now == other.now
        await other.settle()
        await one.settle()
