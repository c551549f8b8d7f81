"""The handler of a hook topic: decode, resolve, run all, collect, decide."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from hookline.consume import GiveUp, Hold, Raised, Retry, RetryPolicy, decide, invoke
from hookline.contract import DeadLetterClass, HookFailure, MalformedRecordError, Redrive, decode_record
from hookline.errs import HookErrorGroup, Verdict, classify, describe, line_with_cause, retry_after_seconds
from hookline.telemetry import get_logger

from ._call import Caller
from ._doors import Doors, HookNotReadyError
from ._hook import DEFAULT_TIMEOUT_SECONDS
from ._log import say_given_up, say_retry, say_unforeseen
from ._places import Places
from ._registry import by_name, hooks_of
from ._work import Failed, HookRun, Work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.consume import Delivery, Identity
    from hookline.contract import Event
    from hookline.errs import Classifier, Redactor
    from hookline.telemetry import Metrics

    from ._hook import Hook, Resolver

_NOT_READY_SECONDS = 0.5
_TOGETHER_SECONDS = 0.1
_UNFORESEEN_SECONDS = 5.0

_log = get_logger(__name__)


class HookGoneError(Exception):
    """A republished record names a hook that this event no longer resolves to."""


@dataclass(frozen=True, slots=True)
class StagePolicy:
    """How a stage treats failures: what errors mean, how often they are tried again, what is hidden of them."""

    retry: RetryPolicy
    classifiers: Sequence[Classifier]
    redactor: Redactor
    timeout_seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Time limits by hook; where there is none the hook's own counts, else `DEFAULT_TIMEOUT_SECONDS`."""
    concurrency: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many events a hook handles at once, by hook; a hook without one is bounded by the engine alone."""


class Stage:
    """Runs the hooks of each event of a domain; a `Handler` for the engine.

    Every hook that an event resolves to runs, all together, even when one fails. Each is pending, done or failed for
    good; a retry runs the pending ones only. When none is pending and one has failed, there is one dead letter, and it
    names those that failed. Use as an async context manager around the engine's run: it enters and leaves the hooks.
    """

    def __init__(
        self, resolver: Resolver, policy: StagePolicy, metrics: Metrics, *, leave_seconds: float = 3.0
    ) -> None:
        self._resolver = resolver
        self._policy = policy
        self._metrics = metrics
        self._leave_seconds = leave_seconds
        self._caller = Caller()
        self._doors = Doors()
        self._places = Places(policy.concurrency, metrics)

    async def __aenter__(self) -> Self:
        """Begin to enter the hooks that the resolver lists."""
        hooks = hooks_of(self._resolver)
        self._metrics.declare(hook=[hook.name for hook in hooks])
        self._doors.enter(hooks)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the hooks, in bounded time."""
        await self._doors.leave(self._leave_seconds)
        self._caller.close()

    def waiting_hooks(self) -> list[str]:
        """Name the hooks that could not be entered yet; their events wait."""
        return self._doors.waiting()

    def identify(self, delivery: Delivery) -> Identity | None:
        """Decode and resolve at the first attempt. Raises MalformedRecordError, and whatever the resolver raises."""
        work = delivery.progress
        if not isinstance(work, Work):
            work = delivery.progress = self._open(delivery)
        if not work.resolved:
            work.runs = self._plan(work)
            work.resolved = True
        return None if work.redrive is not None and work.redrive.again else work.event.identity

    async def handle(self, delivery: Delivery) -> None:
        """Run the hooks that are pending and due. Raises HookErrorGroup when one failed, now or before."""
        work = _work(delivery)
        work.raised = {}
        now = time.monotonic()
        due = [run for run in work.pending() if run.due_at <= now + _TOGETHER_SECONDS]
        await self._run(delivery, work, due)
        group = HookErrorGroup.of((run.name, work.error_of(run)) for run in work.runs)
        if group is not None:
            raise group
        if work.pending():
            raise HookNotReadyError(", ".join(run.name for run in work.pending()))
        self._note_age(work)

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide for each hook by itself; the record is retried while one of them is pending."""
        work = delivery.progress
        if isinstance(error, MalformedRecordError):
            return GiveUp(DeadLetterClass.MALFORMED, error.code, self._policy.redactor.redact(str(error)))
        if not isinstance(work, Work) or not work.resolved:
            return self._refuse(delivery, error)
        if not isinstance(error, HookErrorGroup | HookNotReadyError):
            return self._pause(work, error)
        for run in work.pending():
            if run.name in work.raised:
                self._weigh(work.event, run, work.raised[run.name])
        pending = work.pending()
        if not pending:
            return _give_up(work) if work.failed() else self._pause(work, error)
        delay_seconds = max(min(run.due_at for run in pending) - time.monotonic(), 0.0)
        return Retry(delay_seconds) if work.raised else Hold(delay_seconds)

    def _open(self, delivery: Delivery) -> Work:
        record = delivery.record
        if record.unreadable_headers:
            raise MalformedRecordError("unreadable_headers", "a header's name is not UTF-8, so no header could be read")
        event = decode_record(record.key, record.value, record.headers)
        redrive = Redrive.from_headers(record.headers)
        if redrive is not None:
            self._metrics.republished_total.inc()
        return Work(event, redrive)

    def _plan(self, work: Work) -> list[HookRun]:
        """List the runs: every hook that the event resolves to, or those that a republication names.

        Raises DuplicateHookError, for a resolver that lists no hooks is not refused when it is wired.
        """
        hooks = by_name(self._resolver.for_event(work.event))
        if work.redrive is None or work.redrive.hooks is None:
            return [HookRun(name, hook) for name, hook in hooks.items()]
        return [
            HookRun(name, hooks[name]) if name in hooks else _gone(name) for name in dict.fromkeys(work.redrive.hooks)
        ]

    async def _run(self, delivery: Delivery, work: Work, due: Sequence[HookRun]) -> None:
        """Run hooks together and note what they raise; one that is not entered yet or busy is put off, uncharged."""
        ready = [run for run in due if self._admits(run)]
        try:
            await self._call_together(ready, delivery, work)
        finally:
            for run in ready:
                self._places.give_back(run)

    async def _call_together(self, runs: Sequence[HookRun], delivery: Delivery, work: Work) -> None:
        if len(runs) == 1:
            await self._call(runs[0], delivery, work)
            return
        # What a task returns is not asked for: a hook may have cancelled its own.
        async with asyncio.TaskGroup() as group:
            for run in runs:
                group.create_task(self._call(run, delivery, work))

    def _admits(self, run: HookRun) -> bool:
        if run.hook is None or not self._doors.is_open(run.hook):
            run.due_at = time.monotonic() + _NOT_READY_SECONDS
            return False
        if not self._places.take(run):
            run.due_at = time.monotonic() + self._places.delay_seconds(run.name)
            return False
        return True

    def _note_age(self, work: Work) -> None:
        """Note how old an event is that is done; one without a timestamp has no age, one from the future none yet."""
        if work.event.timestamp_ms:
            self._metrics.event_age_seconds.observe(max(time.time() - work.event.timestamp_ms / 1000, 0.0))

    async def _call(self, run: HookRun, delivery: Delivery, work: Work) -> None:
        if run.hook is None:
            return
        began = time.perf_counter()
        result = await invoke(self._call_hook(run, run.hook, work.event), lambda: delivery.cut_off)
        self._places.give_back(run)
        self._metrics.hook_seconds.labels(hook=run.name).observe(time.perf_counter() - began)
        outcome = "error" if isinstance(result, Raised) else "ok"
        self._metrics.hook_attempts_total.labels(hook=run.name, outcome=outcome).inc()
        if isinstance(result, Raised):
            work.raised[run.name] = result.error
        else:
            run.done = True

    async def _call_hook(self, run: HookRun, hook: Hook, event: Event) -> None:
        """Call a hook within its time; that the hook cannot tell its time limit is its own failure."""
        own_seconds: float = getattr(hook, "timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
        await self._caller.call(hook, event, self._policy.timeout_seconds.get(run.name, own_seconds))

    def _weigh(self, event: Event, run: HookRun, error: BaseException) -> None:
        """Classify what a hook raised, once, and decide whether it is tried again."""
        now = time.monotonic()
        verdict = classify(error, self._policy.classifiers)
        run.tries += 1
        run.charged += 0 if verdict.dependency else 1
        run.first_failed_at = now if run.first_failed_at is None else run.first_failed_at
        elapsed_seconds = now - run.first_failed_at
        attempt = run.tries if verdict.dependency else run.charged
        asked_seconds = retry_after_seconds(error) or 0.0
        next_step = decide(verdict, attempt, elapsed_seconds, self._policy.retry, at_least_seconds=asked_seconds)
        self._metrics.hook_errors_total.labels(hook=run.name, verdict=str(verdict)).inc()
        if isinstance(next_step, Retry):
            self._metrics.retries_total.labels(hook=run.name).inc()
            run.due_at = now + next_step.delay_seconds
            delay_seconds = next_step.delay_seconds
            text = self._text(error)
            say_retry(event, run.name, attempt=run.tries, verdict=verdict, delay_seconds=delay_seconds, error=text)
            return
        failure = describe(
            run.name,
            error,
            verdict=verdict,
            attempts=run.tries,
            elapsed_seconds=elapsed_seconds,
            redactor=self._policy.redactor,
        )
        line = self._text(error)
        say_given_up(event, failure, line, error)
        BaseException.with_traceback(error, None)  # its frames would hold the event
        run.failed = Failed(next_step, failure, line, error)

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
        return line_with_cause(error, redactor=self._policy.redactor)


def _work(delivery: Delivery) -> Work:
    if not isinstance(delivery.progress, Work):
        raise TypeError("a delivery is identified before it is handled")
    return delivery.progress


def _gone(name: str) -> HookRun:
    text = f"hook {name} does not exist any more, or does not want this event"
    failure = HookFailure(
        hook=name, verdict=str(Verdict.USER), exception="hookline.hooks.HookGoneError", message=text, attempts=0,
        elapsed_seconds=0.0, code="hook_gone",
    )  # fmt: skip
    return HookRun(name, None, failed=Failed(DeadLetterClass.PERMANENT, failure, text, HookGoneError(text)))


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
