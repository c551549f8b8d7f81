"""What a stage keeps of an event beyond its process."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline import Event
from hookline.consume import Delivery, Done, GiveUp, Hold, PartIdentity, Retry, RetryPolicy
from hookline.contract import DeadLetterClass, HookFailure, Redrive, encode_event
from hookline.errs import Verdict
from hookline.hooks import EarlierFailureError, Hooks
from hookline.hooks._memory import StageMemory, entry_of, hash_of, restore_runs, write_saved
from hookline.hooks._runs import Failed, HookRun
from hookline.hooks._work import Work
from hookline.kafka import Record
from tests.support.hooks import Script, attempt, delivery_of, event_of, settle, stage_of

if TYPE_CHECKING:
    from hookline.consume import Fingerprint, Identity, Outcome
    from hookline.hooks import Hook

EVENT = event_of()
NAMES = ("ci", "chat", "audit", "warehouse")
PATIENT = RetryPolicy(max_attempts=3, initial_seconds=1_000, max_seconds=1_000)
MINUTE_SECONDS = 60
DUE_SECONDS = 5
SLACK_SECONDS = 5


def run_of(name: str, **state: Any) -> HookRun:
    """Make a run in some state."""
    run = HookRun(name, None)
    for field, value in state.items():
        setattr(run, field, value)
    return run


def failed(name: str, letter_class: DeadLetterClass, verdict: Verdict, tries: int) -> Failed:
    """Make what a hook that failed for good leaves."""
    failure = HookFailure(
        hook=name, verdict=str(verdict), exception="ValueError", message="no", attempts=tries, elapsed_seconds=0.0,
        code="hook_exception",
    )  # fmt: skip
    return Failed(letter_class, failure, "no", ValueError("no"))


@st.composite
def runs(draw: st.DrawFn) -> list[HookRun]:
    """Draw the runs of an event, in any states."""
    return [draw(states(name)) for name in draw(st.permutations(NAMES))]


@st.composite
def states(draw: st.DrawFn, name: str) -> HookRun:
    """Draw a run that is fresh, done, pending after tries, or failed for good."""
    kind = draw(st.sampled_from(["fresh", "done", "pending", "failed"]))
    if kind == "fresh":
        return run_of(name)
    tries, now = draw(st.integers(1, 100_000)), time.monotonic()
    run = run_of(
        name,
        tries=tries,
        charged=draw(st.integers(0, tries)),
        first_failed_at=draw(st.none() | st.floats(0, 10**6).map(lambda ago: now - ago)),
    )
    if kind == "done":
        run.done = True
    elif kind == "pending":
        run.due_at = draw(st.just(0.0) | st.floats(0, 10**5).map(lambda wait: now + wait))
    else:
        letter_class = draw(st.sampled_from([DeadLetterClass.PERMANENT, DeadLetterClass.EXHAUSTED]))
        run.failed = failed(name, letter_class, draw(st.sampled_from(Verdict)), tries)
    return run


def saved_of(of: list[HookRun]) -> bytes:
    """Save an event with these runs."""
    work = Work(EVENT, None, runs=of)
    delivery = delivery_of(EVENT)
    delivery.progress = work
    return StageMemory().save(delivery)


def restored(saved: bytes, names: tuple[str, ...] = NAMES) -> dict[str, HookRun]:
    """Give what was saved to fresh runs."""
    work = Work(EVENT, None, saved, [HookRun(name, None) for name in names])
    restore_runs(work)
    return {run.name: run for run in work.runs}


@given(runs())
def test_what_is_saved_is_restored(before: list[HookRun]) -> None:
    """P6: of each hook: whether it is done or has failed for good, and how; its tries; and its times, coarsely."""
    after = restored(saved_of(before))
    now = time.monotonic()
    for run in before:
        again = after[run.name]
        assert (again.done, again.tries, again.charged) == (run.done, run.tries, run.charged)
        assert (again.failed is None) is (run.failed is None)
        if run.failed and again.failed:
            assert again.failed.letter_class is run.failed.letter_class
            assert again.failed.failure.verdict == run.failed.failure.verdict
            assert again.failed.failure.attempts == run.tries
            assert isinstance(again.failed.error, EarlierFailureError)
        if not again.is_fresh:
            assert (again.first_failed_at is None) is (run.first_failed_at is None)
        if run.first_failed_at is not None and again.first_failed_at is not None:
            assert -MINUTE_SECONDS - SLACK_SECONDS <= again.first_failed_at - run.first_failed_at <= SLACK_SECONDS
        if run.pending and run.due_at > now + DUE_SECONDS:
            assert -DUE_SECONDS - SLACK_SECONDS <= again.due_at - run.due_at <= SLACK_SECONDS


@given(runs(), st.integers(0, 200))
def test_what_is_cut_short_is_restored_as_far_as_it_goes(before: list[HookRun], cut: int) -> None:
    """P6: a hook that cannot be read begins anew; those before it are as they were."""
    saved = saved_of(before)
    after = restored(saved[:cut])
    told = [run for run in before if not run.is_fresh]
    again = [not after[run.name].is_fresh for run in told]
    assert again == sorted(again, reverse=True)
    assert all(after[run.name].tries == run.tries for run in told if not after[run.name].is_fresh)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda rest: b"\x01" + rest))
def test_bytes_of_anybody_mean_that_the_event_begins_anew(saved: bytes) -> None:
    """P6: what another release or program wrote is ignored, without an error."""
    assert all(run.is_fresh for run in restored(saved).values())


@given(runs(), st.integers(0, 255).filter(lambda version: version != 1))
def test_another_version_is_not_guessed_at(before: list[HookRun], version: int) -> None:
    """P6: a layout that this release does not know says nothing to it."""
    saved = bytes([version]) + saved_of(before)[1:]
    assert all(run.is_fresh for run in restored(saved).values())


def test_nothing_is_kept_of_an_event_that_nothing_has_come_of() -> None:
    """P6: an event at its first attempt costs no byte of a commit."""
    assert saved_of([run_of(name) for name in NAMES]) == b""
    assert StageMemory().save(delivery_of(EVENT)) == b""


def test_what_was_restored_is_kept_until_the_event_is_decoded() -> None:
    """P6: another restart before the event runs loses nothing."""
    memory, delivery = StageMemory(), delivery_of(EVENT)
    memory.restore(delivery, b"as it was")
    assert memory.save(delivery) == b"as it was"


def test_events_of_one_outage_say_the_same() -> None:
    """P6: equal states are equal bytes, so that a whole outage is a few bytes of a commit."""
    now = time.monotonic()
    state = {"tries": 3, "charged": 0, "first_failed_at": now - 100, "due_at": now + 100}
    assert saved_of([run_of("ci", **state)]) == saved_of([run_of("ci", **state)])


async def moved(saved: bytes, *hooks: Hook) -> Outcome:
    """Settle the event in another process, with other hook objects and what was saved before."""
    async with stage_of(Hooks({"*": hooks})) as stage:
        delivery = delivery_of()
        stage.memory.restore(delivery, saved)
        return await settle(stage, delivery)


def test_time_that_an_event_had_to_wait_is_not_charged_over_a_restart() -> None:
    """P6, P9: kept is when it failed first as if it had not had to wait since, and not when it asks again by itself."""
    now = time.monotonic()
    waiting = run_of("ci", tries=1, first_failed_at=now - 7_200, waits_since=now - 7_080, due_at=now + 50)
    run = restored(saved_of([waiting]))["ci"]
    assert run.first_failed_at is not None
    assert 60 <= now - run.first_failed_at <= 60 + 3 * MINUTE_SECONDS
    assert run.due_at == 0.0


async def test_a_hook_that_is_done_is_not_run_again() -> None:
    """P6: after a restart only those run that have work, and the event is done when they are."""
    flaky, done = Script("flaky", TimeoutError()), Script("done")
    async with stage_of(Hooks({"*": [done, flaky]})) as stage:
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        done_again, flaky_again = Script("done"), Script("flaky")
        outcome = await moved(stage.memory.save(delivery), done_again, flaky_again)
    assert outcome == Done()
    assert (len(done_again.runs), len(flaky_again.runs)) == (0, 1)


async def test_a_hook_that_failed_for_good_is_named_by_the_letter_of_another_process() -> None:
    """P6, P7: it is not run again; the letter names it with its attempts, though how it failed is known no more."""
    async with stage_of(Hooks({"*": [Script("wrong", ValueError("no")), Script("flaky", TimeoutError())]})) as stage:
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        wrong_again, flaky_again = Script("wrong"), Script("flaky", *[TimeoutError()] * 9)
        outcome = await moved(stage.memory.save(delivery), wrong_again, flaky_again)
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert {each.hook: (each.attempts, each.code) for each in outcome.failures}["wrong"] == (1, "failed_earlier")
    assert {each.hook: each.attempts for each in outcome.failures} == {"wrong": 1, "flaky": 3}
    assert (len(wrong_again.runs), len(flaky_again.runs)) == (0, 2)


async def test_an_event_all_of_whose_hooks_have_ended_runs_none() -> None:
    """P6: one failed, one done, and the process went down before the letter was written: it is written now."""
    runs_of_both = [run_of("done", done=True), run_of("wrong", tries=1)]
    runs_of_both[1].failed = failed("wrong", DeadLetterClass.EXHAUSTED, Verdict.UNKNOWN, 1)
    done, wrong = Script("done"), Script("wrong")
    async with stage_of(Hooks({"*": [done, wrong]})) as stage:
        delivery = delivery_of()
        stage.memory.restore(delivery, saved_of(runs_of_both))
        outcome = await settle(stage, delivery)
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert [each.hook for each in outcome.failures] == ["wrong"]
    assert (done.runs, wrong.runs) == ([], [])


async def test_an_event_whose_hooks_are_all_done_is_done() -> None:
    """P6: the process went down between the last hook and the commit; nothing is run twice."""
    hook = Script("ci")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        delivery = delivery_of()
        stage.memory.restore(delivery, saved_of([run_of("ci", done=True)]))
        assert await attempt(stage, delivery) == Done()
    assert hook.runs == []


async def test_tries_go_on_where_they_were() -> None:
    """P6: no hook gets more than its budget, however often its event moves."""
    total = 0
    saved = b""
    for _ in range(2):
        hook = Script("ci", *[TimeoutError()] * 9)
        async with stage_of(Hooks({"*": [hook]})) as stage:
            delivery = delivery_of()
            stage.memory.restore(delivery, saved)
            assert isinstance(await attempt(stage, delivery), Retry)
            saved = stage.memory.save(delivery)
        total += len(hook.runs)
    outcome = await moved(saved, Script("ci", *[TimeoutError()] * 9))
    assert total == 2
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert outcome.failures[0].attempts == 3


async def test_hooks_may_have_changed_meanwhile() -> None:
    """P6: one that is gone is not missed, one that is new runs, and the order means nothing."""
    async with stage_of(
        Hooks({"*": [Script("gone", ValueError("no")), Script("done"), Script("flaky", TimeoutError())]})
    ) as stage:
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        new, flaky, done = Script("new"), Script("flaky"), Script("done")
        outcome = await moved(stage.memory.save(delivery), new, flaky, done)
    assert outcome == Done()
    assert (len(new.runs), len(flaky.runs), len(done.runs)) == (1, 1, 0)


async def test_a_wait_goes_on_where_it_was() -> None:
    """P8, P9: a restart in the middle of a long backoff does not run the hook at once; that costs no attempt."""
    async with stage_of(Hooks({"*": [Script("ci", TimeoutError())]}), retry=PATIENT) as stage:
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        saved = stage.memory.save(delivery)
    hook = Script("ci")
    async with stage_of(Hooks({"*": [hook]}), retry=PATIENT) as stage:
        again = delivery_of()
        stage.memory.restore(again, saved)
        outcome = await attempt(stage, again)
    assert isinstance(outcome, Hold)
    assert outcome.delay_seconds > 900
    assert hook.runs == []


def said(event: Event) -> Delivery:
    """Make a delivery of an event that was identified."""
    delivery = delivery_of(event)
    delivery.progress = Work(event, None)
    return delivery


def saying(payload: dict[str, Any] | None = None, *, type: str = "t", version: int = 1, at_ms: int = 1_000) -> Event:
    """Make an event that says something."""
    return Event.versioned(
        source="s", type=type, subject="u", version=version, payload=payload or {}, timestamp_ms=at_ms
    )


SMALL, LARGE = {"b": [1, {"d": 1, "c": None}], "a": "x"}, {"b": {"d": 1, "c": 2}, "a": "x" * 4_000}


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["small", "large"])
def test_the_same_event_at_another_time_says_the_same(payload: dict[str, Any]) -> None:
    """P4: a publisher that crashed says it again; that it does so later is no other event."""
    memory = StageMemory()
    earlier = memory.fingerprint(said(saying(payload)))
    assert memory.says_the_same(said(saying(payload)), earlier)
    assert memory.says_the_same(said(saying(payload, at_ms=2_000_000)), earlier)


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["small", "large"])
def test_the_order_of_a_map_says_nothing(payload: dict[str, Any]) -> None:
    """P4: protobuf keeps no order of a map, so a repeat may have another."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(each) for each in value] if isinstance(value, list) else value

    memory = StageMemory()
    earlier = memory.fingerprint(said(saying(payload)))
    assert memory.says_the_same(said(saying(turned(payload), at_ms=5_000)), earlier)


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("other", ["payload", "nested", "type", "version", "size"])
def test_an_event_that_says_something_else_is_told_apart(payload: dict[str, Any], other: str) -> None:
    """P4: under one identity another type, version or payload is somebody's mistake, and is seen."""
    differing = {
        "payload": saying({**payload, "a": payload["a"][:-1] + "y"}),
        "nested": saying({**payload, "b": {"d": 2, "c": 2}}),
        "type": saying(payload, type="u"),
        "version": saying(payload, version=2),
        "size": saying(SMALL if payload is LARGE else LARGE),
    }[other]
    memory = StageMemory()
    assert not memory.says_the_same(said(differing), memory.fingerprint(said(saying(payload))))


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["small", "large"])
def test_what_is_read_back_is_what_was_kept(payload: dict[str, Any]) -> None:
    """P4: a window that is rebuilt from the topic compares as the one before did."""
    memory, event = StageMemory(), saying(payload)
    delivery = said(event)
    assert memory.recall(delivery.record) == (event.identity, memory.fingerprint(delivery))


def test_nothing_is_recalled_of_a_malformed_record() -> None:
    """P12: what is no event has no identity that could have completed."""
    assert StageMemory().recall(Record("t", 0, 0, 0, b"k", b"no event")) is None


def test_nothing_is_recalled_of_a_record_whose_headers_could_not_be_read() -> None:
    """P12: it was buried as malformed, also where its value alone would be an event, so no hook has run it."""
    record = said(saying(SMALL)).record
    assert StageMemory().recall(replace(record, unreadable_headers=True)) is None


def test_the_fingerprint_of_a_large_event_is_small() -> None:
    """P4: a window of thousands of events takes a bounded amount of memory."""
    assert len(encode_event(saying(LARGE)).value or b"") > 4_000
    assert len(StageMemory().fingerprint(said(saying(LARGE)))) < 100


def redriven(*hooks: str) -> Redrive:
    """Make a republication that names hooks."""
    return Redrive(redrives=1, hooks=hooks or None, operation=None, again=False, origin=None)


def record_of(redrive: Redrive | None) -> Record:
    """Make the record of the event, republished or not."""
    record = encode_event(EVENT)
    more = (
        ()
        if redrive is None
        else (("hookline-redrives", b"1"), ("hookline-redrive-hooks", json.dumps(redrive.hooks).encode()))
    )
    return Record("t", 0, 0, 0, record.key, record.value, (*record.headers, *more))


def test_a_renamed_hook_goes_on_under_its_new_name() -> None:
    """P6: what was saved under the former name is the hook's, also in a republication; the new name goes before."""
    memory = StageMemory(renamed={"ci": "build"})
    saved = saved_of([run_of("ci", tries=2), run_of("chat", done=True)])
    work = Work(EVENT, None, saved, [HookRun("build", None), HookRun("chat", None)])
    assert memory.resume(work) == 0
    assert [(run.name, run.tries, run.done) for run in work.runs] == [("build", 2, False), ("chat", 0, True)]
    assert memory.of_today(redriven("ci", "chat")) == redriven("build", "chat")
    assert memory.of_today(redriven()) == redriven()


def test_hooks_that_are_gone_are_told() -> None:
    """A hook is gone when work was left for it and nobody has its name: not one that was done, or that others run."""
    saved = saved_of(
        [run_of("gone", tries=1), run_of("over", done=True), run_of("elsewhere", tries=1), run_of("ci", tries=1)]
    )
    work = Work(EVENT, None, saved, [HookRun("ci", None)])
    assert StageMemory(known=["ci", "elsewhere"]).resume(work) == 1


def test_a_republication_completes_the_hooks_that_it_names() -> None:
    """P1, P4: of one that names only hooks of other groups nothing is remembered here, or the hook's own would not run."""
    memory = StageMemory(serves=frozenset({"build", "chat"}).__contains__, renamed={"ci": "build"})
    recalled = {names: memory.recall(record_of(redriven(*names))) for names in (("audit",), ("ci",), ("audit", "chat"))}
    assert recalled["audit",] is None
    assert _parts_of(recalled["ci",]) == (frozenset({"build"}), 0)
    assert _parts_of(recalled["audit", "chat"]) == (frozenset({"chat"}), 0)
    assert _parts_of(StageMemory().recall(record_of(redriven("chat")))) == (frozenset({"chat"}), 0)
    whole = memory.recall(record_of(None))
    assert whole is not None
    assert type(whole[0]) is tuple


def _parts_of(recalled: tuple[Identity, Fingerprint] | None) -> tuple[frozenset[str], int | None]:
    assert recalled is not None
    assert recalled[0] == EVENT.identity
    assert isinstance(recalled[0], PartIdentity)
    return recalled[0].parts, recalled[0].since


def test_what_another_group_has_settled_is_told_apart_from_what_was_done_here() -> None:
    """P4: it may have a dead letter, so the event does not complete for that hook here; a restart later too."""
    saved = write_saved([entry_of("chat", done=True), (hash_of("audit"), 1, 0, 1, 1, 0, 0)])
    for _ in range(2):
        runs = [HookRun(name, None) for name in ("ci", "chat", "audit")]
        work = Work(EVENT, None, saved, runs)
        restore_runs(work)
        assert [(run.done, run.is_settled_elsewhere) for run in runs] == [(False, False), (True, True), (True, False)]
        saved = saved_of(runs)


def test_whoever_is_not_named_was_settled_elsewhere() -> None:
    """P4: "all done but these" says nothing of how the others ended."""
    saved = write_saved([entry_of("", done=True), entry_of("ci", done=False)])
    runs = [HookRun(name, None) for name in ("ci", "chat")]
    restore_runs(Work(EVENT, None, saved, runs))
    assert [(run.done, run.is_settled_elsewhere) for run in runs] == [(False, False), (True, True)]
