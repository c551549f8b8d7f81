"""Series: what is written on the hot path, without a lock, and read by a scrape at any moment.

A lock costs more than the counting itself, and `+=` is exact only with one writer. So every thread that counts has a
handle of its own, and a scrape adds them up.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


class Counter:
    """Count for one thread; only that thread may write it, and any may read it."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total: float = 0

    def inc(self, amount: float = 1) -> None:
        """Add `amount`; a negative one raises ValueError."""
        if amount < 0:
            raise ValueError("a counter only goes up")
        self.total += amount


class Gauge:
    """Show one value, the last that any thread set. Safe from any thread."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def set(self, value: float) -> None:
        """Show `value`."""
        self.value = value


class Histogram:
    """Observe for one thread; only that thread may write it, and any may read it."""

    __slots__ = ("_bounds", "_first", "_low", "_rest", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.total: float = 0
        self._bounds = bounds
        self._first = bounds[0]
        self._low = 0
        self._rest = [0] * (len(bounds) + 1)

    def observe(self, seconds: float) -> None:
        """Add one observation, in seconds; a bucket holds its upper bound."""
        self.total += seconds
        # Most runs of most hooks end in the first bucket; looking there first takes half the time of a search.
        if seconds <= self._first:
            self._low += 1
        else:
            self._rest[bisect_left(self._bounds, seconds)] += 1

    @property
    def counts(self) -> list[int]:
        """How many were in each bucket, the last without an upper bound."""
        first, *others = self._rest
        return [self._low + first, *others]


H = TypeVar("H")


class Series(Generic[H]):
    """Hold the handles of one series, one for each owner and at least one. Safe from any thread."""

    __slots__ = ("_handles", "_make", "created")

    def __init__(self, make: Callable[[], H], owner: int) -> None:
        self.created = time.time()
        self._make = make
        # The number of a dead thread is given to a later one, which counts on: no count is lost, and there are never
        # more handles than there were threads at once.
        self._handles: dict[int, H] = {owner: make()}

    def handle(self, owner: int) -> H:
        """Return the handle of `owner`, made when it asks first."""
        handle = self._handles.get(owner)
        return handle if handle is not None else self._handles.setdefault(owner, self._make())

    def handles(self) -> tuple[H, ...]:
        """Return every handle, as of now."""
        # Only the copy of a dict is one step; another thread may add a handle while a loop over it runs.
        return tuple(self._handles.copy().values())
