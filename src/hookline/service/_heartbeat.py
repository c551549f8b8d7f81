"""Watches from a thread of its own whether the event loop turns, and tells who keeps it while it does not."""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import time
import traceback
from asyncio import runners
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from hookline.telemetry import Metrics

_BEAT_SECONDS: Final = 0.25
_LATE_SECONDS: Final = 1.0
_KEPT_SECONDS: Final = 60.0
_TOLD_FRAMES: Final = 16
_NO_HOOK: Final = "unknown"

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Blockage:
    """The loop stands still: since when, by the monotonic clock, and which hook keeps it."""

    since: float
    hook: str


class Heartbeat:
    """The event loop's heartbeat, and a thread that tells when it is more than a second late.

    It tells once for each blockage, while it lasts, with the stack of the loop's thread and the hook that `hook_in`
    finds there; when the loop turns again it tells for how long it stood. Code that keeps the interpreter's lock all
    the time is told of as soon as it lets go. A process that was stopped as a whole is not blamed on anybody.
    """

    def __init__(self, metrics: Metrics, hook_in: Callable[[FrameType], str | None]) -> None:
        self._metrics = metrics
        self._hook_in = hook_in
        self._worst = Worst(_KEPT_SECONDS)
        self._ending = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._blockage: Blockage | None = None

    def start(self) -> None:
        """Begin to beat, on the loop that calls this, and to listen."""
        self._metrics.loop_blocked_total.inc(0, hook=_NO_HOOK)  # or `increase()` would not see the first one
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._set_timer(time.monotonic())
        threading.Thread(target=self._listen, name="heartbeat", daemon=True).start()

    def close(self) -> None:
        """End both, on the loop."""
        self._ending.set()
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, now: float) -> None:
        self._due = now + _BEAT_SECONDS
        self._timer = self._loop.call_later(_BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        now = time.monotonic()
        self._metrics.loop_lag_seconds.set(self._worst.with_next(max(now - self._due, 0.0), now))
        blockage, self._blockage = self._blockage, None
        if blockage is not None:
            _log.warning(
                "the event loop turns again", hook=blockage.hook, elapsed_seconds=round(now - blockage.since, 1)
            )
        self._set_timer(now)

    def _listen(self) -> None:
        told = 0.0
        while not self._ending.wait(_BEAT_SECONDS):
            due = self._due
            if due != told and time.monotonic() - due > _LATE_SECONDS and self._tell(due):
                told = due

    def _tell(self, due: float) -> bool:
        """Tell who keeps the loop; False when nobody does: it only wakes up late, with all of the process."""
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - public in all but its name
        if frame is None or _is_waiting(frame):
            return False
        hook = self._hook_in(frame) or _NO_HOOK
        stack = "".join(traceback.format_list(traceback.extract_stack(frame, _TOLD_FRAMES)))
        self._metrics.loop_blocked_total.inc(hook=hook)
        self._blockage = Blockage(due, hook)
        late_seconds = round(time.monotonic() - due, 1)
        _log.error("the event loop is blocked, nothing else runs", hook=hook, late_seconds=late_seconds, stack=stack)
        return True


class Worst:
    """The largest of the values of the last `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._values: deque[tuple[float, float]] = deque()

    def with_next(self, value: float, now: float) -> float:
        """Take a value and tell the largest."""
        values = self._values
        while values and values[-1][1] <= value:
            values.pop()
        values.append((now, value))
        while values[0][0] < now - self._seconds:
            values.popleft()
        return values[0][1]


def _is_waiting(frame: FrameType) -> bool:
    """Tell whether the loop waits: asyncio's own in a selector, one in C beneath whoever runs it."""
    return frame.f_code.co_filename in {selectors.__file__, runners.__file__}
