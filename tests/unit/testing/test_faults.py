from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, RetryPolicy
from hookline.testing import HookStage, events
from tests.unit.testing.hooks import Comment, Opened, Plain

if TYPE_CHECKING:
    from hookline import Event

ONCE = RetryPolicy(max_attempts=1)


async def test_it_fails_as_often_as_the_script_says() -> None:
    """Two failures, then the hook itself: it is not called by a run that the script lets fail."""
    comment = Comment()
    async with HookStage({"*": [comment]}) as stage:
        stage.fail("comment", times=2)
        stage.publish(events.batch_failed())
        await stage.settle()
        assert [attempt.by_script for attempt in stage.attempts("comment")] == [True, True, False]
        assert len(comment.host.calls) == 1


async def test_an_answer_may_be_lost() -> None:
    """With `after_effect` the hook has its effect and fails all the same; a hook that is idempotent bears it."""
    comment = Comment()
    async with HookStage({"*": [comment]}) as stage:
        stage.fail("comment", after_effect=True)
        event = events.batch_failed()
        stage.publish(event)
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts("comment")] == [False, True]
        assert isinstance(stage.outcome_of(event), Done)
        assert len(comment.host.calls) == 1


async def test_a_hang_is_cut_off_by_the_limit() -> None:
    """A run that hangs is ended by the time limit, which is 30 s unless the hook says otherwise."""
    async with HookStage({"*": [Comment()]}) as stage:
        stage.hang("comment")
        stage.publish(events.batch_failed())
        await stage.settle()
        first, second = stage.attempts("comment")
        assert isinstance(first.error, asyncio.CancelledError)
        assert first.ended_at == pytest.approx(30.0)
        assert second.succeeded


async def test_a_plain_function_cannot_be_let_hang() -> None:
    """Nothing could end its thread, so that is refused."""
    async with HookStage({"*": [Plain()]}) as stage:
        with pytest.raises(ValueError, match="plain function"):
            stage.hang("plain")


async def test_a_script_names_a_hook_that_there_is() -> None:
    """A name that is written wrongly is an error, not a script that nobody plays."""
    async with HookStage({"*": [Comment()]}) as stage:
        with pytest.raises(ValueError, match="there are comment"):
            stage.fail("coment")


async def test_partitions_move_away_and_come_back() -> None:
    """What runs when its partition moves has 5 s; then it is cut off, costs no attempt and runs again."""

    class Slow:
        name = "slow"

        def __init__(self) -> None:
            self.runs = 0

        async def handle(self, _: Event) -> None:
            self.runs += 1
            await asyncio.sleep(20 if self.runs == 1 else 0)

    async with HookStage({"*": [Slow()]}, retry=ONCE) as stage:
        event = events.batch_failed()
        stage.publish(event)
        await stage.advance(1)
        await stage.revoke()
        assert stage.now == pytest.approx(6.0)
        await stage.settle()
        first, second = stage.attempts("slow")
        assert isinstance(first.error, asyncio.CancelledError)
        assert second.succeeded
        assert isinstance(stage.outcome_of(event), Done)


async def test_a_hook_that_was_done_is_not_run_again_after_a_crash() -> None:
    """P6: what was committed of an event outlives the process: the hook that had succeeded is not run again."""
    comment, slow = Comment(), Opened()
    async with HookStage({"*": [comment, slow]}) as stage:
        stage.hang("opened")
        stage.publish(events.batch_failed())
        await stage.advance(1)
        await stage.crash()
        await stage.settle()
        assert len(stage.attempts("comment")) == 1
        assert [attempt.succeeded for attempt in stage.attempts("opened")] == [False, True]


async def test_what_was_not_committed_comes_again_after_a_crash() -> None:
    """P1, P4: a hook that succeeded in the moment before a crash has its event once more."""
    comment = Comment()
    async with HookStage({"*": [comment]}) as stage:
        stage.publish(events.batch_failed())
        await stage.advance(0)
        await stage.crash()
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts("comment")] == [True, True]
        assert len(comment.host.calls) == 1


async def test_hooks_are_left_and_entered_at_a_crash() -> None:
    """The next process enters the hooks anew."""
    opened = Opened()
    async with HookStage({"*": [opened]}) as stage:
        await stage.advance()
        await stage.crash()
    assert opened.what == ["entered", "left"] * 2


async def test_nothing_is_lost_while_the_dead_letter_topic_is_away() -> None:
    """P1: what is given up is held until its dead letter is written, and is not committed before."""
    async with HookStage({"*": [Comment()]}) as stage:
        stage.fail("comment", error=ValueError("simulated"))
        stage.publish(events.batch_failed())
        with stage.dead_letter_outage():
            await stage.advance(600)
            assert stage.dead_letters == []
            await stage.crash()
            await stage.advance(600)
            assert stage.dead_letters == []
        await stage.settle()
        assert len(stage.dead_letters) == 1


async def test_a_dead_letter_can_be_put_back() -> None:
    """P14: republished, it runs for the hooks that failed only."""
    comment, opened = Comment(), Opened()
    async with HookStage({"*": [comment, opened]}) as stage:
        stage.fail("comment", error=ValueError("simulated"))
        event = events.batch_failed()
        stage.publish(event)
        await stage.settle()
        stage.republish(stage.dead_letters[0])
        await stage.settle()
        assert len(comment.host.calls) == 1
        assert len(stage.attempts("opened")) == 1
        assert isinstance(stage.outcome_of(event), Done)
