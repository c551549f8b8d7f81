"""Events of which other groups have settled a part: what is left runs, and neither hides nor repeats the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.consume import Delivery, Done, Duplicate, EngineSettings, GiveUp, RetryPolicy
from hookline.consume._dead_letters import dead_letter_of
from hookline.contract import DeadLetterClass, encode_event
from hookline.hooks import Place, join_into_shared, write_roster
from hookline.testing import HookStage
from tests.support.hooks import Script, event_of

if TYPE_CHECKING:
    from hookline.contract import Headers
    from hookline.kafka import Record

PATIENT = RetryPolicy(max_attempts=9, initial_seconds=5.0, max_seconds=5.0)
EVENT = event_of()


def stage_of(*hooks: Script) -> HookStage:
    return HookStage({"*": hooks}, retry=PATIENT, engine=EngineSettings(commit_seconds=1.0))


def letter_names(stage: HookStage) -> list[list[str]]:
    return [[failure.hook for failure in letter.failures] for letter in stage.dead_letters]


async def joined(stage: HookStage, *, ours: int, theirs: int) -> None:
    """Let the process go down, and the next one find what two groups that stood there have left together."""
    place = join_into_shared(
        Place.at(theirs), {"ours": Place.at(ours), "theirs": Place.at(theirs)}, write_roster(["ours", "theirs"])
    )
    stage._store.positions[0] = place.write()
    await stage.crash()


async def test_a_republication_for_one_hook_does_not_hide_what_another_still_has_to_do() -> None:
    """P1: the original is open for one hook, and a republication that names another is done: the first one runs all the same.

    So it is where hooks had groups of their own, and share one again.
    """
    ours, theirs = Script("ours"), Script("theirs", ValueError("no"))
    async with stage_of(theirs) as before:
        before.publish(EVENT)
        await before.settle()
        (letter,) = before.dead_letters
    async with stage_of(ours, theirs) as stage:
        stage._store.append(*encode_event(EVENT))
        stage._store.append(
            letter.key, letter.value, letter.republished(hooks=["theirs"], operation="test", again=False)
        )
        await joined(stage, ours=0, theirs=2)
        await stage.settle()
    assert (len(ours.runs), len(theirs.runs)) == (1, 1)


async def test_letters_of_several_hooks_are_republished_each_for_itself() -> None:
    """P1, P14: two letters of one event, from when the hooks had groups of their own: each hook runs, whichever goes first."""
    ours, theirs = Script("ours"), Script("theirs")
    async with stage_of(ours, theirs) as stage:
        for hook in ("ours", "theirs", "ours"):
            stage.publish_record(*republished(hook))
        await stage.settle()
        await stage.crash()
        stage.publish_record(*republished("theirs"))
        await stage.settle()
        outcomes = [each.outcome for each in stage.outcomes]
    assert (len(ours.runs), len(theirs.runs)) == (1, 1)
    assert [type(each) for each in outcomes] == [Done, Done, Duplicate, Duplicate]


async def test_an_event_that_one_hook_is_done_with_is_not_done_for_one_that_gave_it_up_elsewhere() -> None:
    """P1, P14: the other hook's group had written a dead letter before they were joined; its republication runs."""
    ours, theirs = Script("ours", TimeoutError()), Script("theirs")
    async with stage_of(ours, theirs) as stage:
        bury(stage, stage._store.append(*encode_event(EVENT)))
        await joined(stage, ours=0, theirs=1)
        stage.publish_record(*republished("theirs"))
        await stage.settle()
    assert (len(ours.runs), len(theirs.runs)) == (2, 1)


@pytest.mark.parametrize("is_given_up", [False, True])
async def test_what_was_never_given_up_completes_as_a_whole(*, is_given_up: bool) -> None:
    """P4: the last hook is done with an event that others had settled in their groups: its publisher's repeat runs nothing.

    With a dead letter of one of them it runs: that hook may never have been done with it.
    """
    ours, theirs = Script("ours", TimeoutError()), Script("theirs")
    async with stage_of(ours, theirs) as stage:
        record = stage._store.append(*encode_event(EVENT))
        if is_given_up:
            bury(stage, record)
        await joined(stage, ours=0, theirs=1)
        await stage.settle()
        stage.publish(EVENT)
        await stage.settle()
    assert (len(ours.runs), len(theirs.runs)) == ((3, 1) if is_given_up else (2, 0))


async def test_a_repeat_that_was_dropped_proves_nothing_of_its_own() -> None:
    """P1, P14: a publisher's repeat is dropped behind what one hook is done with; read back, it does not hide the other's letter."""
    ours, theirs = Script("ours"), Script("theirs")
    async with stage_of(ours, theirs) as stage:
        stage.publish_record(*republished("ours"))
        stage.publish(EVENT)
        await stage.settle()
        await stage.crash()
        stage.publish_record(*republished("theirs"))
        await stage.settle()
    assert (len(ours.runs), len(theirs.runs)) == (1, 1)


def bury(stage: HookStage, record: Record) -> None:
    """Write a dead letter of a record, as the other hook's group did."""
    letter = dead_letter_of(Delivery(record), GiveUp(DeadLetterClass.PERMANENT, "code", "message"), "test-hook.theirs")
    stage._store.bury(record.key, record.value, letter.record_headers())


def republished(hook: str) -> tuple[bytes | None, bytes | None, Headers]:
    """Make the record that a dead letter of one hook's own group comes back as."""
    key, value, headers = encode_event(EVENT)
    more = (("hookline-redrives", b"1"), ("hookline-redrive-hooks", f'["{hook}"]'.encode()))
    return key, value, (*headers, *more)
