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
    the way that most events go. `tick` is to be called before the first attempt: what ended before counts for nothing.
    """

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._probe = 0
        """The number of the latest probe."""
        self._is_probing = False
        self._subjects: OrderedDict[str, float] = OrderedDict()
        """When an event of a subject failed last, the latest at the end."""
        self._failed = 0
        self._counts: deque[tuple[float, int, int]] = deque()
        """By time: attempts ended, and those that failed because of the dependency, so far. The first is at the window's start."""
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
        self._counts.append((now, ended, self._failed))
        self._forget(now)

    def _forget(self, now: float) -> None:
        counts = self._counts
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
        self._forget(now)
        if len(self._subjects) < self._policy.subjects or not self._is_large_share(ended):
            return False
        self._open(now)
        return True

    def may_probe(self, now: float) -> bool:
        """Tell whether an attempt may begin, to see whether the dependency is back."""
        return now >= self._probe_at and now >= self._probe_over_at

    def begin_probe(self, now: float, most_seconds: float) -> int:
        """Note that a probe begins, and number it; one whose end nobody tells counts as gone after `most_seconds`."""
        self._probe += 1
        self._is_probing = True
        self._probe_over_at = now + most_seconds
        return self._probe

    def is_awaited(self, probe: int) -> bool:
        """Tell whether the end of a probe says anything: another may have begun since, for it took too long."""
        return self.is_open and self._is_probing and probe == self._probe

    def end_probe(self, now: float, ended: int, *, answered: bool) -> None:
        """Note how the awaited probe ended: the breaker closes when the dependency answered, else the next waits longer."""
        if answered:
            self.close(now, ended)
            return
        self._pauses += 1
        self._rest(now)

    def pass_on_probe(self) -> None:
        """Note that the awaited probe ended and told nothing: the next may begin."""
        self._is_probing = False
        self._probe_over_at = 0.0

    def close(self, now: float, ended: int) -> None:
        """Begin anew."""
        self.opened_at = None
        self._pauses = 0
        self._is_probing = False
        self._subjects.clear()
        self._counts.clear()
        self._failed = 0
        self.tick(now, ended)

    def _is_large_share(self, ended: int) -> bool:
        ended_before, failed_before = self._counts[0][1:] if self._counts else (0, 0)
        return self._failed - failed_before >= self._policy.share * (ended - ended_before)

    def _open(self, now: float) -> None:
        self.opened_at = now
        self._pauses = 0
        self._rest(now)

    def _rest(self, now: float) -> None:
        pause_seconds = self._policy.probe_seconds * 2.0 ** min(self._pauses, _MOST_DOUBLINGS)
        self._probe_at = now + min(pause_seconds, self._policy.max_probe_seconds)
        self.pass_on_probe()
