from __future__ import annotations

import asyncio
from contextvars import copy_context

import pytest

from hookline import Event, is_superseded
from hookline.hooks._superseded import count_superseded, superseded_in_run
from hookline.telemetry import Metrics


def _event(version: int) -> Event:
    if version:
        return Event.versioned(source="s", type="batch.failed", subject="b", version=version)
    return Event.unversioned(source="s", type="batch.failed", subject="b", cause="message-1")


@pytest.mark.parametrize(
    ("version", "stored", "expected"),
    [(4, 5, True), (4, 4, False), (4, 3, False), (4, 0, False), (0, 5, False), (0, 0, False)],
)
def test_an_event_is_superseded_by_a_later_version(version: int, stored: int, *, expected: bool) -> None:
    """An event is out of date when its subject's stored version is above its own; without a version nothing tells."""
    assert is_superseded(_event(version), stored) is expected


async def test_the_run_counts_it() -> None:
    """Within a run a superseded event is counted, also from a task of the hook and from a thread of its own; others are not."""
    metrics = Metrics(domain="test")

    async def hook() -> None:
        superseded_in_run.set(count_superseded(metrics, "comment"))
        is_superseded(_event(4), 5)
        is_superseded(_event(4), 4)
        await asyncio.create_task(_asks_later())
        await asyncio.to_thread(is_superseded, _event(4), 5)

    await asyncio.create_task(hook())
    assert metrics.value("superseded_total", hook="comment") == 3


def test_it_is_told_outside_of_a_stage_too() -> None:
    """Code that no stage runs may ask as well: nothing is counted, nothing fails."""
    assert copy_context().run(is_superseded, _event(4), 5)


async def _asks_later() -> None:
    await asyncio.sleep(0)
    is_superseded(_event(4), 5)
