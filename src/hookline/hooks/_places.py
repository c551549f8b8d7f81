"""How many events a hook handles at once, and how often those that wait for it ask."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._runs import HookRun

_SHORTEST_SECONDS: Final = 0.05
_SECONDS_PER_WAITER: Final = 0.001


def busy_delay_seconds(waiting: int) -> float:
    """Tell how long one of so many waiting events waits before it asks again.

    All together they ask at most a thousand times a second, whatever their number, and nearly so often once there are
    fifty: a place that falls free is soon taken. They are served in no order; each has the same chance.
    """
    return max(_SHORTEST_SECONDS, _SECONDS_PER_WAITER * waiting)


class Places:
    """The places of each hook that has a limit."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = limits
        # Weak: nobody tells of an event whose partition was let go while it waited.
        self._waiting: defaultdict[str, WeakSet[HookRun]] = defaultdict(WeakSet)

    def admits(self, run: HookRun, running: int) -> bool:
        """Tell whether a run may begin beside those that go on; one that may not counts among those that wait."""
        limit = self._limits.get(run.name)
        if limit is None:
            return True
        if running >= limit:
            self._waiting[run.name].add(run)
            return False
        self._waiting[run.name].discard(run)
        return True

    def delay_seconds(self, name: str) -> float:
        """Tell how long an event waits before it asks this hook again."""
        return busy_delay_seconds(len(self._waiting[name]))
