"""The event loop's heartbeat: who blocks the loop is named while it lasts, on a loop that is really blocked."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from hookline.hooks import Hooks, hook_in
from hookline.service._heartbeat import Heartbeat, Worst, _is_waiting
from hookline.telemetry import Metrics
from tests.support.hooks import Acting, delivery_of, stage_of
from tests.support.waiting import eventually, eventually_async

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.contract import Event


@pytest.fixture
def metrics() -> Metrics:
    """Give metrics of their own to one test."""
    return Metrics(domain="orders")


@contextmanager
def beating(metrics: Metrics) -> Iterator[None]:
    """Listen to the heartbeat of this loop."""
    heartbeat = Heartbeat(metrics, hook_in)
    heartbeat.start()
    try:
        yield
    finally:
        heartbeat.close()


def block_until_told(metrics: Metrics, hook: str) -> None:
    """Block this thread, which is the loop's, until the blockage is counted."""
    told = threading.Event()

    def look() -> None:
        eventually(lambda: metrics.value("loop_blocked_total", hook=hook), 20)
        told.set()

    with ThreadPoolExecutor(1) as other:
        looked = other.submit(look)
        assert told.wait(20)
        looked.result()


@pytest.mark.parametrize("steps", [0, 2], ids=["at its beginning", "later"])
async def test_a_hook_that_blocks_the_loop_is_named_while_it_does(
    steps: int, metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    """P10, case 22: counted once by its name, with the stack that leads to its line; then how long it took."""

    async def block(_: Event) -> None:
        for _step in range(steps):
            await asyncio.sleep(0)
        block_until_told(metrics, "bad")

    caplog.set_level(logging.WARNING, logger="hookline.service")
    async with stage_of(Hooks({"*": [Acting("bad", block)]})) as stage:
        with beating(metrics):
            delivery = delivery_of()
            stage.identify(delivery)
            rest = stage.handle(delivery)
            if rest is not None:
                await rest
            await eventually_async(lambda: (metrics.value("loop_lag_seconds") or 0) > 1)
    blocked, over = (record.__dict__["hookline"] for record in caplog.records if record.name.endswith("_heartbeat"))
    assert (blocked["hook"], over["hook"]) == ("bad", "bad")
    assert "block_until_told" in blocked["stack"]
    assert over["elapsed_seconds"] >= 1
    assert metrics.value("loop_blocked_total", hook="bad") == 1
    assert metrics.value("loop_blocked_total", hook="unknown") == 0


async def test_what_is_no_hook_is_unknown(metrics: Metrics) -> None:
    """Code that no hook's call leads to, such as a task of its own, is nobody's, and is counted all the same."""
    with beating(metrics):
        block_until_told(metrics, "unknown")
    assert metrics.value("loop_blocked_total", hook="unknown") == 1


@given(st.lists(st.tuples(st.floats(0, 40), st.floats(0, 5)), min_size=1, max_size=50))
def test_the_worst_of_a_minute_is_kept_for_a_minute(steps: list[tuple[float, float]]) -> None:
    """A scrape each minute sees every lag, and none for ever."""
    worst, now, seen = Worst(60), 0.0, []
    for seconds, value in steps:
        now += seconds
        seen.append((now, value))
        assert worst.with_next(value, now) == max(each for at, each in seen if at >= now - 60)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_loop_that_waits_is_blamed_on_nobody(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """P10: a process that was stopped as a whole is late, and stands where it waits; one that computes does not."""
    computes, go_on, loop_thread = threading.Event(), threading.Event(), list[int]()

    async def main() -> None:
        loop_thread.append(threading.get_ident())
        told = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, told.set)
        await told.wait()
        computes.set()
        assert go_on.wait(20)

    def run() -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(main())

    with ThreadPoolExecutor(1) as other:
        running = other.submit(run)
        eventually(lambda: loop_thread and _is_waiting(sys._current_frames()[loop_thread[0]]), 20)
        assert computes.wait(20)
        eventually(lambda: not _is_waiting(sys._current_frames()[loop_thread[0]]), 20)
        go_on.set()
        running.result()
