"""A stage that runs some of a domain's hooks, beside others that run the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookline.consume import Delivery, Done, GiveUp
from hookline.contract import encode_event
from hookline.hooks import Hooks, ServedHooks
from hookline.hooks._memory import entry_of, hash_of, write_saved
from hookline.kafka import Record
from hookline.telemetry import Metrics
from tests.support.hooks import Script, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline import Event
    from hookline.consume import Outcome
    from hookline.hooks import Stage

CI = frozenset({"ci"}).__contains__


def redriven(*hooks: str) -> Delivery:
    """Make the delivery of an event that was republished for these hooks."""
    record = encode_event(event_of())
    headers = (("hookline-redrives", b"1"), ("hookline-redrive-hooks", json.dumps(hooks).encode()))
    return Delivery(Record("t", 0, 0, 0, record.key, record.value, (*record.headers, *headers)))


async def outcome_of(stage: Stage, delivery: Delivery) -> tuple[Outcome, bool]:
    """Settle a delivery, and tell whether it marks its identity as completed."""
    async with stage:
        identity = stage.identify(delivery)
        return await settle(stage, delivery), identity is not None


def test_the_hooks_of_others_are_left_out() -> None:
    """What is served is listed and resolved; the same hooks are the same tuple again, so that it is wired once."""
    ci, chat = Script("ci"), Script("chat")
    served = ServedHooks(Hooks({"*": [ci, chat]}), CI)
    assert served.hooks == (ci,)
    assert served.for_event(event_of()) == (ci,)
    assert served.for_event(event_of()) is served.for_event(event_of(subject="other"))


def test_a_resolver_that_makes_lists_is_asked_each_time() -> None:
    """Nothing is remembered of what may be another list behind the same name."""

    class Moody:
        def for_event(self, event: Event) -> Sequence[Script]:
            return [Script("ci")] if event.subject == "a" else [Script("chat")]

    served = ServedHooks(Moody(), CI)
    assert [len(served.for_event(event_of(subject=subject))) for subject in ("a", "b", "a")] == [1, 0, 1]


async def test_a_republication_for_others_is_done_and_marks_nothing() -> None:
    """P4, P14: no run, no letter, and no completed identity: this stage's own letter may be sent back next."""
    ci = Script("ci")
    stage = stage_of(ServedHooks(Hooks({"*": [ci, Script("chat")]}), CI), serves=CI, buries_malformed=False)
    assert await outcome_of(stage, redriven("chat")) == (Done(), False)
    assert ci.runs == []


async def test_a_republication_for_one_of_ours_runs_that_one() -> None:
    """P14: under its former name too."""
    ci = Script("ci")
    stage = stage_of(ServedHooks(Hooks({"*": [ci]}), CI), serves=CI, renamed={"build": "ci"})
    assert await outcome_of(stage, redriven("chat", "build")) == (Done(), True)
    assert len(ci.runs) == 1


async def test_a_hook_that_is_gone_is_told_by_the_shared_stage_alone() -> None:
    """P14: whoever answers for names that nobody has writes the letter; the stage of a hook leaves it."""
    shared = stage_of(Hooks({"*": [Script("chat")]}), serves=lambda name: name != "ci")
    outcome, _ = await outcome_of(shared, redriven("gone"))
    assert isinstance(outcome, GiveUp)
    assert outcome.code == "hook_gone"
    own = stage_of(ServedHooks(Hooks({"*": [Script("ci")]}), CI), serves=CI)
    assert await outcome_of(own, redriven("gone")) == (Done(), False)


async def test_a_malformed_record_that_was_buried_is_not_buried_again() -> None:
    """P12: when hooks share a group again, what that has settled is read once more, and is done."""
    stage = stage_of(Hooks({"*": [Script("ci")]}))
    delivery = Delivery(Record("t", 0, 0, 0, b"k", b"no event"))
    stage.memory.restore(delivery, write_saved([entry_of("", done=True), entry_of("ci", done=False)]))
    assert await outcome_of(stage, delivery) == (Done(), False)


async def test_a_hook_that_is_gone_while_an_event_was_in_retry_is_counted() -> None:
    """The event is done without it; a hook that another stage runs is not gone."""
    metrics = Metrics(domain="test")
    stage = stage_of(Hooks({"*": [Script("ci")]}), known=["ci", "elsewhere"], metrics=metrics)
    delivery = delivery_of()
    retried = [(hash_of(name), 0, 0, 2, 2, 0, 0) for name in ("gone", "elsewhere", "ci")]
    stage.memory.restore(delivery, write_saved(retried))
    assert await outcome_of(stage, delivery) == (Done(), True)
    assert metrics.value("hooks_gone_total") == 1
