"""How far an event has come with each of its hooks, kept over attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.errs import HookErrorGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.consume import Retry
    from hookline.contract import DeadLetterClass, Event, HookFailure, Redrive

    from ._wiring import WiredHook


@dataclass(frozen=True, slots=True)
class Failed:
    """A hook has failed for good: it is not run again, and the dead letter will name it."""

    letter_class: DeadLetterClass
    failure: HookFailure
    line: str
    """What the hook said and what is behind it, for people."""
    error: BaseException


class HookRun:
    """One hook's way through one event: pending, done or failed for good. Equal to itself alone."""

    __slots__ = (
        "__weakref__", "charged", "done", "due_at", "failed", "first_failed_at", "hook", "name", "stuck", "tries",
    )  # fmt: skip

    def __init__(self, name: str, hook: WiredHook | None, failed: Failed | None = None) -> None:
        self.name = name
        self.hook = hook
        """None when a republished record names a hook that no longer exists."""
        self.failed = failed
        self.done = False
        self.tries = 0
        self.charged = 0
        """Tries that count against `max_attempts`; failures of a dependency count against time instead."""
        self.first_failed_at: float | None = None
        """By the monotonic clock, in seconds."""
        self.due_at = 0.0
        """By the monotonic clock, in seconds; not run before."""
        self.stuck: Retry | DeadLetterClass | None = None
        """Not None: it runs past its time limit and cannot be ended; what would follow if it had failed by it."""

    @property
    def pending(self) -> bool:
        """Whether the hook still has work."""
        return not self.done and self.failed is None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has come of it yet."""
        return not (self.done or self.tries or self.failed or self.stuck)


class Work:
    """An event and the runs of its hooks; what a delivery's `progress` holds once the record is decoded."""

    __slots__ = ("event", "is_free", "raised", "redrive", "resolved", "restored", "runs", "saved")

    def __init__(self, event: Event, redrive: Redrive | None, restored: bytes = b"") -> None:
        self.event = event
        self.redrive = redrive
        self.restored = restored
        """What an owner before left of it, until the hooks are resolved."""
        self.runs: Sequence[HookRun] = ()
        self.resolved = False
        self.is_free = False
        """Whether all runs may begin as they are: none has begun before, and none needs to be asked for."""
        self.raised: dict[str, BaseException] = {}
        """What hooks raised in the latest attempt, by hook."""
        self.saved: bytes | None = None
        """What to keep of it beyond this process; None when that has to be told anew."""

    def error_of(self, run: HookRun) -> BaseException | None:
        """Tell why a hook is not done: what it raised now, or what it failed with for good before."""
        return self.raised.get(run.name) or (run.failed.error if run.failed else None)

    def errors(self) -> HookErrorGroup | None:
        """Collect what failed, now or before; None when nothing has."""
        return HookErrorGroup.of((run.name, self.error_of(run)) for run in self.runs)

    def pending(self) -> list[HookRun]:
        """List the runs that still have work."""
        return [run for run in self.runs if run.pending]

    def failed(self) -> list[Failed]:
        """List what has failed for good, in the resolver's order."""
        return [run.failed for run in self.runs if run.failed is not None]
