"""Superseded events are counted for the hook that asks, wherever it does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline import is_superseded
from hookline.testing import HookStage, events

if TYPE_CHECKING:
    from hookline import Event, Hook


class Asks:
    """Asks at once, later, and in a task of its own."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def handle(self, event: Event) -> None:
        """Ask."""
        is_superseded(event, 9)
        await asyncio.sleep(1)
        is_superseded(event, 9)
        await asyncio.gather(self._again(event))

    async def _again(self, event: Event) -> None:
        is_superseded(event, 9)


class AsksInThread:
    """Asks in a thread."""

    name = "thread"

    def handle(self, event: Event) -> None:
        """Ask."""
        is_superseded(event, 9)


class Silent:
    """Does not ask."""

    name = "silent"

    async def handle(self, event: Event) -> None:
        """Do nothing."""


async def test_each_hook_is_counted_by_its_own_name() -> None:
    """A hook beside others and one alone, a coroutine and a thread: what one asks is counted for no other."""
    hooks: dict[str, list[Hook]] = {"batch.*": [Silent(), AsksInThread(), Asks("beside")], "job.*": [Asks("alone")]}
    async with HookStage(hooks) as stage:
        stage.publish(events.batch_failed(version=5), events.job_started(version=2))
        await stage.settle()
        names = ("silent", "thread", "beside", "alone")
        found = [stage.metrics.value("superseded_total", hook=name) for name in names]
    assert found == [0, 1, 3, 3]
