"""The runs of an event's hooks: which there are, and how far each has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.contract import DeadLetterClass, HookFailure
from hookline.errs import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.consume import Retry
    from hookline.contract import Redrive

    from ._wiring import WiredHook


class HookGoneError(Exception):
    """A republished record names a hook that this event no longer resolves to."""


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


def plan_runs(hooks: Mapping[str, WiredHook], redrive: Redrive | None) -> list[HookRun]:
    """List the runs: every hook that the event resolves to, or those that a republication names."""
    if redrive is None or redrive.hooks is None:
        return [HookRun(name, hook) for name, hook in hooks.items()]
    names = dict.fromkeys(redrive.hooks)
    return [HookRun(name, hooks[name]) if name in hooks else _gone(name) for name in names]


def _gone(name: str) -> HookRun:
    text = f"hook {name} does not exist any more, or does not want this event"
    failure = HookFailure(
        hook=name, verdict=str(Verdict.USER), exception="hookline.hooks.HookGoneError", message=text, attempts=0,
        elapsed_seconds=0.0, code="hook_gone",
    )  # fmt: skip
    return HookRun(name, None, failed=Failed(DeadLetterClass.PERMANENT, failure, text, HookGoneError(text)))
