"""The stage by itself: every hook runs, each is decided for alone, and one dead letter names those that failed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, GiveUp, Hold, Retry, RetryPolicy
from hookline.contract import DeadLetterClass, Event, encode_event
from hookline.hooks import Hook, Hooks
from tests.support.hooks import Acting, Script, altered, attempt, delivery_of, event_of, settle, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GOOD = encode_event(event_of()).value or b""


async def test_hooks_of_an_event_run_together() -> None:
    """P7: two hooks of one event are in flight at once; here each ends only when the other has begun."""
    begun = {"a": asyncio.Event(), "b": asyncio.Event()}

    def waiting_for(other: str, own: str) -> Acting:
        async def act(_: Event) -> None:
            begun[own].set()
            await begun[other].wait()

        return Acting(own, act)

    async with stage_of(Hooks({"*": [waiting_for("b", "a"), waiting_for("a", "b")]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()


async def test_every_hook_runs_and_the_dead_letter_names_those_that_failed() -> None:
    """P7: one that fails keeps none of the others from running; the letter names exactly the failed ones."""
    hooks = [Script("a", ValueError("bad")), Script("b"), Script("c", KeyError("worse")), Script("d")]
    async with stage_of(Hooks({"*": hooks})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert {failure.hook for failure in outcome.failures} == {"a", "c"}
    assert [len(hook.runs) for hook in hooks] == [1, 1, 1, 1]


async def test_a_retry_runs_the_pending_hooks_only() -> None:
    """P7, case 13 (hooks-share-one-event): what succeeded is not run again while a sibling is tried again."""
    done, flaky = Script("done"), Script("flaky", TimeoutError(), TimeoutError())
    async with stage_of(Hooks({"*": [done, flaky]})) as stage:
        assert await settle(stage, delivery_of()) == Done()
    assert (len(done.runs), len(flaky.runs)) == (1, 3)


async def test_one_letter_for_hooks_that_fail_in_different_ways() -> None:
    """P7: one fails for good at once, one after its attempts; neither runs again, and one letter tells of both."""
    wrong, spent, fine = Script("wrong", ValueError("no")), Script("spent", *[TimeoutError()] * 9), Script("fine")
    async with stage_of(Hooks({"*": [wrong, spent, fine]})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert {failure.hook: failure.attempts for failure in outcome.failures} == {"wrong": 1, "spent": 3}
    assert [len(hook.runs) for hook in (wrong, spent, fine)] == [1, 3, 1]


async def test_a_sibling_that_recovers_does_not_hide_a_failure() -> None:
    """P7: one failed for good, the other succeeds at the second time; the letter names the first alone."""
    wrong, flaky = Script("wrong", ValueError("no")), Script("flaky", TimeoutError())
    async with stage_of(Hooks({"*": [wrong, flaky]})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert [failure.hook for failure in outcome.failures] == ["wrong"]


async def test_attempts_that_ran_out_are_exhausted() -> None:
    """A retryable failure is tried as often as the policy says, and is told apart from one that is no use to repeat."""
    hook = Script("slow", *[TimeoutError()] * 9)
    async with stage_of(Hooks({"*": [hook]}), retry=RetryPolicy(max_attempts=2, initial_seconds=0.001)) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert len(hook.runs) == 2


async def test_an_outage_is_bounded_by_time_and_not_by_attempts() -> None:
    """P9: a dependency that is away costs no attempt; its event is still tried after more failures than are allowed."""
    hook = Script("ci", *[ConnectionRefusedError()] * 9)
    async with stage_of(Hooks({"*": [hook]})) as stage:
        assert await settle(stage, delivery_of()) == Done()
    assert len(hook.runs) == 10


@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param(None, "null_value", id="null"),
        pytest.param(b"", "empty_value", id="empty"),
        pytest.param(b"\x00", "decode_error", id="no protobuf"),
        pytest.param(b"xxxx", "invalid_event", id="parses to a blank event"),
        pytest.param(GOOD[:10], None, id="cut at a field"),
        pytest.param(b"\x00\x00\x00\x00\x07" + GOOD, "decode_error", id="registry framing"),
    ],
)
async def test_malformed_records_reach_neither_resolver_nor_hook(value: bytes | None, code: str | None) -> None:
    """P12, cases 3 (bytes-that-parse) and 12 (tombstone-everywhere): given up at once, under a code of their own."""
    hook = Script("a")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        outcome = await attempt(stage, altered(delivery_of(), value=value, headers=()))
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.MALFORMED
    assert code in {None, outcome.code}
    assert outcome.failures == ()
    assert hook.runs == []


async def test_unreadable_headers_are_malformed() -> None:
    """P12: a record whose headers could not be read might be anything; it is not guessed at."""
    hook = Script("a")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        outcome = await attempt(stage, altered(delivery_of(), headers=(), unreadable_headers=True))
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.MALFORMED, "unreadable_headers")
    assert hook.runs == []


@pytest.mark.parametrize("key", [None, b"", b"\xff\xfe"], ids=["null", "empty", "no text"])
async def test_any_key_is_good_enough(key: bytes | None) -> None:
    """Case 12 (tombstone-everywhere): an event is known by its value; its key says only where it stands in line."""
    hook = Script("a")
    async with stage_of(Hooks({"*": [hook]})) as stage:
        assert await attempt(stage, altered(delivery_of(), key=key)) == Done()
    assert len(hook.runs) == 1


class Resolving:
    """A resolver that does what a function says."""

    def __init__(self, resolve: Callable[[Event], Sequence[Hook]]) -> None:
        self.for_event = resolve


def raising(error: BaseException) -> Resolving:
    """Make a resolver that raises."""

    def resolve(_: Event) -> Sequence[Hook]:
        raise error

    return Resolving(resolve)


@pytest.mark.parametrize(
    "resolver",
    [
        raising(KeyError("x")),
        raising(TimeoutError()),
        raising(SystemExit(0)),
        Resolving(lambda _: None),  # type: ignore[arg-type, return-value] # what somebody forgets to return
        Resolving(lambda _: [object()]),  # type: ignore[list-item] # no hook at all
    ],
    ids=["a defect", "retryable elsewhere", "SystemExit", "None", "no hook"],
)
async def test_a_resolver_that_fails_never_means_no_hooks(resolver: Resolving) -> None:
    """P1, case 14 (baseexception-from-hook): an event whose hooks cannot be told is a permanent dead letter."""
    async with stage_of(resolver) as stage:
        outcome = await attempt(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.PERMANENT, "resolver_failed")


async def test_what_was_saved_outlives_a_resolver_that_fails() -> None:
    """P6: while its dead letter cannot be written a process may end, and the next resolves: who was done stays done."""
    async with stage_of(Hooks({"*": [Script("a"), Script("b", *[TimeoutError()] * 9)]})) as stage:
        before = delivery_of()
        await attempt(stage, before)
        saved = stage.memory.save(before)
    async with stage_of(Resolving(lambda _: 1 / 0)) as stage:  # type: ignore[arg-type, return-value] # raises before
        again = delivery_of()
        stage.memory.restore(again, saved)
        assert isinstance(await attempt(stage, again), GiveUp)
        assert saved
        assert stage.memory.save(again) == saved


async def test_an_event_of_no_hook_is_done() -> None:
    """That nobody wants an event is ordinary."""
    async with stage_of(Hooks({"request.*": [Script("a")]})) as stage:
        delivery = delivery_of()
        assert await attempt(stage, delivery) == Done()
        assert stage.identify(delivery) == event_of().identity


async def test_a_resolver_is_asked_once_for_a_record() -> None:
    """What a record's hooks are is told at its first attempt; a retry goes on with them."""
    asked: list[Event] = []
    flaky = Script("flaky", TimeoutError())

    def resolve(event: Event) -> Sequence[Hook]:
        asked.append(event)
        return [flaky]

    async with stage_of(Resolving(resolve)) as stage:
        assert await settle(stage, delivery_of()) == Done()
    assert len(asked) == 1


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), BaseException("bare"), asyncio.CancelledError("self-made")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("siblings", [0, 1], ids=["alone", "beside another"])
async def test_a_hook_cannot_stop_the_service(error: BaseException, siblings: int) -> None:
    """Cases 9 (tenacity-swallows-cancel) and 14 (baseexception-from-hook): not retried, attributed; others go on."""
    bad, others = Script("bad", error), [Script(f"other-{n}") for n in range(siblings)]
    async with stage_of(Hooks({"*": [bad, *others]})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.PERMANENT
    assert [failure.hook for failure in outcome.failures] == ["bad"]
    assert [len(hook.runs) for hook in (bad, *others)] == [1] * (1 + siblings)


async def test_hooks_cannot_change_what_others_see() -> None:
    """Case 13 (hooks-share-one-event): the payload refuses to be changed, and the sibling sees all of it."""
    seen: list[object] = []
    tried = asyncio.Event()

    async def change(event: Event) -> None:
        try:
            event.payload.pop("batch_id")  # type: ignore[attr-defined] # that it is not there is the point
        finally:
            tried.set()

    async def look(event: Event) -> None:
        await tried.wait()
        seen.append(event.payload["batch_id"])

    async with stage_of(Hooks({"*": [Acting("changes", change), Acting("looks", look)]})) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert [failure.hook for failure in outcome.failures] == ["changes"]
    assert seen == ["batch-778"]


async def test_a_hook_that_takes_too_long_is_a_failed_attempt() -> None:
    """P10, case 9 (tenacity-swallows-cancel): it is cancelled, counted against its attempts, and its sibling is done."""
    runs: list[Event] = []

    async def hang(event: Event) -> None:
        runs.append(event)
        await asyncio.Event().wait()

    quick = Script("quick")
    hooks = Hooks({"*": [Acting("hangs", hang), quick]})
    async with stage_of(hooks, timeout_seconds={"hangs": 0.01}) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert [failure.hook for failure in outcome.failures] == ["hangs"]
    assert (len(runs), len(quick.runs)) == (3, 1)


class Crowd:
    """A hook that notes how many of its runs go on at once, and holds them until it is told."""

    name = "crowd"

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.open = asyncio.Event()

    async def handle(self, _: Event) -> None:
        """Stay until the door is open."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1


async def test_a_hook_handles_no_more_events_at_once_than_it_may() -> None:
    """P8: beyond its limit a hook's event is held at no cost, and the event's other hooks go on."""
    crowd, other = Crowd(), Script("other")
    async with stage_of(Hooks({"*": [crowd, other]}), concurrency={"crowd": 2}) as stage:
        first = [asyncio.create_task(attempt(stage, delivery_of())) for _ in range(2)]
        await eventually_async(lambda: crowd.inside == 2, what="both are in")
        third = delivery_of()
        assert isinstance(await attempt(stage, third), Hold)
        assert len(other.runs) == 3
        crowd.open.set()
        assert await asyncio.gather(*first) == [Done(), Done()]
        assert await attempt(stage, third) == Done()
    assert crowd.most == 2
    assert len(other.runs) == 3


async def test_a_run_that_was_cut_off_frees_its_place() -> None:
    """P10: a cancelled attempt holds nothing of its hook's limit any more."""
    crowd = Crowd()
    async with stage_of(Hooks({"*": [crowd]}), concurrency={"crowd": 1}) as stage:
        cut = asyncio.create_task(attempt(stage, delivery_of()))
        await eventually_async(lambda: crowd.inside == 1, what="it is in")
        cut.cancel()
        await asyncio.wait([cut])
        crowd.open.set()
        assert await attempt(stage, delivery_of()) == Done()


async def test_a_failed_attempt_beside_a_held_hook_is_charged_to_the_failed_one_alone() -> None:
    """P6: each hook's budget is its own; waiting for a place costs nothing, whatever a sibling does meanwhile."""
    crowd, flaky = Crowd(), Script("flaky", TimeoutError())
    async with stage_of(Hooks({"*": [crowd, flaky]}), concurrency={"crowd": 1}) as stage:
        first = asyncio.create_task(attempt(stage, delivery_of(event_of(subject="other"))))
        await eventually_async(lambda: crowd.inside == 1, what="it is in")
        second = delivery_of()
        outcomes = [type(await attempt(stage, second)) for _ in range(3)]
        assert outcomes[-1] is Hold
        assert set(outcomes) <= {Retry, Hold}
        crowd.open.set()
        assert isinstance(await first, Done | Retry)
        assert await settle(stage, second) == Done()
