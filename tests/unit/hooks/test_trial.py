"""Trials: one run of one hook as a stage would run it, and what a stage would do next."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

import pytest

from hookline.consume import GiveUp, Hold, Retry
from hookline.contract import DeadLetterClass, Event
from hookline.errs import DEFAULT_CLASSIFIERS, Redactor, attribute, detail
from hookline.errs import Subject as About
from hookline.hooks import Condition, HookPolicy, Hooks, Rule, RuledHooks, StagePolicy, Trial, TrialOutcome, Trials
from tests.support.hooks import QUICK, Acting, Deaf, Script, delivery_of, event_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from hookline.hooks import Hook, HookDelivery, Resolver

CANARY = "c4n4ry-7719"


async def trial_of(
    hook: Hook,
    event: Event | None = None,
    *,
    policy: HookPolicy | None = None,
    resolver: Resolver | None = None,
    known: Sequence[str] | None = None,
) -> Trial:
    """Try a hook."""
    policies = {} if policy is None else {hook.name: policy}
    stage_policy = StagePolicy(QUICK, DEFAULT_CLASSIFIERS, Redactor(secrets=[CANARY]), hooks=policies)
    return await Trials(stage_policy, delivery_of().record).try_hook(
        hook.name, resolver or Hooks({"*": [hook]}), event or event_of(), [hook.name] if known is None else known
    )


class Steps(Script):
    """A hook that is opened and closed, each of which may raise, and notes what was done in order."""

    def __init__(self, *, opening: Exception | None = None, closing: Exception | None = None) -> None:
        super().__init__("steps")
        self.noted: list[str] = []
        self._opening = opening
        self._closing = closing

    async def __aenter__(self) -> Self:
        self.noted.append("opened")
        if self._opening is not None:
            raise self._opening
        return self

    async def __aexit__(self, *_: object) -> None:
        self.noted.append("closed")
        if self._closing is not None:
            raise self._closing

    async def handle(self, event: Event) -> None:
        """Note it."""
        self.noted.append("handled")
        await super().handle(event)


async def test_a_hook_is_entered_run_once_and_left() -> None:
    """The whole life of a hook, with one event in it."""
    hook = Steps()
    trial = await trial_of(hook)
    assert (trial.outcome, trial.failure, trial.follows, trial.is_ok) == (TrialOutcome.DONE, None, None, True)
    assert hook.noted == ["opened", "handled", "closed"]


async def test_a_failure_tells_what_a_stage_would_make_of_it() -> None:
    """Verdict, code, attribution and what follows are those of a stage, and secrets are hidden."""
    error = detail(attribute(ValueError(f"refused by {CANARY}"), [About("batch", "batch-778")]), {"steps": 3})
    trial = await trial_of(Script("a", error))
    assert (trial.outcome, trial.is_ok) == (TrialOutcome.FAILED, False)
    assert isinstance(trial.follows, GiveUp)
    assert trial.follows.letter_class is DeadLetterClass.PERMANENT
    assert trial.failure is not None
    assert trial.failure.exception == "ValueError"
    assert CANARY not in trial.failure.message
    assert trial.failure.subjects == (
        About("hook", "a"),
        About("subject", "batch-778"),
        About("batch", "batch-778"),
    )
    assert trial.failure.detail == {"steps": 3}
    assert "in handle" in (trial.failure.location or "")


async def test_what_may_pass_would_be_run_again() -> None:
    """A dependency that is away is told with the wait after it."""
    trial = await trial_of(Script("a", ConnectionRefusedError("down")))
    assert isinstance(trial.follows, Retry)
    assert trial.failure is not None
    assert (trial.failure.verdict, trial.failure.code) == ("infra_dependency_retryable", "connection")


async def test_a_hook_has_its_own_time_limit() -> None:
    """Past it an attempt is cancelled and has failed, as in a stage."""

    async def wait(_: Event) -> None:
        await asyncio.Event().wait()

    trial = await trial_of(Acting("a", wait), policy=HookPolicy(timeout_seconds=0.05))
    assert trial.outcome is TrialOutcome.FAILED
    assert trial.failure is not None
    assert trial.failure.code == "timeout"


async def test_a_hook_that_cannot_be_ended_ends_the_trial() -> None:
    """P10: one that swallows its cancellation is told as stuck; nobody waits for it for ever."""
    deaf = Deaf(timeout_seconds=0.05)
    trial = await trial_of(deaf)
    deaf.let_go.set()
    assert (trial.outcome, trial.is_ok) == (TrialOutcome.STUCK, False)


class Plain:
    """A hook that is a plain function."""

    name = "plain"

    def handle(self, event: Event) -> None:
        """Fail on the thread that runs it."""
        raise TimeoutError(event.subject)


async def test_a_plain_function_is_tried_in_its_thread() -> None:
    """What it raises there is its failure."""
    trial = await trial_of(Plain())
    assert isinstance(trial.follows, Retry)


class Asking:
    """A hook that asks to be run again."""

    name = "asking"

    async def handle(self, _: Event, delivery: HookDelivery | None = None) -> None:
        """Ask."""
        assert delivery is not None
        delivery.hold(30)


async def test_a_hook_that_asks_for_later_is_told() -> None:
    """It is no failure, and when it would be run again is known."""
    trial = await trial_of(Asking())
    assert (trial.outcome, trial.is_ok, trial.failure) == (TrialOutcome.HELD, True, None)
    assert isinstance(trial.follows, Hold)
    assert trial.follows.delay_seconds > 20


@pytest.mark.parametrize("error", [OSError("no file"), SystemExit(3), asyncio.CancelledError()], ids=repr)
async def test_a_hook_that_cannot_be_entered_is_not_run(error: Exception) -> None:
    """Why it cannot is told, whatever it raises; nothing was done with the event."""
    hook = Steps(opening=error)
    trial = await trial_of(hook)
    assert (trial.outcome, trial.is_ok) == (TrialOutcome.NOT_ENTERED, False)
    assert trial.failure is not None
    assert hook.noted == ["opened"]


class Torn(Script):
    """A hook whose entering is no coroutine, and raises."""

    def __aenter__(self) -> Awaitable[Self]:
        raise OSError("not even begun")

    async def __aexit__(self, *_: object) -> None:
        return


async def test_a_hook_whose_entering_raises_at_once_is_not_run() -> None:
    """It is told like any other that cannot be entered."""
    assert (await trial_of(Torn("a"))).outcome is TrialOutcome.NOT_ENTERED


async def test_a_hook_that_cannot_be_left_is_not_ok() -> None:
    """Its work is done, and that it does not close is told beside."""
    trial = await trial_of(Steps(closing=RuntimeError("still writing")))
    assert (trial.outcome, trial.is_ok) == (TrialOutcome.DONE, False)
    assert trial.leaving is not None


async def test_an_event_that_the_hook_does_not_want_is_not_run() -> None:
    """Its types, sources and condition count as in a stage."""
    hook = Script("a")
    for resolver in (Hooks({"request.*": [hook]}), RuledHooks([Rule(hook, when=Condition("version > 99"))])):
        trial = await trial_of(hook, resolver=resolver)
        assert (trial.outcome, trial.is_ok) == (TrialOutcome.DECLINED, False)
    assert hook.runs == []


async def test_a_condition_that_raises_is_the_failure() -> None:
    """What a stage would dead-letter is told, and the hook is not run."""
    hook = Script("a")
    trial = await trial_of(hook, resolver=RuledHooks([Rule(hook, when=Condition("payload.missing"))]))
    assert isinstance(trial.follows, GiveUp)
    assert trial.failure is not None
    assert trial.failure.exception == "hookline.hooks.ConditionError"
    assert hook.runs == []


class Broken:
    """A resolver that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def for_event(self, _: Event) -> Sequence[Hook]:
        """Raise."""
        raise self._error


@pytest.mark.parametrize("error", [RuntimeError("no store"), SystemExit(3)], ids=repr)
async def test_a_resolver_that_raises_is_a_failure(error: BaseException) -> None:
    """It is told with the code that its dead letter would have."""
    trial = await trial_of(Script("a"), resolver=Broken(error))
    assert isinstance(trial.follows, GiveUp)
    assert trial.follows.code == "resolver_failed"


async def test_a_hook_that_nobody_knows_is_an_error() -> None:
    """It is told from one that does not want the event."""
    with pytest.raises(LookupError):
        await trial_of(Script("a"), resolver=Hooks({}), known=())


async def test_what_bounds_a_hook_among_others_does_not_count() -> None:
    """An old event is tried all the same, and nothing is waited for."""
    hook = Script("a")
    old = Event(id="1", source="s", type="t", timestamp_ms=int(time.time() * 1000) - 86_400_000)
    trial = await trial_of(hook, old, policy=HookPolicy(concurrency=1, rate=0.001, max_age_seconds=1.0))
    assert trial.outcome is TrialOutcome.DONE
    assert len(hook.runs) == 1


async def test_an_event_that_says_itself_that_it_has_expired_is_not_run() -> None:
    """A stage would not run it either, and "done" would be a lie."""
    hook = Script("a")
    event = Event(id="1", source="s", type="t", attributes={"expirytime": "2020-01-01T00:00:00Z"})
    assert (await trial_of(hook, event)).outcome is TrialOutcome.EXPIRED
    assert hook.runs == []
