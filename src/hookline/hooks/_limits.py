"""What bounds one hook: its places, its rate, its breaker and its guard, and the line before it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from ._breaker import Breaker
from ._guard import Guard
from ._line import Line

if TYPE_CHECKING:
    import asyncio

    from ._policy import BreakerPolicy, GuardPolicy, HookPolicy

_A_MOMENT_SECONDS: Final = 1e-6
"""A timer may ring so much before its time, by what sums of times are rounded to."""


class HookLimits:
    """The bounds of one hook, kept by its name. Has no clock: the caller gives `now` in monotonic seconds."""

    __slots__ = (
        "_next_at",
        "breaker",
        "failed_for_good",
        "failing_since",
        "failing_until",
        "gap_seconds",
        "guard",
        "held_because",
        "held_since",
        "holds",
        "is_gated",
        "line",
        "most_running",
        "oks_before",
        "parked",
        "running",
        "taken",
        "timer",
    )  # fmt: skip

    def __init__(self, policy: HookPolicy, breaker: BreakerPolicy, guard: GuardPolicy) -> None:
        self.line = Line()
        self.parked = Line()
        """Those that a closed gate keeps: they must not stand before others in the line."""
        self.breaker = Breaker(breaker)
        self.guard = Guard(guard)
        self.most_running = inf
        self.gap_seconds = 0.0
        """The least time between the beginnings of two attempts."""
        self.narrow(policy)
        self.running = 0
        """How many runs go on that did not end at once."""
        self.taken = 0
        """How many places are taken: by runs that were let begin, from that moment on."""
        self.timer: asyncio.TimerHandle | None = None
        """Calls the first in line when the rate lets it begin."""
        self.held_because = ""
        """Why this process holds the hook until a person releases it; empty when it does not."""
        self.held_since = 0.0
        self.is_gated = False
        """Whether its gate is closed for that, so that opening the gate releases it."""
        self.failed_for_good = 0
        self.failing_since: float | None = None
        """When the dependency failed first, if no attempt has succeeded since."""
        self.failing_until = 0.0
        """Until when that is news: somewhat longer than the failed event waits."""
        self.holds = 0
        """How many attempts ended well and asked to be run again: they tell nothing of hook or dependency."""
        self.oks_before = 0
        """How many attempts had succeeded when the dependency failed last."""
        self._next_at = 0.0

    @property
    def is_narrow(self) -> bool:
        """Whether places or a rate bound it."""
        return self.most_running < inf or self.gap_seconds > 0

    def narrow(self, policy: HookPolicy) -> None:
        """Take over the bounds of a policy where they are narrower: of the hooks of one name each has said its own."""
        self.most_running = min(self.most_running, inf if policy.concurrency is None else policy.concurrency)
        self.gap_seconds = max(self.gap_seconds, 0.0 if policy.rate is None else 1.0 / policy.rate)

    def seconds_to_next(self, now: float) -> float:
        """Tell how long until the rate lets the next attempt begin; 0 when it does now."""
        seconds = self._next_at - now
        return seconds if seconds > _A_MOMENT_SECONDS else 0.0

    def count_begun(self, now: float) -> None:
        """Note that an attempt begins, for the rate."""
        self._next_at = max(self._next_at, now) + self.gap_seconds
