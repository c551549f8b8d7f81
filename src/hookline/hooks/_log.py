"""What the log is told of events and hooks; the way of an event that succeeds costs one look at the level."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from hookline.consume import Done, Duplicate, Observer
from hookline.telemetry import get_logger

from ._work import Work

if TYPE_CHECKING:
    from hookline.consume import Delivery, Outcome
    from hookline.contract import Event, HookFailure
    from hookline.errs import Verdict

_log = get_logger(__name__)
_trace_of: Final[Any] = BaseException.__dict__["__traceback__"].__get__  # past a class that overrides it
_level = logging.getLogger(__name__)


class EventLog(Observer):
    """An `Observer` of a stage's engine: at DEBUG a line for each event that succeeded, was a duplicate or has no hook.

    Failures are told by the stage itself.
    """

    @staticmethod
    def is_heard() -> bool:
        """Tell whether the log's level lets anything of it through."""
        return _level.isEnabledFor(logging.DEBUG)

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Say what became of the event."""
        del error
        if _level.isEnabledFor(logging.DEBUG) and isinstance(delivery.progress, Work):
            _say_ended(delivery.progress, outcome)


def say_retry(event: Event, hook: str, *, attempt: int, verdict: Verdict, delay_seconds: float, error: str) -> None:
    """Warn that a hook failed and runs again."""
    _log.warning(
        "hook failed, trying again",
        hook=hook,
        **_about(event),
        attempt=attempt,
        verdict=str(verdict),
        delay_seconds=round(delay_seconds, 3),
        error=error,
    )


def say_gone(event: Event) -> None:
    """Warn that work was left for a hook that nobody has any more."""
    _log.warning("event was in retry for a hook that is gone, which is not run", **_about(event))


def say_given_up(event: Event, failure: HookFailure, line: str, error: BaseException) -> None:
    """Tell with the traceback that a hook failed for good, once for each event and hook."""
    _log.error(
        "hook failed for good",
        hook=failure.hook,
        **_about(event),
        attempts=failure.attempts,
        verdict=failure.verdict,
        error=line,
        location=failure.location,
        exc_info=(type(error), error, _trace_of(error)),
    )


def say_overdue(event: Event, hook: str, timeout_seconds: float) -> None:
    """Warn that a plain function is past its time limit."""
    _log.warning(
        "hook overdue: it cannot be stopped, its subject waits",
        hook=hook,
        **_about(event),
        timeout_seconds=timeout_seconds,
    )


def say_stuck(event: Event, hook: str, late_seconds: float) -> None:
    """Tell of a run that its time limit could not end."""
    _log.error(
        "hook stuck: past its time limit and not to be ended, its subject waits",
        hook=hook,
        **_about(event),
        late_seconds=round(late_seconds, 1),
    )


def say_no_thread_left(threads: int) -> None:
    """Tell that every thread for plain functions is lost to a run that is stuck."""
    _log.error("no thread left: all are stuck, hooks that are plain functions wait", threads_lost=threads)


def say_waits_for_release(event: Event, hook: str, error: str) -> None:
    """Warn that a hook failed with an event while it is held; the event waits."""
    _log.warning("hook failed while it is held, its event waits", hook=hook, **_about(event), error=error)


def say_expired(event: Event, hook: str) -> None:
    """Tell that an event was too old for a hook, which did not run."""
    _log.info("event expired, hook not run", hook=hook, **_about(event), timestamp_ms=event.timestamp_ms)


def say_breaker_open(hook: str) -> None:
    """Warn that a hook's dependency is away."""
    _log.warning("breaker open: the hook's dependency is away, its events wait", hook=hook)


def say_breaker_closed(hook: str, open_seconds: float) -> None:
    """Tell that a hook's dependency is back."""
    _log.warning("breaker closed: the hook's dependency answers again", hook=hook, open_seconds=round(open_seconds, 1))


def say_held(hook: str, reason: str, release: str) -> None:
    """Tell that a hook is held until a person releases it, and how that is done."""
    _log.error("hook held, its events wait for a person", hook=hook, reason=reason, release=release)


def say_unforeseen(event: Event, line: str, error: BaseException) -> None:
    """Tell with the traceback of an error beside the hooks' own; the event stays."""
    _log.error(
        "event held: an error that is no hook's",
        **_about(event),
        error=line,
        exc_info=(type(error), error, _trace_of(error)),
    )


def _say_ended(work: Work, outcome: Outcome) -> None:
    about = {**_about(work.event), "version": work.event.version}
    if isinstance(outcome, Duplicate):
        _log.debug("duplicate, not run again", **about)
    elif isinstance(outcome, Done) and work.runs:
        _log.debug("event handled", **about, hooks=[run.name for run in work.runs])
    elif isinstance(outcome, Done):
        _log.debug("no hook wants this event", **about)


def _about(event: Event) -> dict[str, object]:
    return {"event_id": event.id, "type": event.type, "subject": event.subject}
