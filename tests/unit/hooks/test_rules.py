"""Hooks by type, source and condition: cheap without one, and one that raises harms its own hook only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import pytest

from hookline.consume import Done, GiveUp
from hookline.contract import DeadLetterClass, Event
from hookline.hooks import Condition, DuplicateHookError, MergedHooks, Rule, RuledHooks, hooks_of
from hookline.telemetry import Metrics
from tests.support.hooks import Script, attempt, delivery_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.hooks import Hook


def event(type: str = "batch.failed", source: str = "submitqueue", **payload: Any) -> Event:
    return Event.versioned(source=source, type=type, subject="batch-778", version=4, payload=payload)


def names(hooks: Sequence[Hook]) -> list[str]:
    return [hook.name for hook in hooks]


def rule(name: str, *, types: str = "*", sources: str = "*", when: str | None = None) -> Rule:
    return Rule(Script(name), [types], [sources], None if when is None else Condition(when))


def test_type_source_and_condition_must_all_agree() -> None:
    """A hook gets the events that it wants by all three, in the order of the rules."""
    hooks = RuledHooks(
        [
            rule("all"),
            rule("typed", types="batch.*"),
            rule("sourced", sources="submit*"),
            rule("asked", types="batch.*", sources="submitqueue", when="payload.count > 2"),
        ]
    )
    assert names(hooks.for_event(event(count=3))) == ["all", "typed", "sourced", "asked"]
    assert names(hooks.for_event(event(count=2))) == ["all", "typed", "sourced"]
    assert names(hooks.for_event(event("request.landed", count=3))) == ["all", "sourced"]
    assert names(hooks.for_event(event(source="builds", count=3))) == ["all", "typed"]
    assert names(hooks_of(hooks)) == ["all", "typed", "sourced", "asked"]


def test_a_source_is_a_pattern_as_a_type_is() -> None:
    """`*` crosses slashes and dots, nothing else is special, and several patterns are any of them."""
    hooks = RuledHooks([Rule(Script("a"), ["*"], ["/ci/*", "urn:a.b"])])
    found = {source: names(hooks.for_event(event(source=source))) for source in ("/ci/x/y", "urn:a.b", "urn:axb", "ci")}
    assert found == {"/ci/x/y": ["a"], "urn:a.b": ["a"], "urn:axb": [], "ci": []}


def test_equal_answers_are_the_very_same_tuple() -> None:
    """Whoever plans by the tuple plans once: for hooks without a condition, with one, and for none, whatever the source."""
    hooks = RuledHooks([rule("a"), rule("b", types="batch.*", when="payload.count > 2"), rule("c", sources="s-*")])
    plain = hooks.for_event(event("request.landed"))
    assert all(hooks.for_event(event("request.landed", source=f"x-{n}")) is plain for n in range(2_000))
    asked = hooks.for_event(event(count=3))
    assert hooks.for_event(event(count=4, source="other")) is asked
    assert hooks.for_event(event(count=1)) is plain


def test_two_hooks_of_one_name_are_refused() -> None:
    """P7: neither a dead letter nor a metric could tell them apart."""
    with pytest.raises(DuplicateHookError):
        RuledHooks([rule("a"), rule("a")])


@pytest.mark.parametrize("merged", [False, True], ids=["alone", "beside code"])
async def test_a_condition_that_raises_harms_its_own_hook_only(*, merged: bool) -> None:
    """P1, P7: it is that hook's failure, permanent and named, never "no hook"; the hooks beside it run."""
    asked, other = Script("asked"), Script("other")
    ruled = RuledHooks([Rule(asked, when=Condition("payload.count > 2")), Rule(other)])
    async with stage_of(MergedHooks(ruled) if merged else ruled) as stage:
        outcome = await attempt(stage, delivery_of(event()))
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert [(each.hook, each.exception) for each in outcome.failures] == [("asked", "hookline.hooks.ConditionError")]
    assert (len(asked.runs), len(other.runs)) == (0, 1)


async def test_an_event_that_no_condition_wants_is_done() -> None:
    """No hook has work, which is ordinary."""
    asked = Script("asked")
    async with stage_of(RuledHooks([Rule(asked, when=Condition("has(payload.count)"))])) as stage:
        assert await attempt(stage, delivery_of(event())) == Done()
        assert await attempt(stage, delivery_of(event(count=1))) == Done()
    assert len(asked.runs) == 1


class Opened(Script):
    """A hook that is entered before its first event."""

    entered = 0

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        return


async def test_a_hook_with_a_condition_is_the_hook_itself() -> None:
    """It is entered once and called with its own limits: a condition puts nothing between hook and stage."""
    hook = Opened("asked")
    hooks = RuledHooks([Rule(hook, when=Condition("payload.count > 2"))])
    assert list(hooks.for_event(event(count=3))) == [hook]
    async with stage_of(hooks) as stage:
        await eventually_async(lambda: not stage.waiting_hooks())
        assert await attempt(stage, delivery_of(event(count=3))) == Done()
    assert hook.entered == 1


def test_whether_a_hook_declines_can_be_told() -> None:
    """A hook that wants such events and says no to this one is told from one that is not there, or cannot say."""
    hooks = RuledHooks([rule("asked", types="batch.*", when="payload.count > 2"), rule("plain")])
    assert hooks.declines("asked", event(count=1))
    assert not hooks.declines("asked", event(count=3))
    assert not hooks.declines("asked", event())
    assert not hooks.declines("asked", event("request.landed", count=1))
    assert not hooks.declines("plain", event())
    assert not hooks.declines("gone", event())


@pytest.mark.parametrize("merged", [False, True], ids=["alone", "beside code"])
async def test_a_republished_event_that_a_mended_condition_does_not_want_is_done(*, merged: bool) -> None:
    """P14: a hook that a person asked for and that says no has no work; one that is gone is still a dead letter."""
    asked, metrics = Script("asked"), Metrics(domain="test")
    ruled = RuledHooks([Rule(asked, when=Condition("has(payload.count)"))])
    async with stage_of(MergedHooks(ruled) if merged else ruled, metrics=metrics) as stage:
        for names_of_hooks, outcome in ((["asked"], Done), (["gone"], GiveUp)):
            headers = (("hookline-redrives", b"1"), ("hookline-redrive-hooks", json.dumps(names_of_hooks).encode()))
            assert isinstance(await attempt(stage, delivery_of(event(), headers)), outcome)
    assert asked.runs == []
    assert metrics.value("skipped_total", hook="asked") == 1
