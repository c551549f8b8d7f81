"""Hooks as the stage calls them, planned once for each answer of a resolver."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from hookline.hooks import BreakerPolicy, DuplicateHookError, GuardPolicy, Hook, Hooks
from hookline.hooks._admission import Admission
from hookline.hooks._wiring import Wiring
from hookline.telemetry import Metrics
from tests.support.hooks import Script, event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.contract import Event

MOST_REMEMBERED = 3_000


class Resolving:
    """A resolver that makes its answer anew each time."""

    def __init__(self, make: Callable[[], Sequence[Hook]]) -> None:
        self._make = make

    def for_event(self, _: Event) -> Sequence[Hook]:
        """Answer."""
        return self._make()


def wiring_of(resolver: Hooks | Resolving) -> Wiring:
    """Make the wiring of a resolver, without limits."""
    metrics = Metrics(domain="test")
    return Wiring(resolver, metrics, {}, Admission(BreakerPolicy(), GuardPolicy(), metrics))


def test_the_same_answer_is_planned_once() -> None:
    """An event of a type that was seen before costs no look at its hooks."""
    wiring = wiring_of(Hooks({"batch.*": [Script("a"), Script("b")], "*": [Script("c")]}))
    plan = wiring.of(event_of("batch.failed"))
    assert list(plan.hooks) == ["a", "b", "c"]
    assert wiring.of(event_of("batch.failed", subject="other")) is plan
    assert list(wiring.of(event_of("request.landed")).hooks) == ["c"]


@pytest.mark.parametrize("answer", [tuple, list])
def test_a_hook_is_wired_once_whatever_it_is_answered_in(answer: Callable[[Sequence[Hook]], Sequence[Hook]]) -> None:
    """P8: what is counted of a hook is counted in one place, also when its resolver answers anew for each event."""
    hook = Script("a")
    wiring = wiring_of(Resolving(lambda: answer([hook])))
    first, second = (wiring.of(event_of()).hooks["a"] for _ in range(2))
    assert first is second
    assert first.hook is hook


def test_a_list_may_change_between_two_events() -> None:
    """Only a tuple cannot change, so only the plan of a tuple is kept."""
    answer: list[Hook] = [Script("a")]
    wiring = wiring_of(Resolving(lambda: answer))
    assert list(wiring.of(event_of()).hooks) == ["a"]
    answer.append(Script("b"))
    assert list(wiring.of(event_of()).hooks) == ["a", "b"]


def test_hooks_that_are_made_anew_for_each_event_are_not_kept_for_ever() -> None:
    """A resolver may make hooks as it likes; memory stays bounded, and each event gets its own."""
    alive: list[weakref.ref[Script]] = []

    def make() -> tuple[Hook, ...]:
        hook = Script("a")
        alive.append(weakref.ref(hook))
        return (hook,)

    wiring = wiring_of(Resolving(make))
    for _ in range(2 * MOST_REMEMBERED):
        assert wiring.of(event_of()).hooks["a"].hook is alive[-1]()
    gc.collect()
    assert sum(ref() is not None for ref in alive) < MOST_REMEMBERED


def test_two_hooks_of_one_name_are_refused_each_time() -> None:
    """P7: neither a dead letter nor a metric could tell them apart; a plan of them is never made."""
    answer = (Script("a"), Script("a"))
    wiring = wiring_of(Resolving(lambda: answer))
    for _ in range(2):
        with pytest.raises(DuplicateHookError):
            wiring.of(event_of())
