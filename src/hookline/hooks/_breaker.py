"""Tells a dependency that is away from events that are bad."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._policy import BreakerPolicy

_MOST_SUBJECTS: Final = 10_000
_MOST_DOUBLINGS: Final = 16


class Breaker:
    """The circuit breaker of one hook. Does no I/O and has no clock: the caller gives `now` in monotonic seconds.

    Closed until the dependency counts as away; open it lets nothing through but one probe at a time. `ended` counts all
    attempts of the hook that have ended so far, whatever came of them: successes are not told one by one, since they cost
    the way that most events go.
    """

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._subjects: OrderedDict[str, float] = OrderedDict()
        """When an event of a subject failed last, the latest at the end."""
        self._failed = 0
        self._counts: deque[tuple[float, int, int]] = deque()
        """By time: attempts ended, and those that failed because of the dependency, so far."""
        self._pauses = 0
        self._probe_at = 0.0
        self._probe_over_at = 0.0
        self.opened_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the dependency counts as away."""
        return self.opened_at is not None

    def tick(self, now: float, ended: int) -> None:
        """Note how many attempts have ended; to be called about once a second."""
        counts = self._counts
        counts.append((now, ended, self._failed))
        while len(counts) > 1 and counts[1][0] <= now - self._policy.window_seconds:
            counts.popleft()

    def failed(self, subject: str, now: float, ended: int) -> bool:
        """Note an attempt that failed because of the dependency, `ended` included; tells whether that opens the breaker."""
        if self.is_open or not self._policy.enabled:
            return False
        self._failed += 1
        self._subjects[subject] = now
        self._subjects.move_to_end(subject)
        since = now - self._policy.window_seconds
        while self._subjects and (len(self._subjects) > _MOST_SUBJECTS or next(iter(self._subjects.values())) < since):
            self._subjects.popitem(last=False)
        if len(self._subjects) < self._policy.subjects or not self._is_large_share(ended):
            return False
        self._open(now)
        return True

    def may_probe(self, now: float) -> bool:
        """Tell whether an attempt may begin, to see whether the dependency is back."""
        return now >= self._probe_at and now >= self._probe_over_at

    def begin_probe(self, now: float, most_seconds: float) -> None:
        """Note that a probe begins; one whose end nobody tells counts as gone after `most_seconds`."""
        self._probe_over_at = now + most_seconds

    def end_probe(self, now: float, *, answered: bool) -> None:
        """Note how a probe ended: the breaker closes when the dependency answered, else the next one waits longer."""
        if answered:
            self.close()
            return
        self._pauses += 1
        self._rest(now)

    def close(self) -> None:
        """Begin anew."""
        self.opened_at = None
        self._pauses = 0
        self._subjects.clear()
        self._counts.clear()
        self._failed = 0

    def _is_large_share(self, ended: int) -> bool:
        ended_before, failed_before = self._counts[0][1:] if self._counts else (ended - self._failed, 0)
        return self._failed - failed_before >= self._policy.share * (ended - ended_before)

    def _open(self, now: float) -> None:
        self.opened_at = now
        self._pauses = 0
        self._rest(now)

    def _rest(self, now: float) -> None:
        pause_seconds = self._policy.probe_seconds * 2.0 ** min(self._pauses, _MOST_DOUBLINGS)
        self._probe_at = now + min(pause_seconds, self._policy.max_probe_seconds)
        self._probe_over_at = 0.0
