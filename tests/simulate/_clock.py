"""Virtual time, and chance from one seed, in the place of the real ones."""

from __future__ import annotations

import logging
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch
from zlib import crc32

from hookline.consume._partition import Lane, Partition
from hookline.hooks._deadlines import Deadlines
from hookline.testing._clock import told_by

if TYPE_CHECKING:
    from collections.abc import Iterator

_WALL_SECONDS = 1_785_000_000.0
_START_SECONDS = 1_000.0


class Clock:
    """The time of one history, which moves only when somebody moves it."""

    def __init__(self, rng: random.Random) -> None:
        self.now = _START_SECONDS
        self._work_seconds = 0.0
        self._rng = rng
        self._ticks = 0

    def monotonic(self) -> float:
        """Tell the time by the clock of timers."""
        return self.now

    def wall(self) -> float:
        """Tell the time of day."""
        return _WALL_SECONDS + self.now

    def wall_ns(self) -> int:
        """Tell the time of day in nanoseconds."""
        return int(self.wall() * 1_000) * 1_000_000

    def work(self) -> float:
        """Tell the clock of work done, which goes on by chance: a slice of work may end anywhere."""
        self._work_seconds += self._rng.random() * 0.002
        return self.now + self._work_seconds

    def tick(self) -> int:
        """Give the number of what happens now, each one higher."""
        self._ticks += 1
        return self._ticks


class _InOrder(dict[object, None]):
    """A set that gives what it holds in the order in which it came, not by where it lies in memory."""

    def add(self, each: object) -> None:
        self[each] = None

    def discard(self, each: object) -> None:
        self.pop(each, None)


_begin = Deadlines.__init__


def _begin_deadlines(deadlines: Deadlines) -> None:
    _begin(deadlines)
    deadlines._running = _InOrder()  # type: ignore[assignment] # all that is asked of a set


def _hash_of_lane(lane: Lane) -> int:
    """Hash by what it is, not by where it lies in memory, or the order of a set would differ from run to run."""
    return crc32(lane.key) if isinstance(lane.key, bytes) else lane.key or 0


def _hash_of_partition(partition: Partition) -> int:
    return partition.number


@contextmanager
def virtual(clock: Clock, seed: int) -> Iterator[None]:
    """Give the product this clock, and its chance from this seed; silence its log."""
    state = random.getstate()
    random.seed(seed)
    logging.disable(logging.CRITICAL)
    try:
        with (
            told_by(clock),
            patch.object(Deadlines, "__init__", _begin_deadlines),
            patch.object(Lane, "__hash__", _hash_of_lane),
            patch.object(Partition, "__hash__", _hash_of_partition),
        ):
            yield
    finally:
        logging.disable(logging.NOTSET)
        random.setstate(state)
