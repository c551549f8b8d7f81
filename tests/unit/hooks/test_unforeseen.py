"""What goes wrong beside a hook's work: it is somebody's failure or a pause, never a loop and never an empty letter."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

import pytest

from hookline.consume import Done, GiveUp, Hold
from hookline.contract import DeadLetterClass, Event
from hookline.errs import HookErrorGroup
from hookline.hooks import Hook, Hooks, MergedHooks, Resolver
from tests.support.hooks import Acting, Script, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

PAUSE_SECONDS = 1.0


class Given:
    """A resolver that gives hooks and lists none."""

    def __init__(self, *hooks: Hook) -> None:
        self._hooks = hooks

    def for_event(self, _: Event) -> Sequence[Hook]:
        """Give them."""
        return self._hooks


class Nameless(Script):
    """A hook that is entered, and whose name can be lost."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


class BadLimit(Script):
    """A hook that cannot tell its time limit."""

    @property
    def timeout_seconds(self) -> float:
        """Fail."""
        raise ValueError("no limit")

    async def handle(self, event: Event) -> None:
        """Wait for something, so that a limit is asked for."""
        await asyncio.sleep(0)
        await super().handle(event)


@pytest.mark.parametrize(
    "resolver",
    [Given(Script("a"), Script("a")), MergedHooks(Given(Script("a")), Given(Script("a")))],
    ids=["one resolver", "merged"],
)
async def test_two_hooks_of_one_name_are_a_failed_resolver(resolver: Resolver) -> None:
    """P1, P7: neither is passed over in silence; a person hears that the hooks cannot be told apart."""
    async with stage_of(resolver) as stage:
        outcome = await attempt(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.PERMANENT, "resolver_failed")


async def test_a_hook_that_is_given_twice_runs_once() -> None:
    """P7: the same hook again is no second one."""
    hook = Script("a")
    async with stage_of(Given(hook, hook)) as stage:
        assert await attempt(stage, delivery_of()) == Done()
    assert len(hook.runs) == 1


class Unclosable(BadLimit):
    """The same, which will not be given up."""

    async def handle(self, event: Event) -> None:
        """Wait for something, once more when it is told to end."""
        try:
            await super().handle(event)
        except GeneratorExit:
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", [BadLimit, Unclosable])
@pytest.mark.parametrize("siblings", [0, 1], ids=["alone", "beside another"])
async def test_a_time_limit_that_cannot_be_told_is_the_hooks_failure(siblings: int, kind: type[BadLimit]) -> None:
    """P7: it is attributed and given up like whatever else a hook raises, and the others run."""
    others = [Script(f"other-{n}") for n in range(siblings)]
    async with stage_of(Hooks({"*": [kind("bad"), *others]})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert [failure.hook for failure in outcome.failures] == ["bad"]
    assert [len(hook.runs) for hook in others] == [1] * siblings


async def test_an_unforeseen_error_is_logged_and_pauses_the_event(caplog: pytest.LogCaptureFixture) -> None:
    """P1, P8: what no hook raised settles nothing, is told, and is not tried again at once."""
    caplog.set_level(logging.ERROR, logger="hookline.hooks")
    hook, delivery = Nameless("a"), delivery_of()
    async with stage_of(Given(hook)) as stage:
        stage.identify(delivery)
        del hook.name
        outcome = await attempt(stage, delivery)
    assert isinstance(outcome, Hold)
    assert outcome.delay_seconds >= PAUSE_SECONDS
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_what_was_raised_in_an_earlier_attempt_is_charged_once() -> None:
    """P6: an attempt that could not begin charges no hook with the failure of the one before."""
    flaky = Script("flaky", TimeoutError())
    async with stage_of(Given(flaky)) as stage:
        delivery = delivery_of()
        await attempt(stage, delivery)
        for _ in range(9):
            assert isinstance(stage.decide(delivery, RuntimeError("unforeseen")), Hold)
        assert await settle(stage, delivery) == Done()


@pytest.mark.parametrize("error", [HookErrorGroup("", [ValueError()]), RuntimeError()], ids=["group", "other"])
async def test_a_letter_always_names_a_failure(error: Exception) -> None:
    """P1, P7: when no hook has failed there is nothing to write; the event is held, for a person to look at."""
    async with stage_of(Given(Script("a"))) as stage:
        delivery = delivery_of()
        assert await attempt(stage, delivery) == Done()
        outcome = stage.decide(delivery, error)
    assert isinstance(outcome, Hold)
    assert outcome.delay_seconds >= PAUSE_SECONDS


async def test_a_hook_that_cancels_its_own_task_and_returns_is_done() -> None:
    """P7, case 9: what it did to its task is neither its siblings' matter nor the stage's."""
    ran: list[Event] = []

    async def cancel_itself(event: Event) -> None:
        ran.append(event)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async with stage_of(Given(Acting("cancels", cancel_itself), Script("other"))) as stage:
        assert await attempt(stage, delivery_of(event_of())) == Done()
    assert len(ran) == 1
