"""One run of one hook outside of a stage, for a person who wants to see how it fares with an event."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hookline.consume import Delivery, GiveUp, Hold, Raised, Retry, invoke
from hookline.contract import DeadLetterClass, HookFailure
from hookline.errs import classify, describe, line_with_cause
from hookline.telemetry import Metrics

from ._policy import HookPolicy
from ._stage import Stage
from ._work import Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.contract import Event
    from hookline.kafka import Record

    from ._hook import Hook, Resolver
    from ._stage import StagePolicy

ENTER_SECONDS: Final = 30.0
LEAVE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.1

Follows: TypeAlias = Retry | Hold | GiveUp


class TrialOutcome(StrEnum):
    """How a trial ended."""

    DONE = "done"
    HELD = "held"
    """It asked to be run again later."""
    FAILED = "failed"
    STUCK = "stuck"
    """It went on past its time limit and could not be ended; it still runs."""
    EXPIRED = "expired"
    """It was not run: the event says that it has expired."""
    NOT_ENTERED = "not_entered"
    """It was not run: it could not be opened."""
    DECLINED = "declined"
    """It was not run: it does not want the event."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a trial: how the hook fared, how long its run took, and what a stage would do next.

    `failure` says what failed: the run, or the opening before it. `leaving` says why the hook could not be left.
    """

    hook: str
    event: Event
    outcome: TrialOutcome
    elapsed_seconds: float = 0.0
    failure: HookFailure | None = None
    follows: Follows | None = None
    leaving: HookFailure | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the hook did what it should."""
        return self.outcome in {TrialOutcome.DONE, TrialOutcome.HELD} and self.leaving is None


class Trials:
    """Runs hooks once, as a stage of this policy would: with their time limits, threads, verdicts and delays.

    What bounds a hook among others (concurrency, rate, age) does not count. `record` stands for the one that an event would
    come in. On the event loop.
    """

    def __init__(self, policy: StagePolicy, record: Record) -> None:
        self._policy = policy
        self._record = record

    async def try_hook(self, name: str, resolver: Resolver, event: Event, known: Sequence[str]) -> Trial:
        """Resolve the event, and when the hook of this name is among its hooks enter it, run it once and leave it.

        `known` are the names of hooks that the resolver has, so that one that does not want the event is told from one
        that does not exist: raises LookupError for that. A resolver that raises is a failure, as in a stage.
        """
        try:
            hooks = {hook.name: hook for hook in resolver.for_event(event)}
        except BaseException as error:  # noqa: BLE001 - whatever a resolver raises is an outcome, as in a stage
            return self._resolver_failed(name, event, error)
        if name in hooks:
            return await self._enter(hooks[name], event)
        if name not in known:
            raise LookupError(name)
        return Trial(name, event, TrialOutcome.DECLINED)

    async def _enter(self, hook: Hook, event: Event) -> Trial:
        if not isinstance(hook, AbstractAsyncContextManager):
            return await self._run(hook, event)
        entered = await invoke(_in_time(hook.__aenter__, ENTER_SECONDS))
        if isinstance(entered, Raised):
            failure = self._describe(hook.name, event, entered.error, 0.0)
            return Trial(hook.name, event, TrialOutcome.NOT_ENTERED, failure=failure)
        trial = await self._run(hook, event)
        left = await invoke(_in_time(partial(hook.__aexit__, None, None, None), LEAVE_SECONDS))
        if isinstance(left, Raised):
            return replace(trial, leaving=self._describe(hook.name, event, left.error, 0.0))
        return trial

    async def _run(self, hook: Hook, event: Event) -> Trial:
        metrics = Metrics(domain="trial")
        stage = Stage(_Only(_Entered(hook)), self._unbounded(hook.name), metrics, leave_seconds=0.0)
        delivery = Delivery(self._record)
        delivery.progress = work = Work(event, None)
        async with stage:
            began = time.perf_counter()
            running = asyncio.create_task(_attempt(stage, delivery))
            while not running.done() and not stage.stuck_hooks():
                await asyncio.wait((running,), timeout=_LOOK_SECONDS)
            seconds = time.perf_counter() - began
            if not running.done():
                return self._stuck(hook.name, event, seconds)
            follows, error = await running
        if error is not None:
            raised = work.raised.get(hook.name, error)
            return self._failed(hook.name, event, raised, seconds, follows)
        if follows is not None:
            return Trial(hook.name, event, TrialOutcome.HELD, seconds, follows=follows)
        ran = metrics.value("hook_attempts_total", hook=hook.name, outcome="ok")
        return Trial(hook.name, event, TrialOutcome.DONE if ran else TrialOutcome.EXPIRED, seconds)

    def _unbounded(self, name: str) -> StagePolicy:
        bounded = self._policy.hooks.get(name, HookPolicy())
        free = replace(bounded, concurrency=None, rate=None, max_age_seconds=None)
        return replace(self._policy, hooks={**self._policy.hooks, name: free})

    def _failed(self, name: str, event: Event, error: BaseException, seconds: float, follows: Follows | None) -> Trial:
        # Of what is given up the stage has told already, and the error has lost its traceback since.
        told = follows.failures if isinstance(follows, GiveUp) else ()
        failure = next((each for each in told if each.hook == name), None) or self._describe(
            name, event, error, seconds
        )
        return Trial(name, event, TrialOutcome.FAILED, seconds, failure=failure, follows=follows)

    def _stuck(self, name: str, event: Event, seconds: float) -> Trial:
        failure = self._describe(name, event, TimeoutError("past its time limit, and not to be ended"), seconds)
        return Trial(name, event, TrialOutcome.STUCK, seconds, failure=failure)

    def _resolver_failed(self, name: str, event: Event, error: BaseException) -> Trial:
        failure = replace(self._describe(name, event, error, 0.0), code="resolver_failed")
        text = line_with_cause(error, redactor=self._policy.redactor)
        follows = GiveUp(DeadLetterClass.PERMANENT, "resolver_failed", text)
        return Trial(name, event, TrialOutcome.FAILED, failure=failure, follows=follows)

    def _describe(self, name: str, event: Event, error: BaseException, seconds: float) -> HookFailure:
        return describe(
            name,
            error,
            verdict=classify(error, self._policy.classifiers),
            attempts=1,
            elapsed_seconds=seconds,
            redactor=self._policy.redactor,
            subject=event.subject,
        )


class _Only:
    """A resolver of one hook for every event."""

    def __init__(self, hook: Hook) -> None:
        self.hooks = (hook,)

    def for_event(self, _: Event) -> Sequence[Hook]:
        """Give it."""
        return self.hooks


class _Entered:
    """A hook that somebody has entered already: all that it is, but no context manager."""

    def __init__(self, hook: Hook) -> None:
        self.name = hook.name
        self.handle = hook.handle
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hook, name)


async def _attempt(stage: Stage, delivery: Delivery) -> tuple[Follows | None, BaseException | None]:
    """Run one attempt as the engine does; tells what a stage would do next, and the error if there was one."""
    result = await invoke(_handle(stage, delivery), lambda: delivery.cut_off)
    if not isinstance(result, Raised):
        return None, None
    follows = stage.decide(delivery, result.error)
    work = delivery.progress
    failed = isinstance(work, Work) and bool(work.raised)
    return follows, result.error if failed or not isinstance(follows, Hold) else None


async def _handle(stage: Stage, delivery: Delivery) -> None:
    stage.identify(delivery)
    rest = stage.handle(delivery)
    if rest is not None:
        await rest


async def _in_time(begin: Callable[[], Awaitable[object]], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await begin()
