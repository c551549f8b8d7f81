"""What a stage of the kit has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.consume import Outcome
    from hookline.contract import Event


@dataclass(eq=False, slots=True)
class Attempt:
    """One run of one hook for one event. Times are seconds since the stage began, in its own time."""

    hook: str
    event: Event
    began_at: float
    ended_at: float | None = None
    """None while it goes on."""
    error: BaseException | None = None
    """What it raised; CancelledError when it was cut off, by its time limit or because its partition moved."""
    by_script: bool = False
    """Whether the fault was the script's: the hook itself was not called."""

    @property
    def succeeded(self) -> bool:
        """Whether the hook returned."""
        return self.ended_at is not None and self.error is None


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """What the engine decided once a record had been run: done, duplicate, retry, hold or given up.

    `event` is None when the record could not be decoded. `at_seconds` counts from the stage's beginning, in its own time.
    """

    event: Event | None
    outcome: Outcome
    at_seconds: float
