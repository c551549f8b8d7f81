"""How many events a hook handles at once, and how often those that wait for it ask."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.telemetry import Gauge, Metrics

    from ._work import HookRun

_SHORTEST_SECONDS: Final = 0.05
_SECONDS_PER_WAITER: Final = 0.001


def busy_delay_seconds(waiting: int) -> float:
    """Tell how long one of so many waiting events waits before it asks again.

    All together they ask at most a thousand times a second, whatever their number, and nearly so often once there are
    fifty: a place that falls free is soon taken. They are served in no order; each has the same chance.
    """
    return max(_SHORTEST_SECONDS, _SECONDS_PER_WAITER * waiting)


class Places:
    """The places of each hook: as many as its limit, without end when it has none."""

    def __init__(self, limits: Mapping[str, int], metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._running: Counter[str] = Counter()
        self._gauges: dict[str, Gauge] = {}
        # Weak: nobody tells of an event whose partition was let go while it waited.
        self._waiting: defaultdict[str, WeakSet[HookRun]] = defaultdict(WeakSet)

    def take(self, run: HookRun) -> bool:
        """Give a run a place of its hook; without a free one it counts among those that wait."""
        name = run.name
        if name in self._limits and not self._find_place(run):
            return False
        run.admitted = True
        self._count(name, 1)
        return True

    def give_back(self, run: HookRun) -> None:
        """Take a run's place back, if it has one."""
        if run.admitted:
            run.admitted = False
            self._count(run.name, -1)

    def delay_seconds(self, name: str) -> float:
        """Tell how long an event waits before it asks this hook again."""
        return busy_delay_seconds(len(self._waiting[name]))

    def _find_place(self, run: HookRun) -> bool:
        if self._running[run.name] >= self._limits[run.name]:
            self._waiting[run.name].add(run)
            return False
        self._waiting[run.name].discard(run)
        return True

    def _count(self, name: str, change: int) -> None:
        self._running[name] += change
        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = self._gauges[name] = self._metrics.hook_in_flight.labels(hook=name)
        gauge.set(self._running[name])
