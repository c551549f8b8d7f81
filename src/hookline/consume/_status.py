"""How an engine is, for readiness and metrics."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.kafka import ErrorKind

if TYPE_CHECKING:
    from hookline.kafka import Fault

_REPEAT_SECONDS = 10.0
_MAY_NOT_READ = "TOPIC_AUTHORIZATION_FAILED"
_MAY_NOT_JOIN = "GROUP_AUTHORIZATION_FAILED"
_DISPROVED = frozenset({ErrorKind.RETRYABLE, ErrorKind.DEPENDENCY, ErrorKind.CONFIGURATION})


@dataclass(slots=True)
class EngineStatus:
    """What stands in the way of work. Read and written on the event loop."""

    joined: bool = False
    """Whether the group has been joined, and has not put this member out since."""
    held_dead_letters: int = 0
    """Dead letters that could not be written yet."""
    faults: dict[str, Fault] = field(default_factory=dict)
    """By code: the errors that the client reported and that have not passed."""
    _said_at: dict[str, float] = field(default_factory=dict)

    def note(self, fault: Fault) -> bool:
        """Note an error; True when it should be said, which is at most every 10 s for each code."""
        self.faults[fault.code] = fault
        now = time.monotonic()
        if now - self._said_at.get(fault.code, -_REPEAT_SECONDS) < _REPEAT_SECONDS:
            return False
        self._said_at[fault.code] = now
        return True

    def recovered(self) -> None:
        """Forget all errors: a record was read, or a commit taken."""
        self.faults.clear()

    def has_joined(self) -> None:
        """Note that the group is joined. The client says only once that it may not read, so that error stays."""
        self.joined = True
        self.faults = {code: fault for code, fault in self.faults.items() if code == _MAY_NOT_READ}

    def answered(self) -> None:
        """Forget the errors that are over when the broker answers somebody and the topics exist."""
        stay = {_MAY_NOT_READ, _MAY_NOT_JOIN}
        self.faults = {
            code: fault for code, fault in self.faults.items() if fault.kind not in _DISPROVED or code in stay
        }


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What an engine has in hand at one moment."""

    lanes: int
    running: int
    retrying: int
    paused_partitions: int
    oldest_unsettled_seconds: float
    """Age of the oldest record in hand since it was written; 0 when there is none."""
    lag_records: dict[int, int]
    """By partition: records on the topic that are not settled, as far as the client knows."""
