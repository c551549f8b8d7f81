"""How many events a hook handles at once, and what those that wait for it cost."""

from __future__ import annotations

import gc

import pytest

from hookline.hooks._places import Places, busy_delay_seconds
from hookline.hooks._work import HookRun
from hookline.telemetry import Metrics
from tests.support.hooks import Script

TRIES_PER_SECOND = 1_000


def run_of() -> HookRun:
    """Make a run of the one hook here."""
    return HookRun("a", Script("a"))


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
    places = Places({"a": 1}, Metrics(domain="test"))
    first, *others = [run_of() for _ in range(500)]
    assert places.take(first)
    assert not any(places.take(run) for _ in range(3) for run in others)
    assert places.delay_seconds("a") == busy_delay_seconds(499)
    places.give_back(first)
    assert places.take(others[0])
    assert places.delay_seconds("a") == busy_delay_seconds(498)


def test_events_that_are_gone_wait_no_longer() -> None:
    """P10: a partition that was let go leaves nobody behind in the line."""
    places = Places({"a": 1}, Metrics(domain="test"))
    first, *others = [run_of() for _ in range(500)]
    assert places.take(first)
    assert not any(places.take(run) for run in others)
    others.clear()
    gc.collect()
    assert places.delay_seconds("a") == busy_delay_seconds(0)


def test_a_hook_without_a_limit_always_has_a_place() -> None:
    """P8: such a hook is bounded by the engine alone."""
    places = Places({}, Metrics(domain="test"))
    assert all(places.take(run_of()) for _ in range(1_000))


def test_a_place_is_given_back_once() -> None:
    """P8: the end of a run and the end of its attempt both give the place back; it counts as one."""
    places = Places({"a": 1}, Metrics(domain="test"))
    run = run_of()
    assert places.take(run)
    places.give_back(run)
    places.give_back(run)
    assert places.take(run_of())
    assert not places.take(run_of())
