"""The lanes that could run, the longest first."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._partition import Lane


class ReadyLanes:
    """Lanes that wait for a slot, by the number of their records; of equals the one that waits longest first.

    With a skewed distribution of subjects the longest lane decides when the work is done, so it must never wait. Every
    operation costs the same whatever the number of lanes, but for `take`, which walks down from the longest there was.
    """

    __slots__ = ("_by_length", "_longest", "count")

    def __init__(self) -> None:
        self._by_length: defaultdict[int, dict[Lane, None]] = defaultdict(dict)
        self._longest = 0
        self.count = 0
        """How many lanes wait."""

    def add(self, lane: Lane) -> None:
        """Let a lane with records wait for a slot."""
        self.count += 1
        self._put(lane)

    def grew(self, lane: Lane) -> None:
        """Move a waiting lane to where its present length puts it."""
        del self._by_length[lane.ready_length][lane]
        self._put(lane)

    def discard(self, lane: Lane) -> None:
        """Take a lane out, if it waits."""
        if lane.ready_length:
            del self._by_length[lane.ready_length][lane]
            lane.ready_length = 0
            self.count -= 1

    def take(self) -> Lane | None:
        """Take the longest lane out; None when none waits."""
        while self._longest:
            lanes = self._by_length[self._longest]
            if lanes:
                lane = next(iter(lanes))
                self.discard(lane)
                return lane
            del self._by_length[self._longest]
            self._longest -= 1
        return None

    def _put(self, lane: Lane) -> None:
        length = lane.ready_length = len(lane.queue)
        self._by_length[length][lane] = None
        self._longest = max(self._longest, length)
