"""A republished record: only the hooks that failed run, none is passed over, and what has completed stays completed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, GiveUp
from hookline.contract import DeadLetterClass
from hookline.hooks import Hooks
from tests.support.hooks import Script, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from hookline.contract import Headers


def redrive(*hooks: str, again: bool = False) -> Headers:
    """Make the headers that a republication adds; without hooks it names none, so that all run."""
    headers: Headers = (("hookline-redrives", b"1"), ("hookline-redrive-operation", b"op"))
    named = (("hookline-redrive-hooks", json.dumps(hooks).encode()),) if hooks else ()
    return (*headers, *named, *((("hookline-redrive-again", b"true"),) if again else ()))


@pytest.mark.parametrize("named", [("b",), ("b", "b")], ids=["once", "twice"])
async def test_only_the_named_hooks_run(named: tuple[str, ...]) -> None:
    """P14, case 13 (hooks-share-one-event): what had succeeded before is not run again; each hook runs once."""
    hooks = [Script("a"), Script("b"), Script("c")]
    async with stage_of(Hooks({"*": hooks})) as stage:
        assert await settle(stage, delivery_of(headers=redrive(*named))) == Done()
    assert [len(hook.runs) for hook in hooks] == [0, 1, 0]


async def test_a_republication_that_names_no_hook_runs_all() -> None:
    """P14: a letter that was malformed, and one republished with --all-hooks, is an event like any other."""
    hooks = [Script("a"), Script("b")]
    async with stage_of(Hooks({"*": hooks})) as stage:
        assert await settle(stage, delivery_of(headers=redrive())) == Done()
    assert [len(hook.runs) for hook in hooks] == [1, 1]


async def test_a_hook_that_is_gone_is_a_dead_letter_and_never_done() -> None:
    """P1, P14: the hook that should have run does not exist any more; somebody must hear of it. The others run."""
    other = Script("other")
    async with stage_of(Hooks({"*": [other]})) as stage:
        outcome = await settle(stage, delivery_of(headers=redrive("gone", "other")))
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.PERMANENT, "hook_gone")
    assert [failure.hook for failure in outcome.failures] == ["gone"]
    assert len(other.runs) == 1


async def test_a_hook_that_no_longer_wants_the_event_is_gone() -> None:
    """P14: what counts is whether the event resolves to it today."""
    async with stage_of(Hooks({"request.*": [Script("a")]})) as stage:
        outcome = await attempt(stage, delivery_of(headers=redrive("a")))
    assert isinstance(outcome, GiveUp)
    assert outcome.code == "hook_gone"


@pytest.mark.parametrize("again", [False, True])
async def test_only_again_passes_dedupe(again: bool) -> None:  # noqa: FBT001 - pytest's parameters are positional
    """P4: a republished event that has completed since is a duplicate, unless the operator said to run it again."""
    async with stage_of(Hooks({"*": [Script("a")]})) as stage:
        identity = stage.identify(delivery_of(headers=redrive("a", again=again)))
    assert identity == (None if again else event_of().identity)
