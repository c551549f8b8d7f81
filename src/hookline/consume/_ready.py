"""The lanes that could run, the longest first."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._partition import Lane


class ReadyLanes:
    """Lanes that wait for a slot, by the number of their records; of equals the one that waits longest first.

    With a skewed distribution of subjects the longest lane decides when the work is done, so it must never wait.
    """

    __slots__ = ("_by_length", "_lengths", "_only", "count")

    def __init__(self) -> None:
        self._by_length: dict[int, dict[Lane, None]] = {}
        self._lengths: list[int] = []
        """A heap of the lengths that there are, negated; one that is gone is dropped when it comes up."""
        self._only: Lane | None = None
        """The lane that waits, when no other does: mostly the one whose record has just ended, and which goes on."""
        self.count = 0
        """How many lanes wait."""

    def add(self, lane: Lane) -> None:
        """Let a lane with records wait for a slot."""
        self.count += 1
        if self.count == 1:
            self._only = lane
            lane.ready_length = len(lane.queue)
            return
        if self._only is not None:
            self._put(self._only)
            self._only = None
        self._put(lane)

    def grew(self, lane: Lane) -> None:
        """Move a waiting lane to where its present length puts it."""
        if lane is self._only:
            lane.ready_length = len(lane.queue)
            return
        self._remove(lane)
        self._put(lane)

    def discard(self, lane: Lane) -> None:
        """Take a lane out, if it waits."""
        if not lane.ready_length:
            return
        if lane is self._only:
            self._only = None
        else:
            self._remove(lane)
        lane.ready_length = 0
        self.count -= 1

    def take(self) -> Lane | None:
        """Take the longest lane out; None when none waits."""
        only = self._only
        if only is not None:
            self.discard(only)
            return only
        lengths = self._lengths
        while lengths:
            lanes = self._by_length.get(-lengths[0])
            if lanes:
                lane = next(iter(lanes))
                self.discard(lane)
                return lane
            heappop(lengths)
        return None

    def _put(self, lane: Lane) -> None:
        length = lane.ready_length = len(lane.queue)
        lanes = self._by_length.get(length)
        if lanes is None:
            lanes = self._by_length[length] = {}
            heappush(self._lengths, -length)
        lanes[lane] = None

    def _remove(self, lane: Lane) -> None:
        lanes = self._by_length[lane.ready_length]
        del lanes[lane]
        if not lanes:
            del self._by_length[lane.ready_length]
