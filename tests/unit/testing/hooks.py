"""Hooks that are right, and hooks that are wrong in one way each."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

from hookline.testing import Double

if TYPE_CHECKING:
    from hookline import Event


class Comment:
    """Comments once: the other side knows a repeat by its key."""

    name = "comment"

    def __init__(self) -> None:
        self.host = Double(once_by="key")

    async def handle(self, event: Event) -> None:
        """Comment."""
        await self.host.comment(event.subject, key=event.id)


class CommentTwice(Comment):
    """Not idempotent: the other side cannot know a repeat."""

    async def handle(self, event: Event) -> None:
        """Comment."""
        await self.host.comment(event.subject)


class MarkFirst(Comment):
    """Notes that it is done before it is: what is cut off between is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    async def handle(self, event: Event) -> None:
        """Comment unless it has."""
        if event.id in self._seen:
            return
        self._seen.add(event.id)
        await self.host.comment(event.subject)


class MarkLast(MarkFirst):
    """Notes that it is done afterwards: what is cut off between is done twice."""

    async def handle(self, event: Event) -> None:
        """Comment unless it has."""
        if event.id in self._seen:
            return
        await self.host.comment(event.subject)
        self._seen.add(event.id)


class Hangs:
    """Waits for what never comes."""

    name = "hangs"

    async def handle(self, event: Event) -> None:
        """Wait."""
        del event
        await asyncio.get_running_loop().create_future()


class Swallows:
    """Goes on when it is cancelled."""

    name = "swallows"

    async def handle(self, event: Event) -> None:
        """Wait for an hour, whatever happens."""
        del event
        for _ in range(60):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    timeout_seconds = 7_200.0


class GivesIn:
    """Returns when it is cancelled, as if it were done."""

    name = "gives-in"

    async def handle(self, event: Event) -> None:
        """Wait a second, or not."""
        del event
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            return


class Blocks:
    """Keeps the event loop."""

    name = "blocks"

    async def handle(self, event: Event) -> None:
        """Block."""
        del event
        time.sleep(0.05)  # noqa: ASYNC251 - what is to be found


class LeavesWork:
    """Starts what it does not wait for."""

    name = "leaves-work"

    async def handle(self, event: Event) -> None:
        """Start."""
        del event
        self._task = asyncio.get_running_loop().create_task(asyncio.sleep(3_600))
        await asyncio.sleep(0)


class Plain:
    """A plain function, which runs in a thread."""

    name = "plain"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def handle(self, event: Event) -> None:
        """Note the event."""
        self.seen.append(event.id)


class Opened:
    """Opens what it needs."""

    name = "opened"
    timeout_seconds = 3.0

    def __init__(self) -> None:
        self.what: list[str] = []

    async def __aenter__(self) -> Self:
        """Open."""
        self.what.append("entered")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        self.what.append("left")

    async def handle(self, event: Event) -> None:
        """Note the event."""
        self.what.append(event.subject)
