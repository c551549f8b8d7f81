"""How far an event has come with each of its hooks, kept over attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.contract import DeadLetterClass, Event, HookFailure, Redrive

    from ._hook import Hook


@dataclass(frozen=True, slots=True)
class Failed:
    """A hook has failed for good: it is not run again, and the dead letter will name it."""

    letter_class: DeadLetterClass
    failure: HookFailure
    line: str
    """What the hook said and what is behind it, for people."""
    error: BaseException


@dataclass(slots=True, weakref_slot=True, eq=False)
class HookRun:
    """One hook's way through one event: pending, done or failed for good. Equal to itself alone."""

    name: str
    hook: Hook | None
    """None when a republished record names a hook that no longer exists."""
    tries: int = 0
    charged: int = 0
    """Tries that count against `max_attempts`; failures of a dependency count against time instead."""
    first_failed_at: float | None = None
    """By the monotonic clock, in seconds."""
    due_at: float = 0.0
    """By the monotonic clock, in seconds; not run before."""
    admitted: bool = False
    """Whether it counts among the running ones of its hook."""
    done: bool = False
    failed: Failed | None = None

    @property
    def pending(self) -> bool:
        """Whether the hook still has work."""
        return not self.done and self.failed is None


@dataclass(slots=True)
class Work:
    """An event and the runs of its hooks; what a delivery's `progress` holds."""

    event: Event
    redrive: Redrive | None
    runs: list[HookRun] = field(default_factory=list)
    raised: dict[str, BaseException] = field(default_factory=dict)
    """What hooks raised in the latest attempt, by hook."""
    resolved: bool = False

    def error_of(self, run: HookRun) -> BaseException | None:
        """Tell why a hook is not done: what it raised now, or what it failed with for good before."""
        return self.raised.get(run.name) or (run.failed.error if run.failed else None)

    def pending(self) -> list[HookRun]:
        """List the runs that still have work."""
        return [run for run in self.runs if run.pending]

    def failed(self) -> list[Failed]:
        """List what has failed for good, in the resolver's order."""
        return [run.failed for run in self.runs if run.failed is not None]
