"""How an engine is, for readiness and metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.kafka import ErrorKind

_REPEAT_SECONDS = 10.0


@dataclass(slots=True)
class EngineStatus:
    """What stands in the way of work. Read and written on the event loop."""

    joined: bool = False
    """Whether the group has been joined at least once."""
    held_dead_letters: int = 0
    """Dead letters that could not be written yet."""
    problems: dict[ErrorKind, str] = field(default_factory=dict)
    """The latest error of each kind that the client reported and that has not passed."""
    _said_at: dict[ErrorKind, float] = field(default_factory=dict)

    def note(self, kind: ErrorKind, message: str) -> bool:
        """Note an error; True when it should be said, which is at most every 10 s for each kind."""
        self.problems[kind] = message
        now = time.monotonic()
        if now - self._said_at.get(kind, -_REPEAT_SECONDS) < _REPEAT_SECONDS:
            return False
        self._said_at[kind] = now
        return True

    def recovered(self) -> None:
        """Forget all errors: the broker has just done something for us."""
        self.problems.clear()
