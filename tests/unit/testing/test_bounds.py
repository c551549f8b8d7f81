from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

import pytest

from hookline.testing import Double, assert_bounds_its_work, events
from tests.unit.testing.hooks import Blocks, Comment, GivesIn, Hangs, LeavesWork, Opened, Plain, Swallows

if TYPE_CHECKING:
    from hookline import Event


class Bounded(Comment):
    """Gives its call a timeout of its own."""

    async def handle(self, event: Event) -> None:
        """Comment within five seconds."""
        async with asyncio.timeout(5):
            await super().handle(event)


@pytest.mark.parametrize("hook", [Comment(), Bounded(), Opened(), Plain()], ids=lambda hook: type(hook).__name__)
async def test_a_hook_that_bounds_its_work_passes(hook: Comment | Opened | Plain) -> None:
    """A hook that ends by itself and gives way when it is cancelled is right, whatever kind it is of."""
    await assert_bounds_its_work(hook)
    await assert_bounds_its_work(hook, events.job_started())


async def test_a_hook_that_hangs_is_found() -> None:
    """A hook that does not end within its limit is told with the line where it waits, in no time."""
    with pytest.raises(AssertionError, match=r"hangs: .*hooks\.py:\d+, in handle"):
        await assert_bounds_its_work(Hangs())


async def test_a_receiver_that_never_answers_shows_who_relies_on_the_limit() -> None:
    """With a double that hangs, a hook without a timeout of its own is found, and one with it passes."""
    relies, bounded = Comment(), Bounded()
    relies.host = bounded.host = Double(hangs=True)
    await assert_bounds_its_work(bounded)
    with pytest.raises(AssertionError, match="hangs"):
        await assert_bounds_its_work(relies)


@pytest.mark.parametrize("hook", [Swallows(), GivesIn()], ids=lambda hook: hook.name)
async def test_a_hook_that_swallows_cancellation_is_found(hook: Swallows | GivesIn) -> None:
    """A hook that goes on when it is cancelled, or returns as if it were done, is told."""
    with pytest.raises(AssertionError, match="swallows cancellation"):
        await assert_bounds_its_work(hook)


async def test_a_hook_that_blocks_the_loop_is_found() -> None:
    """A hook that keeps the event loop longer than it may is told with the line that does."""
    with pytest.raises(AssertionError, match=r"blocks the event loop .*hooks\.py:\d+, in handle"):
        await assert_bounds_its_work(Blocks(), blocked_seconds=0.01)


async def test_a_hook_that_leaves_work_behind_is_found() -> None:
    """A task that runs on when the hook has returned is told, and ended."""
    with pytest.raises(AssertionError, match="leaves work behind"):
        await assert_bounds_its_work(LeavesWork())


async def test_cleaning_up_is_no_swallowing() -> None:
    """A hook may catch its cancellation to clean up, as long as it lets it pass and is quick."""

    class CleansUp:
        name = "cleans-up"

        async def handle(self, _: Event) -> None:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)
                raise

    await assert_bounds_its_work(CleansUp())


async def test_a_hook_is_entered_in_its_own_time() -> None:
    """A hook that takes its time to open is waited for, and left in the task that entered it."""
    tasks: list[asyncio.Task[object] | None] = []

    class Slowly(Opened):
        async def __aenter__(self) -> Self:
            await asyncio.sleep(60)
            tasks.append(asyncio.current_task())
            return self

        async def __aexit__(self, *_: object) -> None:
            await asyncio.sleep(60)
            tasks.append(asyncio.current_task())

    await assert_bounds_its_work(Slowly())
    assert len(tasks) >= 2
    assert tasks[0] is tasks[1]
