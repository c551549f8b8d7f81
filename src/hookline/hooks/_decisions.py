"""What follows when hooks failed: each is decided for by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookline.consume import GiveUp, Hold, Retry, RetryPolicy, decide
from hookline.contract import DeadLetterClass, MalformedRecordError
from hookline.errs import HookErrorGroup, Verdict, classify, describe, is_of, line_with_cause, retry_after_seconds
from hookline.telemetry import get_logger

from ._doors import HookNotReadyError
from ._log import say_given_up, say_retry, say_unforeseen, say_waits_for_release
from ._runs import Failed, HookRun
from ._troubles import ReceiverGoneError
from ._work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.consume import Delivery
    from hookline.contract import Event
    from hookline.errs import Classifier, Redactor
    from hookline.telemetry import Metrics

    from ._admission import Admission
    from ._wiring import WiredHook

_UNFORESEEN_SECONDS = 5.0

_log = get_logger(__name__)


class Decisions:
    """Decides what becomes of an event whose attempt raised."""

    def __init__(
        self,
        retry: RetryPolicy,
        classifiers: Sequence[Classifier],
        redactor: Redactor,
        metrics: Metrics,
        admission: Admission,
    ) -> None:
        self._retry = retry
        self._classifiers = classifiers
        self._redactor = redactor
        self._metrics = metrics
        self._admission = admission

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide for each hook by itself; the record is retried while one of them is pending."""
        work = delivery.progress
        if is_of(error, MalformedRecordError):
            return GiveUp(DeadLetterClass.MALFORMED, error.code, self._redactor.redact(str(error)))
        if not isinstance(work, Work) or not work.is_resolved:
            return self._refuse(delivery, error)
        if not (is_of(error, HookErrorGroup) or is_of(error, HookNotReadyError)):
            return self._pause(work, error)
        work.saved = None
        pending = work.pending()
        if not pending:
            return _give_up(work) if work.failed() else self._pause(work, error)
        delay_seconds = max(min(run.due_at for run in pending) - time.monotonic(), 0.0)
        return Retry(delay_seconds) if work.raised else Hold(delay_seconds)

    def note_stuck(self, delivery: Delivery, hook: str, *, is_stuck: bool) -> None:
        """Note what would follow if a run that cannot be ended had failed by its time limit, or that it has ended.

        It is kept beyond this process: a restart, which may be all that ends the run, must not give it a new budget.
        """
        work = delivery.progress
        if not isinstance(work, Work):
            return
        work.saved = None
        for run in work.runs:
            if run.name == hook and run.pending:
                run.stuck = self._if_overdue(run) if is_stuck else None

    def _if_overdue(self, run: HookRun) -> Retry | DeadLetterClass:
        return decide(classify(TimeoutError(), self._classifiers), run.charged + 1, 0.0, self._retry_of(run.hook))

    def _retry_of(self, hook: WiredHook | None) -> RetryPolicy:
        return (hook.policy.retry if hook is not None else None) or self._retry

    def weigh(self, event: Event, run: HookRun, hook: WiredHook, error: BaseException) -> None:
        """Classify what a hook raised, once, and decide whether it is tried again.

        At once, not when its siblings have ended too: a commit has to tell it, since the process may end before.
        """
        now = time.monotonic()
        verdict = classify(error, self._classifiers)
        if _is_gone(error):
            self._admission.hold(hook, f"its receiver is gone: {self._text(error)}")
        # A probe that gets no answer says nothing of its event, though it may look like any time-out.
        counts_as = Verdict.INFRA_DEPENDENCY_RETRYABLE if run.probe and verdict.retryable else verdict
        run.tries += 1
        run.charged += 0 if counts_as.dependency else 1
        run.first_failed_at = now if run.first_failed_at is None else run.first_failed_at
        elapsed_seconds = now - run.first_failed_at
        attempt = run.tries if counts_as.dependency else run.charged
        asked_seconds = retry_after_seconds(error) or 0.0
        policy = self._retry_of(hook)
        next_step = decide(counts_as, attempt, elapsed_seconds, policy, at_least_seconds=asked_seconds)
        self._metrics.hook_errors_total.inc(hook=run.name, verdict=str(verdict))
        if isinstance(next_step, Retry):
            self._try_again(event, run, error, verdict, now, next_step.delay_seconds)
        elif self._admission.holds(hook):
            self._wait_for_release(event, run, error, now)
        else:
            run.failed = self._failed(event, run, error, verdict, next_step, elapsed_seconds)
            self._admission.failed_for_good(hook, event.subject)
        if counts_as is Verdict.INFRA_DEPENDENCY_RETRYABLE:
            self._admission.dependency_failed(run, hook, event.subject)
        else:
            self._admission.answered(run, hook)

    def _wait_for_release(self, event: Event, run: HookRun, error: BaseException, now: float) -> None:
        """Keep an event that a hook failed with for good while it is held already: that failure says nothing of the event."""
        run.tries = run.charged = 0
        run.first_failed_at = None
        run.due_at = now
        say_waits_for_release(event, run.name, self._text(error))

    def _try_again(
        self, event: Event, run: HookRun, error: BaseException, verdict: Verdict, now: float, delay_seconds: float
    ) -> None:
        self._metrics.retries_total.inc(hook=run.name)
        run.due_at = now + delay_seconds
        text = self._text(error)
        say_retry(event, run.name, attempt=run.tries, verdict=verdict, delay_seconds=delay_seconds, error=text)

    def _failed(
        self,
        event: Event,
        run: HookRun,
        error: BaseException,
        verdict: Verdict,
        letter_class: DeadLetterClass,
        elapsed_seconds: float,
    ) -> Failed:
        failure = describe(
            run.name,
            error,
            verdict=verdict,
            attempts=run.tries,
            elapsed_seconds=elapsed_seconds,
            redactor=self._redactor,
            subject=event.subject,
        )
        line = self._text(error)
        say_given_up(event, failure, line, error)
        BaseException.with_traceback(error, None)  # its frames would hold the event
        return Failed(letter_class, failure, line, error)

    def _refuse(self, delivery: Delivery, error: BaseException) -> GiveUp:
        """Give up an event whose hooks could not even be told: never "no hooks"."""
        text = self._text(error)
        self._metrics.resolver_errors_total.inc()
        _log.error("the resolver failed", topic=delivery.record.topic, offset=delivery.record.offset, error=text)
        return GiveUp(DeadLetterClass.PERMANENT, "resolver_failed", text)

    def _pause(self, work: Work, error: BaseException) -> Hold:
        """Hold an event for an error that is no hook's: a defect, which may be neither a dead letter nor a hot loop."""
        say_unforeseen(work.event, self._text(error), error)
        return Hold(_UNFORESEEN_SECONDS)

    def _text(self, error: BaseException) -> str:
        return line_with_cause(error, redactor=self._redactor)


def _is_gone(error: BaseException | None) -> bool:
    """Tell whether the receiver asks never to be called again, by the error or by one that it was raised from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if is_of(error, ReceiverGoneError):
            return True
        seen.add(id(error))
        error = BaseException.__dict__["__cause__"].__get__(error)
    return False


def _give_up(work: Work) -> GiveUp:
    failed = work.failed()
    classes = {each.letter_class for each in failed}
    codes = {each.failure.code for each in failed}
    return GiveUp(
        letter_class=DeadLetterClass.PERMANENT if DeadLetterClass.PERMANENT in classes else DeadLetterClass.EXHAUSTED,
        code=codes.pop() if len(codes) == 1 else "several",
        message="; ".join(f"hook {each.failure.hook}: {each.line}" for each in failed),
        failures=tuple(each.failure for each in failed),
    )
