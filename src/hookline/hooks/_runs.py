"""The runs of an event's hooks: which there are, and how far each has come."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.contract import DeadLetterClass, HookFailure
from hookline.errs import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.consume import Retry
    from hookline.contract import Redrive

    from ._line import Ticket
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
        "__weakref__", "asked_seconds", "charged", "done", "due_at", "failed", "first_failed_at", "has_place", "hook", "is_called",
        "is_settled_elsewhere", "name", "number", "probe", "stuck", "ticket", "tries", "waits_since", "was_called",
    )  # fmt: skip

    def __init__(self, name: str, hook: WiredHook | None, failed: Failed | None = None) -> None:
        self.name = name
        self.hook = hook
        """None when a republished record names a hook that no longer exists."""
        self.failed = failed
        self.done = False
        self.is_settled_elsewhere = False
        """Whether it is done here because another group has settled it: it may have a dead letter."""
        self.tries = 0
        self.charged = 0
        """Tries that count against `max_attempts`; failures of a dependency count against time instead."""
        self.first_failed_at: float | None = None
        """By the monotonic clock, in seconds."""
        self.due_at = 0.0
        """By the monotonic clock, in seconds; not run before."""
        self.stuck: Retry | DeadLetterClass | None = None
        """Not None: it runs past its time limit and cannot be ended; what would follow if it had failed by it."""
        self.ticket: Ticket | None = None
        """Its place in the line that it waits in."""
        self.number = 0
        """What orders it in a line, kept until it begins; 0 when it does not wait."""
        self.was_called = False
        """Whether it was called out of a line, and has not asked since: the turn is its own."""
        self.has_place = False
        """Whether it was let begin, and takes one of its hook's places."""
        self.is_called = False
        """Whether its hook was called since: whoever calls gives the place back."""
        self.waits_since: float | None = None
        """By the monotonic clock: since when it may not begin, through no fault of the event; that time is not charged."""
        self.probe = 0
        """The number of the probe that it is, to see if the hook's dependency is back; 0 when it is none."""
        self.asked_seconds: float | None = None
        """Not None: the hook has asked to be run again after so long."""

    @property
    def pending(self) -> bool:
        """Whether the hook still has work."""
        return not self.done and self.failed is None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has come of it yet."""
        return not (self.done or self.tries or self.failed or self.stuck)

    def note_waiting(self, now: float) -> None:
        """Note that it may not begin."""
        if self.waits_since is None:
            self.waits_since = now

    def note_begun(self, now: float) -> None:
        """Note that it begins; the time that it had to wait is not charged to it."""
        self.first_failed_at = self.first_failure_at(now)
        self.waits_since = self.ticket = None
        self.number = 0

    def first_failure_at(self, now: float) -> float | None:
        """Tell when it failed first, by the monotonic clock, as if it had not had to wait since; None before it failed."""
        if self.first_failed_at is None or self.waits_since is None:
            return self.first_failed_at
        return self.first_failed_at + now - max(self.waits_since, self.first_failed_at)

    def begin_anew(self, seconds: float) -> None:
        """Have it run again after so long as if it had never run: the hook asked for that."""
        self.asked_seconds = self.first_failed_at = None
        self.tries = self.charged = 0
        self.due_at = time.monotonic() + seconds


def plan_runs(
    hooks: Mapping[str, WiredHook],
    redrive: Redrive | None,
    serves: Callable[[str], bool] | None = None,
    declines: Callable[[str], bool] | None = None,
) -> list[HookRun]:
    """List the runs: every hook that the event resolves to, or those that a republication names.

    A name that `serves` denies is another stage's. Of the others one that no hook has here, but `declines` says yes to, has
    no work: its condition does not want the event any more. Else it is gone.
    """
    if redrive is None or redrive.hooks is None:
        return [HookRun(name, hook) for name, hook in hooks.items()]
    names = [name for name in dict.fromkeys(redrive.hooks) if serves is None or serves(name)]
    wanted = [name for name in names if name in hooks or declines is None or not declines(name)]
    return [HookRun(name, hooks[name]) if name in hooks else _gone(name) for name in wanted]


def _gone(name: str) -> HookRun:
    text = f"hook {name} does not exist any more, or does not want this event"
    failure = HookFailure(
        hook=name, verdict=str(Verdict.USER), exception="hookline.hooks.HookGoneError", message=text, attempts=0,
        elapsed_seconds=0.0, code="hook_gone",
    )  # fmt: skip
    return HookRun(name, None, failed=Failed(DeadLetterClass.PERMANENT, failure, text, HookGoneError(text)))
