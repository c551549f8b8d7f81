"""How many events a hook handles at once, and what those that wait for it cost."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Hold
from hookline.hooks import Hooks
from hookline.hooks._places import Places, busy_delay_seconds
from hookline.hooks._runs import HookRun
from tests.support.hooks import Script, attempt, delivery_of, stage_of

if TYPE_CHECKING:
    from hookline import Event
    from hookline.hooks import Hook

TRIES_PER_SECOND = 1_000


@pytest.mark.parametrize("waiting", [1, 2, 49, 50, 51, 2_000, 100_000])
def test_those_that_wait_try_no_oftener_together_than_a_bound(waiting: int) -> None:
    """P8: however many events wait for a place, they ask for it at most a thousand times a second, all together."""
    assert waiting / busy_delay_seconds(waiting) <= TRIES_PER_SECOND * 1.000_001


@pytest.mark.parametrize("waiting", [0, 1, 10])
def test_a_few_wait_shortly(waiting: int) -> None:
    """P8: a place that is free is taken soon while few wait for it."""
    assert busy_delay_seconds(waiting) == busy_delay_seconds(1) <= 0.1


def test_the_wait_grows_with_those_that_wait_and_ends_with_them() -> None:
    """P8: each is counted once, however often it tries, and no longer once it has a place."""
    places = Places({"a": 1})
    first, *others = [HookRun("a", None) for _ in range(500)]
    assert places.admits(first, 0)
    assert not any(places.admits(run, 1) for _ in range(3) for run in others)
    assert places.delay_seconds("a") == busy_delay_seconds(499)
    assert places.admits(others[0], 0)
    assert places.delay_seconds("a") == busy_delay_seconds(498)


def test_events_that_are_gone_wait_no_longer() -> None:
    """P10: a partition that was let go leaves nobody behind in the line."""
    places = Places({"a": 1})
    others = [HookRun("a", None) for _ in range(500)]
    assert not any(places.admits(run, 1) for run in others)
    others.clear()
    gc.collect()
    assert places.delay_seconds("a") == busy_delay_seconds(0)


def test_a_hook_without_a_limit_always_has_a_place() -> None:
    """P8: such a hook is bounded by the engine alone."""
    places = Places({})
    assert all(places.admits(HookRun("a", None), running) for running in range(1_000))


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
