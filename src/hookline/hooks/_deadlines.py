"""The time limits of all runs, on one timer."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Limited(Protocol):
    """What has a time limit. `ends_at` is by the loop's clock and does not change."""

    ends_at: float

    def expire(self) -> None:
        """Be told, once, that the time is over."""
        ...


class Deadlines:
    """Tells whatever is past its time so.

    Most runs end long before, so a timer for each would be made only to be cancelled: there is one, for the earliest
    that was known when it was set. A run that has ended leaves it as it is.
    """

    def __init__(self) -> None:
        self._running: set[Limited] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, limited: Limited) -> None:
        """Tell it when its time is over."""
        self._running.add(limited)
        if self._timer is None or limited.ends_at < self._timer.when():
            self._set(limited.ends_at)

    def discard(self, limited: Limited) -> None:
        """Do not tell it any more."""
        self._running.discard(limited)

    def close(self) -> None:
        """Tell nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._running.clear()

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for limited in [each for each in self._running if each.ends_at <= now]:
            self._running.discard(limited)
            limited.expire()
        if self._running:
            self._set(min(each.ends_at for each in self._running))
