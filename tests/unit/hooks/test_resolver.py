"""A resolver that raises, or answers what is no hooks, is a permanent failure that is counted: never "no hooks"."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hookline.consume import Done, GiveUp, Raised, begin
from hookline.contract import DeadLetterClass
from tests.support.hooks import Script, attempt, delivery_of, stage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.contract import Event
    from hookline.hooks import Hook

ERRORS = [
    RuntimeError("no store"),
    ExceptionGroup("several", [ValueError(), OSError()]),
    StopIteration(),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    BaseExceptionGroup("several", [SystemExit(1)]),
]


class Resolving:
    """A resolver that raises what it is given, or else answers it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def for_event(self, _: Event) -> Any:
        """Answer or raise."""
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer


def torn() -> Iterator[Hook]:
    """Give one hook, and raise."""
    yield Script("a")
    raise OSError("lost on the way")


@pytest.mark.parametrize(
    "answer", [*ERRORS, None, 5, "hook", [object()], [Script], torn], ids=lambda answer: type(answer).__name__
)
async def test_a_resolver_that_cannot_tell_is_a_permanent_failure(answer: Any) -> None:
    """P1: whatever it raises, also what would end a task or the process, the event is a dead letter, and it is counted."""
    async with stage_of(Resolving(answer)) as stage:
        delivery = delivery_of()
        begun = begin(stage.identify, delivery)
        assert isinstance(begun, Raised)
        outcome = stage.decide(delivery, begun.error)
        counted = stage._metrics.value("resolver_errors_total")
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.PERMANENT, "resolver_failed")
    assert counted == 1


async def test_a_resolver_that_has_recovered_is_asked_anew() -> None:
    """Nothing is remembered of a failure: the next event finds its hooks."""
    hook, resolver = Script("a"), Resolving(RuntimeError("no store"))
    async with stage_of(resolver) as stage:
        assert isinstance(await attempt(stage, delivery_of()), GiveUp)
        resolver.answer = (hook,)
        assert await attempt(stage, delivery_of()) == Done()
    assert len(hook.runs) == 1
