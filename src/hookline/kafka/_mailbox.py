"""The way of delivery reports from the polling thread back to an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from confluent_kafka import Message

    from ._errors import ProduceError


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Where a published record lies: the broker's confirmation."""

    topic: str
    partition: int
    offset: int

    @classmethod
    def of(cls, topic: str, message: Message) -> Acknowledgement:
        """Read a delivery report without error."""
        partition, offset = message.partition(), message.offset()
        return cls(topic, -1 if partition is None else partition, -1 if offset is None else offset)


Report: TypeAlias = "Acknowledgement | ProduceError"


class Mailbox:
    """Reports for the futures of one loop. `deposit` is for any thread and never raises; the rest is for the loop.

    Many reports wake the loop once. A report for a future that nobody awaits any more, or for a loop that is closed,
    is dropped: its outcome is unknown to the caller, who treats it as not published.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.room = asyncio.Event()
        self.gate = asyncio.Lock()
        self.waiting = 0
        self._reports: deque[tuple[asyncio.Future[Acknowledgement], Report]] = deque()
        self._woken = False

    def deposit(self, future: asyncio.Future[Acknowledgement], report: Report) -> None:
        """Hand a report to the loop."""
        self._reports.append((future, report))
        if self._woken:
            return
        self._woken = True
        try:
            self.loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop is closed
            self._reports.clear()

    def _deliver(self) -> None:
        # Cleared before reading: a report that comes in between wakes the loop again, for nothing at worst.
        self._woken = False
        while self._reports:
            future, report = self._reports.popleft()
            if future.done():
                continue
            if isinstance(report, Acknowledgement):
                future.set_result(report)
            else:
                future.set_exception(report)
        self.room.set()
