"""Which record runs when, on which task, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import DONE, Done, Duplicate, GiveUp, Order, Retry
from hookline.consume._marks import Marks, RetryState
from hookline.consume._partition import LaneState
from hookline.contract import DeadLetterClass
from tests.unit.consume.scheduling import NEVER, Bench, Gates, bench, turns, value_of, waits_for

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from hookline.consume import Delivery

WAYS = ("at once", "awaited", "failed at once", "failed awaited")


class Ways:
    """A handler whose records go the way that the test drew for each; it notes who is inside when."""

    def __init__(self, ways: dict[str, str], order: Order) -> None:
        self._ways = ways
        self._order = order
        self.inside: Counter[str] = Counter()
        self.most = 0
        self.overlaps = 0

    def act(self, delivery: Delivery) -> Awaitable[None] | None:
        """Go the way."""
        way, first = self._ways[value_of(delivery)], delivery.attempt == 1
        if "awaited" in way:
            return self._wait(delivery, fails="failed" in way and first)
        if "failed" in way and first:
            raise TimeoutError("not at first")
        return None

    async def _wait(self, delivery: Delivery, *, fails: bool) -> None:
        lane = self._lane_of(delivery)
        self.overlaps += self.inside[lane]
        self.inside[lane] += 1
        self.most = max(self.most, self.inside.total())
        await turns(3)
        self.inside[lane] -= 1
        if fails:
            raise TimeoutError("not at first")

    def _lane_of(self, delivery: Delivery) -> str:
        value = value_of(delivery)
        if self._order is Order.PARTITION:
            return "all"
        return value if self._order is Order.NONE or value[0] == "-" else value[0]


@given(
    st.lists(st.tuples(st.sampled_from("ab-"), st.sampled_from(WAYS)), min_size=1, max_size=25),
    st.integers(1, 4),
    st.sampled_from(Order),
    st.integers(1, 25),
)
def test_every_record_is_done_in_the_order_of_its_lane(
    drawn: list[tuple[str, str]], concurrency: int, order: Order, cut: int
) -> None:
    """P1, P3: each is done once, those of a lane one after another as they came, and no more at once than may be."""
    ways = {f"{key}{n}": way for n, (key, way) in enumerate(drawn)}
    handler = Ways(ways, order)

    async def run() -> Bench:
        async with bench(handler.act, concurrency=concurrency, order=order) as made:
            values = list(ways)
            made.feed(*values[:cut])
            await asyncio.sleep(0)
            made.feed(*values[cut:])
            await made.until_settled()
            return made

    made = asyncio.run(run())
    assert not made.broken
    done = made.watcher.done()
    assert sorted(done) == sorted(ways)
    for key in "ab" if order is Order.SUBJECT else [""] if order is Order.PARTITION else []:
        assert [each for each in done if each.startswith(key)] == [each for each in ways if each.startswith(key)]
    assert handler.overlaps == 0
    assert handler.most <= concurrency
    assert made.partition().lanes == {}
    assert made.partition().records == 0


async def test_when_lanes_compete_the_longest_goes_first() -> None:
    """P3: each time a slot falls free it is for a lane than which none that waits has more records."""
    gates, left = Gates(), Counter("abbbcccccdx")
    taken: list[str] = []

    async def act(delivery: Delivery) -> None:
        key = value_of(delivery)[0]
        if value_of(delivery) in {"x0", "y0"}:
            await gates.wait(delivery)
            return
        taken.append(key)
        assert left[key] == max(left.values())
        left[key] -= 1
        await asyncio.sleep(0)

    async with bench(act, concurrency=2) as made:
        made.feed("x0")
        await turns()
        made.feed("x1", "y0")
        await turns()
        made.feed(*(f"{key}{n}" for key in "abcd" for n in range(left[key])))
        gates.open("x0")
        await made.until(lambda: not left.total())
        gates.open("y0")
        await made.until_settled()
    assert taken[0] == "c"
    assert made.watcher.given_up() == []


@pytest.mark.parametrize(
    ("order", "values", "together"),
    [
        (Order.SUBJECT, ("a0", "a1"), False),
        (Order.SUBJECT, ("a0", "b0"), True),
        (Order.SUBJECT, ("-0", "-1"), True),
        (Order.PARTITION, ("a0", "b0"), False),
        (Order.PARTITION, ("-0", "-1"), False),
        (Order.NONE, ("a0", "a1"), True),
    ],
)
async def test_the_order_says_who_waits_for_whom(order: Order, values: tuple[str, str], *, together: bool) -> None:
    """P3: records of one key wait for each other, or all of a partition, or none; a null key waits for nobody."""
    gates = Gates()
    async with bench(gates.wait, order=order) as made:
        made.feed(*values)
        await turns()
        assert gates.inside == list(values if together else values[:1])
        gates.open(*values)
        await made.until_settled()


async def test_equal_keys_of_two_partitions_are_two_lanes() -> None:
    """P3, cases: partitions-and-keys. Order is of a key within its partition; equal offsets are not mixed up."""
    gates = Gates()
    async with bench(gates.wait) as made:
        made.feed("a0", number=0)
        made.feed("a1", number=1)
        await turns()
        assert gates.inside == ["a0", "a1"]
        gates.open("a1")
        await made.until_settled(1)
        assert made.partition(0).position == 0
        gates.open("a0")
        await made.until_settled(0)


async def test_a_record_that_ends_at_once_costs_no_task() -> None:
    """P8: a worker goes from record to record; there are by far fewer tasks than records, and no lane is left."""
    made_tasks = count()

    def factory(loop: asyncio.AbstractEventLoop, work: object, **named: object) -> asyncio.Task[None]:
        next(made_tasks)
        return asyncio.Task(work, loop=loop, **named)  # type: ignore[arg-type] # handed on as they are

    async with bench(lambda _: None) as made:
        asyncio.get_running_loop().set_task_factory(factory)  # type: ignore[arg-type] # for any coroutine
        made.feed(*(f"a{n}" for n in range(600)))
        await made.until_settled()
        asyncio.get_running_loop().set_task_factory(None)
        assert next(made_tasks) < 60
        assert made.partition().lanes == {}


async def test_a_queued_record_does_not_count_as_done() -> None:
    """P5, cases: commit-highest-seen. With one slot and a slow first record nothing behind it moves the position."""
    gates = Gates()
    async with bench(gates.wait, concurrency=1) as made:
        made.feed("a0", "b0", "c0")
        await turns()
        assert gates.inside == ["a0"]
        assert made.partition().position == 0
        made.let_go()
        await turns()
        assert made.partition().position == 0
    assert made.watcher.outcomes == []


async def test_records_that_are_done_behind_an_open_one_move_no_position() -> None:
    """P5, cases: overtaken-failure. Offset 1 is open while 0, 2, 3 and 4 are done: the position is 1."""
    gates = Gates()
    async with bench(waits_for(gates, {"b1"})) as made:
        made.feed("a0", "b1", "c2", "d3", "e4")
        await turns()
        assert made.watcher.done() == ["a0", "c2", "d3", "e4"]
        assert made.partition().position == 1
        gates.open("b1")
        await made.until_settled()
    assert made.partition().position == 5


async def test_a_twin_of_a_record_that_runs_is_a_duplicate_when_that_is_done() -> None:
    """P4: the same identity under another key waits for the first, and is not run when that has completed."""
    gates = Gates()
    async with bench(gates.wait, dedupes=True) as made:
        made.feed("same", "same", "other", keys="abc")
        await turns()
        assert gates.inside == ["same", "other"]
        gates.open("same", "other")
        await made.until_settled()
    assert made.watcher.outcomes.count(("same", Duplicate(("test", "same"), 0))) == 1
    assert sorted(made.watcher.done()) == ["other", "same"]


async def test_a_twin_of_a_record_that_was_dead_lettered_runs() -> None:
    """P4: only completion marks an identity; a record that waited for one that failed runs, and one after the other."""
    gates, runs = Gates(), list[int]()

    async def act(delivery: Delivery) -> None:
        runs.append(delivery.record.offset)
        await gates.wait(delivery)
        if delivery.record.offset == 0:
            raise ValueError("permanent")

    async with bench(act, dedupes=True) as made:
        made.feed("same", "same", "same", keys="abc")
        await turns()
        assert runs == [0]
        gates.open("same")
        await made.until_settled()
    assert runs == [0, 1]
    assert [type(outcome) for _, outcome in made.watcher.outcomes] == [GiveUp, Done, Duplicate]
    assert made.post.sent == [b"same"]


async def test_a_twin_waits_while_the_first_is_retried() -> None:
    """P4: between two attempts of a record its twin does not slip in."""

    def act(delivery: Delivery) -> None:
        assert delivery.record.offset == 0
        if delivery.attempt == 1:
            raise TimeoutError("not at first")

    async with bench(act, dedupes=True) as made:
        made.feed("same", "same", keys="ab")
        await made.until_settled()
    assert [type(outcome) for _, outcome in made.watcher.outcomes] == [Retry, Done, Duplicate]


async def test_a_dead_letter_is_written_before_its_record_is_settled() -> None:
    """P1, P5: what is given up is in the dead-letter topic, and its subject goes on behind it."""

    def act(delivery: Delivery) -> None:
        if value_of(delivery) == "a0":
            raise ValueError("permanent")

    async with bench(act) as made:
        made.feed("a0", "a1")
        await made.until_settled()
    assert made.post.sent == [b"a0"]
    assert made.watcher.given_up() == [("a0", DeadLetterClass.PERMANENT)]
    assert made.watcher.done() == ["a1"]


async def test_rest_holds_no_slot() -> None:
    """P8: with one slot and a subject in a long backoff all others run; its own successors wait."""

    def act(delivery: Delivery) -> None:
        if value_of(delivery)[0] == "a":
            raise TimeoutError("always")

    async with bench(act, concurrency=1, policy=NEVER) as made:
        made.feed("a0", "a1", *(f"b{n}" for n in range(20)))
        await made.until(lambda: len(made.watcher.done()) == 20)
        assert made.watcher.started_values.count("a0") == 1
        assert "a1" not in made.watcher.started_values
        assert made.partition().position == 0


async def test_a_wait_ends_early_when_the_handler_says_so() -> None:
    """P8: what an event was held for may be over long before its time; it then runs in its turn, once."""
    waiting: list[Delivery] = []

    def act(delivery: Delivery) -> None:
        if not waiting:
            waiting.append(delivery)
            raise TimeoutError("not yet")

    async with bench(act, policy=NEVER) as made:
        made.feed("a0", "a1")
        await made.until(lambda: made.watcher.outcomes)
        for _ in range(2):
            waiting[0].wake()
        await made.until_settled()
        waiting[0].wake()
    assert made.watcher.done() == ["a0", "a1"]


async def test_a_wait_of_a_partition_that_was_let_go_cannot_be_ended() -> None:
    """P13: whoever says late that an event may go on starts nothing."""
    waiting: list[Delivery] = []

    def act(delivery: Delivery) -> None:
        waiting.append(delivery)
        raise TimeoutError("not yet")

    async with bench(act, policy=NEVER) as made:
        made.feed("a0")
        await made.until(lambda: made.watcher.outcomes)
        made.let_go()
        waiting[0].wake()
        await turns()
    assert made.watcher.started_values == ["a0"]


async def test_what_ends_after_a_partition_was_let_go_changes_nothing() -> None:
    """P13, cases: stale-commit-after-revoke, cancel-is-not-failure. No position, no window, no letter, no outcome."""

    async def act(delivery: Delivery) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if value_of(delivery) == "a0":
                return
            raise ValueError("permanent") from None

    async with bench(act, dedupes=True) as made:
        made.feed("a0", "b0")
        await turns()
        made.let_go()
        await turns()
        partition = made.partition()
        assert (partition.position, len(partition.completed), partition.busy) == (0, 0, set())
    assert made.watcher.outcomes == []
    assert made.post.sent == []
    assert made.broken == []


async def test_a_partition_that_is_let_go_during_backoff_stops_there() -> None:
    """P6, P13, cases: rebalance-during-retry-drops. Not dead-lettered, not settled, not run again."""

    def fail(_: Delivery) -> None:
        raise TimeoutError("always")

    async with bench(fail) as made:
        made.feed("a0")
        await made.until(lambda: made.watcher.outcomes)
        made.let_go()
        await turns()
        assert made.partition().position == 0
    assert made.watcher.started_values == ["a0"]
    assert made.post.sent == []


async def test_a_slot_that_is_released_is_for_another_record() -> None:
    """P10: who holds no slot any more holds its subject only; saying so twice frees one slot."""
    gates = Gates()
    deliveries: dict[str, Delivery] = {}

    async def act(delivery: Delivery) -> None:
        deliveries[value_of(delivery)] = delivery
        await gates.wait(delivery)

    async with bench(act, concurrency=1) as made:
        made.feed("a0", "a1", "b0", "c0")
        await turns()
        assert gates.inside == ["a0"]
        deliveries["a0"].release_slot()
        deliveries["a0"].release_slot()
        await turns()
        assert gates.inside == ["a0", "b0"]
        gates.open("a0", "a1", "b0", "c0")
        await made.until_settled()
    assert gates.most == 2


async def test_a_slot_is_released_no_more_when_the_attempt_has_ended() -> None:
    """P8: somebody who says so late takes nobody's slot."""
    gates = Gates()
    deliveries: list[Delivery] = []

    async def act(delivery: Delivery) -> None:
        deliveries.append(delivery)
        await gates.wait(delivery)

    async with bench(act, concurrency=1) as made:
        made.feed("a0")
        await turns()
        gates.open("a0")
        await made.until_settled()
        deliveries[0].release_slot()
        made.feed("b0", "c0", "d0")
        await turns()
        assert gates.inside == ["b0"]


async def test_a_dead_letter_that_is_cut_off_before_its_first_step_breaks_nothing() -> None:
    """P1: a partition may be let go in the very turn of the loop in which a record was given up."""

    def act(_: Delivery) -> None:
        raise ValueError("permanent")

    async with bench(act) as made:
        (record,) = made.feed("a0")
        await asyncio.sleep(0)
        (lane,) = made.partition().lanes.values()
        assert lane.state is LaneState.BURYING
        assert made.partition().busy == {lane}
        made.let_go()
        await turns()
        assert made.broken == []
        assert made.post.sent == []
        assert not made.partition().busy
    assert made.partition().position == record.offset


async def test_a_worker_that_somebody_cancels_breaks_the_engine() -> None:
    """P1: its subject would stand still for ever, so the process has to end."""
    before = asyncio.all_tasks()
    async with bench(lambda _: None) as made:
        made.feed("a0")
        (worker,) = asyncio.all_tasks() - before
        worker.cancel()
        await turns()
    assert [type(error) for error in made.broken] == [RuntimeError]


@pytest.mark.parametrize("next_way", ["none", "at once", "awaited"])
async def test_a_handler_that_cancels_its_task_and_ends_at_once_is_done(next_way: str) -> None:
    """P7, case 9: what it did to its task is neither the next record's matter nor the worker's."""

    def act(delivery: Delivery) -> Awaitable[None] | None:
        if value_of(delivery) == "a0":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return None
        return turns(2) if next_way == "awaited" else None

    async with bench(act) as made:
        made.feed("a0", *(["b0"] if next_way != "none" else []))
        await made.until_settled()
        await turns()
        made.feed("c0")
        await made.until_settled()
    assert made.broken == []
    assert {type(outcome) for _, outcome in made.watcher.outcomes} == {Done}


async def test_an_error_of_a_decision_breaks_the_engine() -> None:
    """P1: nobody knows what is to become of the record, so nothing is settled, and it is told."""

    def fail(_: Delivery) -> None:
        raise TimeoutError

    def decide(delivery: Delivery, error: BaseException) -> Retry:
        del delivery, error
        raise LookupError

    async with bench(fail) as made:
        made.handler.decide = decide  # type: ignore[method-assign] # a handler with a defect
        made.feed("a0")
        await turns()
        assert made.partition().position == 0
    assert [type(error) for error in made.broken] == [LookupError]


class Kept:
    """A memory that keeps what it was given."""

    def __init__(self) -> None:
        self.restored: list[tuple[int, bytes]] = []

    def save(self, delivery: Delivery) -> bytes:
        """Tell nothing."""
        del delivery
        return b""

    def restore(self, delivery: Delivery, saved: bytes) -> None:
        """Keep it."""
        self.restored.append((delivery.record.offset, saved))

    def recall(self, record: object) -> None:
        """Tell nothing."""

    def fingerprint(self, delivery: Delivery) -> bytes:
        """Keep the key."""
        return delivery.record.key or b""

    def says_the_same(self, delivery: Delivery, earlier: bytes | str) -> bool:
        """Compare keys."""
        return delivery.record.key == earlier


async def test_what_an_owner_before_settled_is_not_run_and_what_it_tried_goes_on() -> None:
    """P6: settled offsets are passed over; an open one goes on with its attempt and what its handler kept of it."""
    memory, attempts = Kept(), dict[str, int]()

    def act(delivery: Delivery) -> None:
        attempts[value_of(delivery)] = delivery.attempt

    async with bench(act, memory=memory) as made:
        state = RetryState(3, 1_000, b"kept")
        made.partition().found = Marks(frontier=3, open=((1, 2),), states=((1, 2, state),), clean=True)
        made.feed("a0", "a1", "a2", "a3")
        await made.until_settled()
        assert made.partition().found is None
    assert attempts == {"a1": 3, "a3": 1}
    assert memory.restored == [(1, b"kept")]


async def test_a_repeat_that_says_something_else_is_told_apart() -> None:
    """P4: it is not run either, and the outcome says that the two differ."""
    async with bench(lambda _: None, dedupes=True, memory=Kept()) as made:
        made.feed("same", "same", "same", keys="aab")
        await made.until_settled()
    identity = ("test", "same")
    assert [outcome for _, outcome in made.watcher.outcomes] == [
        DONE,
        Duplicate(identity, 0, agrees=True),
        Duplicate(identity, 0, agrees=False),
    ]
