"""The handler of a hook topic: decode, resolve, run all, collect, decide."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from hookline.consume import PartIdentity, Raised, RetryPolicy, begin, begin_coroutine, finish, own_task
from hookline.contract import Event, MalformedRecordError, decode_delivery

from ._admission import Admission
from ._call import Call, Caller
from ._decisions import Decisions
from ._doors import Doors, HookNotReadyError
from ._hook import HookDelivery
from ._log import say_gone
from ._memory import StageMemory, is_rest_done
from ._policy import BreakerPolicy, GuardPolicy, HookPolicy
from ._registry import hooks_of
from ._superseded import superseded_in_run
from ._together import Together
from ._wiring import Wiring
from ._work import Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from hookline.consume import Delivery, GiveUp, Hold, Identity, Retry, Suspended
    from hookline.errs import Classifier, Redactor
    from hookline.telemetry import Metrics

    from ._call import InThread, Rest
    from ._gates import Gates
    from ._hook import Resolver
    from ._runs import HookRun
    from ._troubles import HookTrouble
    from ._wiring import WiredHook

_NO_EVENT = Event(id="", source="", type="")
_UNREADABLE_HEADERS = "unreadable_headers", "a header's name is not UTF-8, so no header could be read"
_NOT_READY_SECONDS = 0.5
_TOGETHER_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class StagePolicy:
    """How a stage treats failures: what errors mean, how often they are tried again, what is hidden of them."""

    retry: RetryPolicy
    classifiers: Sequence[Classifier]
    redactor: Redactor
    hooks: Mapping[str, HookPolicy] = field(default_factory=lambda: MappingProxyType({}))
    """What is set for single hooks, by name; where nothing is, the hook's own `policy` and `timeout_seconds` count."""
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    guard: GuardPolicy = field(default_factory=GuardPolicy)


class Stage:
    """Runs the hooks of each event of a domain; a `Handler` for the engine, and its `memory` beside it.

    Every hook that an event resolves to runs, all together, even when one fails. Each is pending, done or failed for
    good; a retry runs the pending ones only. When none is pending and one has failed, there is one dead letter, and it
    names those that failed. Use as an async context manager around the engine's run: it enters and leaves the hooks.
    """

    def __init__(  # noqa: PLR0913 - what a stage is wired to, each by name
        self,
        resolver: Resolver,
        policy: StagePolicy,
        metrics: Metrics,
        *,
        gates: Gates | None = None,
        close_gate: Callable[[str, str], None] | None = None,
        serves: Callable[[str], bool] | None = None,
        buries_malformed: bool = True,
        renamed: Mapping[str, str] | None = None,
        known: Iterable[str] = (),
        release: str = "",
        leave_seconds: float = 3.0,
    ) -> None:
        """Wire a stage.

        `gates` tell what a person has closed; `close_gate` is told, with the hook's name and a reason, of a hook that
        only a person may release, and must not block; `release` says how, where it is not by opening a gate. Of a
        republished record that names hooks those are run that `serves` says yes to, by default all. Without
        `buries_malformed` a malformed record is somebody else's: done with. `renamed` maps former names of hooks to
        those of today, `known` names the hooks that other stages run too.
        """
        self._resolver = resolver
        self._metrics = metrics
        self._buries_malformed = buries_malformed
        self._leave_seconds = leave_seconds
        self._admission = Admission(policy.breaker, policy.guard, metrics, gates, close_gate, release)
        self._wiring = Wiring(resolver, metrics, policy.hooks, self._admission, serves)
        self._decisions = Decisions(policy.retry, policy.classifiers, policy.redactor, metrics, self._admission)
        self._caller = Caller(metrics, self._decisions.note_stuck, self._admission.left)
        self._doors = Doors()
        self._age = metrics.event_age_seconds.labels()
        self.memory = StageMemory(serves, renamed, known)

    async def __aenter__(self) -> Self:
        """Begin to enter the hooks that the resolver lists."""
        hooks = hooks_of(self._resolver)
        self._metrics.declare(hook=[hook.name for hook in hooks])
        self._doors.enter(hooks)
        self._caller.open()
        self._admission.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the hooks, in bounded time."""
        await self._doors.leave(self._leave_seconds)
        self._admission.close()
        self._caller.close()

    def waiting_hooks(self) -> list[str]:
        """Name the hooks that could not be entered yet; their events wait."""
        return self._doors.waiting()

    def stuck_hooks(self) -> dict[str, float]:
        """Tell by hook for how many seconds a run of it has outlived its end."""
        return self._caller.stuck_hooks()

    def troubles(self) -> list[HookTrouble]:
        """List the hooks whose events wait for something that may need a person."""
        return self._admission.troubles()

    def identify(self, delivery: Delivery) -> Identity | None:
        """Decode and resolve at the first attempt. Raises MalformedRecordError, and whatever the resolver raises."""
        work = delivery.progress
        if not isinstance(work, Work):
            work = delivery.progress = self._open(delivery, work if isinstance(work, bytes) else b"")
        if work.plan is None:
            if work.event is _NO_EVENT:  # malformed, and somebody else's
                return None
            self._resolve(work)
        if work.is_free or (work.redrive is None and work.asks_for is None):
            return work.event.identity
        return self._identity_of(delivery, work)

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Run the hooks that are pending and due. Raises HookErrorGroup when one failed, now or before."""
        work = delivery.progress
        if not isinstance(work, Work):
            raise TypeError("a delivery is identified before it is handled")
        if work.is_free and self._admission.is_clear:
            work.is_free = False
            if work.plan is not None and work.plan.only is not None:
                return self.call_only(work.plan.only, delivery, work)
            ready = work.runs
        else:
            work.is_free = False
            work.raised = {}
            ready = [run for run in work.runs if run.pending and _is_due(run) and self._admits(run, delivery, work)]
        rest = self._call_all(ready, delivery, work) if ready else None
        if rest is not None:
            return self._await_rest(rest, ready, work)
        self._sum_up(work, ready)
        return None

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide for each hook by itself; the record is retried while one of them is pending."""
        return self._decisions.decide(delivery, error)

    def _identity_of(self, delivery: Delivery, work: Work) -> Identity | None:
        redrive = work.redrive
        identity = self.memory.identity_of(work.event, redrive, delivery.record.offset)
        if identity is None or (redrive is not None and redrive.again):
            return None
        return identity if work.asks_for is None else PartIdentity(identity, work.asks_for, None)

    def _open(self, delivery: Delivery, restored: bytes) -> Work:
        record = delivery.record
        try:
            if record.unreadable_headers:
                raise MalformedRecordError(*_UNREADABLE_HEADERS)  # noqa: TRY301 - as what cannot be decoded
            event, redrive = decode_delivery(record.key, record.value, record.headers)
        except MalformedRecordError:
            if self._buries_malformed and not is_rest_done(restored):
                raise
            return Work(_NO_EVENT, None, runs=())
        if redrive is not None:
            redrive = self.memory.of_today(redrive)
            self._metrics.republished_total.inc()
        return Work(event, redrive, restored)

    def _resolve(self, work: Work) -> None:
        plan = self._wiring.of(work.event)
        work.plan = plan
        if work.restored:
            self._note_gone(work, self.memory.resume(work))
            if any(run.is_settled_elsewhere for run in work.runs):
                work.asks_for = frozenset(run.name for run in work.runs if not run.is_settled_elsewhere)
        else:
            may_expire = work.event.attributes and work.event.expires_at_ms is not None
            work.is_free = plan.is_free and work.redrive is None and not may_expire

    def _note_gone(self, work: Work, hooks: int) -> None:
        """Note that an event was in retry for hooks that nobody has any more: they are not run."""
        if hooks:
            self._metrics.hooks_gone_total.inc(hooks)
            say_gone(work.event)

    def _admits(self, run: HookRun, delivery: Delivery, work: Work) -> bool:
        hook = run.hook
        if hook is None or not self._doors.is_open(hook.hook):
            now = time.monotonic()
            run.note_waiting(now)
            run.due_at = now + _NOT_READY_SECONDS
            return False
        return self._admission.admits(run, hook, delivery, work.event)

    def _call_all(self, runs: Sequence[HookRun], delivery: Delivery, work: Work) -> Awaitable[None] | None:
        """Call hooks together, as far as each goes at once; None when all have ended.

        They begin in the task that awaits them until one does not end at once: that one goes on there, and each behind it
        has a task of its own.
        """
        waiting = iter(runs)
        for run in waiting:
            rest = self.call_hook(run, delivery, work)
            if rest is not None:
                return self._call_beside(rest, list(waiting), delivery, work)
        return None

    def _call_beside(
        self, rest: Awaitable[None], runs: Sequence[HookRun], delivery: Delivery, work: Work
    ) -> Awaitable[None]:
        if not runs:
            return rest
        together = Together()
        for run in runs:
            together.start(self._call_in_task(run, delivery, work, together))
        return together.finish(rest)

    async def _call_in_task(self, run: HookRun, delivery: Delivery, work: Work, together: Together) -> None:
        try:
            rest = self.call_hook(run, delivery, work)
            if rest is not None:
                await rest
        finally:
            together.ended()

    def call_only(self, hook: WiredHook, delivery: Delivery, work: Work) -> Awaitable[None] | None:
        """Call the only hook of an event for the first time.

        As `call_hook`, and what most events need: nothing is kept of a run that succeeds at once.
        """
        if superseded_in_run.get() is not hook.note_superseded:
            superseded_in_run.set(hook.note_superseded)
        began = time.perf_counter()
        if hook.coroutine_function is None:
            rest: Suspended | InThread | Raised | None = self._caller.in_thread(hook, work.event)
        else:
            rest = begin_coroutine(hook.coroutine_function, work.event)
        if rest is None:
            self._note_done(hook, work, began)
        elif isinstance(rest, Raised):
            self._note_failed(hook, work, rest, began)
        else:
            return self.finish_call(None, hook, delivery, work, rest, began)
        return None

    def call_hook(self, run: HookRun, delivery: Delivery, work: Work) -> Awaitable[None] | None:
        """Call one hook as far as it goes at once; what is left of it, if anything, ends by noting how it ended."""
        hook = run.hook
        if hook is None:
            raise TypeError(f"hook {run.name} is gone, so it was not admitted")
        run.is_called = True
        superseded_in_run.set(hook.note_superseded)
        began = time.perf_counter()
        asked = HookDelivery(run.tries + 1, partial(_ask, run)) if hook.takes_delivery else None
        if hook.coroutine_function is None:
            rest: Suspended | InThread | Raised | None = self._caller.in_thread(hook, work.event, asked)
        elif asked is None:
            rest = begin_coroutine(hook.coroutine_function, work.event)
        else:
            rest = begin_coroutine(partial(hook.coroutine_function, work.event), asked)
        if rest is None or isinstance(rest, Raised):
            note = self._note_at_once if run.has_place else self._note
            note(run, hook, work, rest, began)
            return None
        return self.finish_call(run, hook, delivery, work, rest, began)

    async def finish_call(
        self, run: HookRun | None, hook: WiredHook, delivery: Delivery, work: Work, rest: Rest, began: float
    ) -> None:
        """Await the rest of a call and note how it ended; without a run it is the only hook's, and all there is to do."""
        raised: Raised | None
        limit_seconds = begin(hook.limit_seconds)
        if isinstance(limit_seconds, Raised):
            begin(rest.close)
            raised = limit_seconds
        else:
            call = Call(hook, delivery, work.event, limit_seconds, own_task(), run)
            try:
                raised = await finish(self._caller.go_on(rest, call), call.is_cut_off, call.task)
            finally:
                self._caller.end(call)
            raised = call.outcome(raised)
        if run is not None and run.has_place:
            self._note_at_once(run, hook, work, raised, began)
        elif run is not None:
            self._note(run, hook, work, raised, began)
        elif raised is None:
            self._note_done(hook, work, began)
        else:
            self._note_failed(hook, work, raised, began)

    def _note_done(self, hook: WiredHook, work: Work, began: float) -> None:
        """Note that the only hook of an event is done with it."""
        hook.seconds.observe(time.perf_counter() - began)
        hook.oks.inc()
        work.note_done()
        self._note_age(work)

    def _note_failed(self, hook: WiredHook, work: Work, raised: Raised, began: float) -> None:
        """Note that the only hook of an event failed, and raise that."""
        (run,) = work.runs
        self._note(run, hook, work, raised, began)
        self._sum_up(work, work.runs)

    def _note_at_once(self, run: HookRun, hook: WiredHook, work: Work, raised: Raised | None, began: float) -> None:
        """Note how one run of a hook ended, and give back the place that it may have."""
        try:
            self._note(run, hook, work, raised, began)
        finally:
            self._admission.left(run, hook)

    def _note(self, run: HookRun, hook: WiredHook, work: Work, raised: Raised | None, began: float) -> None:
        """Note how one run of a hook ended."""
        hook.seconds.observe(time.perf_counter() - began)
        work.saved = None
        if raised is not None:
            hook.errors.inc()
            work.raised[run.name] = raised.error
            run.asked_seconds = None
            self._decisions.weigh(work.event, run, hook, raised.error)
        else:
            hook.oks.inc()
            if run.asked_seconds is None:
                run.done = True
                if run.probe:
                    self._admission.answered(run, hook)
            else:
                run.begin_anew(run.asked_seconds)
                self._admission.asked(run, hook)

    async def _await_rest(self, rest: Awaitable[None], ready: Sequence[HookRun], work: Work) -> None:
        try:
            await rest
        finally:
            self._admission.over(ready)
        self._sum_up(work, ready)

    def _sum_up(self, work: Work, ran: Sequence[HookRun]) -> None:
        """Return when every hook is done, else raise why not."""
        if not work.raised and len(ran) == len(work.runs) and (work.plan is None or work.plan.is_free):
            self._note_age(work)
            return
        group = work.errors()
        if group is not None:
            raise group
        pending = work.pending()
        if pending:
            raise HookNotReadyError(", ".join(run.name for run in pending))
        self._note_age(work)

    def _note_age(self, work: Work) -> None:
        """Note how old an event is that is done; one without a timestamp has no age, one from the future none yet."""
        timestamp_ms = work.event.timestamp_ms
        if timestamp_ms:
            age_seconds = time.time() - timestamp_ms / 1000
            self._age.observe(age_seconds if age_seconds > 0 else 0.0)


def _is_due(run: HookRun) -> bool:
    return not run.due_at or run.due_at <= time.monotonic() + _TOGETHER_SECONDS


def _ask(run: HookRun, seconds: float) -> None:
    run.asked_seconds = seconds
