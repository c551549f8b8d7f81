"""Finding the record that takes the process down, and blaming nobody else."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import Done, GiveUp, Turn
from hookline.contract import DeadLetterClass
from tests.unit.consume.lives import Disk, Life, life
from tests.unit.consume.scheduling import NEVER, Gates, turns, value_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.consume import Delivery

MAX_CRASHES = 3


class Killers:
    """A handler of which some records take the process down; it keeps what was said before each record began."""

    def __init__(self, disk: Disk, killers: Collection[str] = (), *, flaky: Collection[str] = ()) -> None:
        self._disk = disk
        self._killers = killers
        self._flaky = flaky
        self.life: Life
        self.inside: list[str] = []
        self.together: list[int] = []
        self.started: dict[str, tuple[int, ...]] = {}
        self.charged: dict[str, int] = {}
        self.runs: Counter[str] = Counter()

    async def act(self, delivery: Delivery) -> None:
        """Run, or go down."""
        value, record = value_of(delivery), delivery.record
        self.runs[value] += 1
        marks = self._disk.marks(record.partition)
        self.started[value] = marks.started
        self.charged[value] = dict(marks.crashes).get(record.offset, 0)
        self.inside.append(value)
        self.together.append(len(self.inside))
        await turns(2)
        self.inside.remove(value)
        if value in self._killers:
            self.life.go_down()
            await asyncio.Event().wait()
        if value in self._flaky and delivery.attempt == 1:
            raise TimeoutError("not at first")


async def lived(disk: Disk, killers: Collection[str] = (), **named: Collection[str]) -> tuple[Killers, Life]:
    """Live one life to its end, whichever that is."""
    handler = Killers(disk, killers, **named)
    async with life(disk, handler.act) as made:
        handler.life = made
        await made.live()
    return handler, made


async def lived_on(disk: Disk, killers: Collection[str], *, most: int = 60) -> tuple[int, list[Life]]:
    """Live until a life does not go down; tells how many went down."""
    lives: list[Life] = []
    for crashes in range(most):
        _, made = await lived(disk, killers)
        lives.append(made)
        if made.is_through():
            return crashes, lives
    raise AssertionError(f"still going down after {most} lives: {disk}")


def crashed(lives: list[Life]) -> list[str]:
    """List what was dead-lettered for taking the process down."""
    outcomes = [each for made in lives for each in made.bench.watcher.outcomes]
    return [
        value
        for value, outcome in outcomes
        if isinstance(outcome, GiveUp) and outcome.letter_class is DeadLetterClass.CRASHED
    ]


def done(lives: list[Life]) -> set[str]:
    """List what was done in any life."""
    return {value for made in lives for value, outcome in made.bench.watcher.outcomes if isinstance(outcome, Done)}


async def lived_together(disks: list[Disk], killers: Collection[str]) -> list[Life]:
    """Live one life of a process with an engine for each disk, until it goes down or all is settled."""
    lives: list[Life] = []

    async def act(delivery: Delivery) -> None:
        await turns(3)
        if value_of(delivery) in killers:
            for each in lives:
                each.go_down()
            await asyncio.Event().wait()

    turn = Turn()
    async with life(disks[0], act, turn=turn) as one, life(disks[1], act, turn=turn) as other:
        lives += [one, other]
        for each in lives:
            each.fetch()
        await one.bench.until(lambda: one.is_down or (one.is_through() and other.is_through()))
        for each in lives if not one.is_down else ():
            await each.commits.confirm()
    return lives


async def test_engines_of_one_process_blame_nobody_of_each_other() -> None:
    """P11: a hook of one group takes the process down, and the records that other groups run meanwhile are innocent."""
    disks = [Disk({0: [f"{subject}{n}" for n in range(6) for subject in "abcd"]}) for _ in range(2)]
    disks[0].values[0][9] = "killer"
    lives: list[Life] = []
    while not (lives and all(each.is_through() for each in lives[-2:])):
        lives += await lived_together(disks, ["killer"])
        assert len(lives) <= 60
    assert crashed(lives) == ["killer"]
    assert disks[1].letters == []


async def test_after_an_end_in_order_nobody_is_suspected() -> None:
    """P11: an owner that let its partition go says so, and its records run as they come."""
    disk = Disk({0: ["a0", "b1", "c2"]})
    handler = Killers(disk)
    async with life(disk, handler.act) as made:
        handler.life = made
        made.leave()
    again, made = await lived(disk)
    assert made.partitions[0].suspects is None
    assert set(again.started.values()) == {()}
    assert disk.metrics.value("unclean_starts_total") == 0


async def test_after_a_crash_records_run_in_batches_that_are_named_before() -> None:
    """P11: the owner before went down; what may have done it is named by the commit before it begins."""
    disk = Disk({0: [f"{'abcdefgh'[n % 8]}{n}" for n in range(150)]})
    await lived(disk, ["a0"])
    handler, _ = await lived(disk, ["a0"])
    assert disk.metrics.value("unclean_starts_total") == 1
    assert disk.marks().started == tuple(range(64))
    assert disk.marks().crashes == ()
    assert all(value in {f"{'abcdefgh'[n % 8]}{n}" for n in range(64)} for value in handler.runs)


async def test_records_of_a_batch_that_went_down_run_alone_and_charged() -> None:
    """P11: each of them by itself, charged before it begins and discharged when it has ended."""
    disk = Disk({0: ["a0", "b1", "c2", "d3"]})
    await lived(disk, ["c2"])
    await lived(disk, ["c2"])
    assert disk.marks().started == (0, 1, 2, 3)
    handler, _ = await lived(disk, ["c2"])
    assert list(handler.runs) == ["a0", "b1", "c2"]
    assert set(handler.together) == {1}
    assert set(handler.charged.values()) == {1}
    assert disk.marks().crashes == ((2, 1),)


async def test_a_record_that_takes_the_process_down_is_dead_lettered_and_nobody_else() -> None:
    """P11: after so many crashes alone it is a dead letter that says why, without being run again; all others are done."""
    disk = Disk({0: ["a0", "b1", "c2", "b3", "d4"]})
    crashes, lives = await lived_on(disk, ["b1"])
    assert crashes == 2 + MAX_CRASHES
    assert crashed(lives) == ["b1"]
    assert disk.letters == [b"b1"]
    assert done(lives) == {"a0", "c2", "b3", "d4"}


@given(
    st.lists(
        st.tuples(st.sampled_from("abc-"), st.sampled_from(["fine", "fine", "flaky", "kills"]), st.integers(0, 1)),
        min_size=1,
        max_size=10,
    )
)
def test_every_killer_is_found_and_no_neighbour_is_blamed(drawn: list[tuple[str, str, int]]) -> None:
    """P1, P11: in any mixture, on two partitions: exactly the killers are dead letters, and all others are done."""
    values: dict[int, list[str]] = {0: [], 1: []}
    kinds: dict[str, str] = {}
    for n, (key, kind, number) in enumerate(drawn):
        values[number].append(f"{key}{n}")
        kinds[f"{key}{n}"] = kind
    killers = [value for value, kind in kinds.items() if kind == "kills"]
    disk = Disk(values)

    async def live() -> list[Life]:
        lives: list[Life] = []
        while not lives or not lives[-1].is_through():
            assert len(lives) <= 2 + (2 + MAX_CRASHES) * len(killers)
            _, made = await lived(disk, killers, flaky=[value for value, kind in kinds.items() if kind == "flaky"])
            lives.append(made)
        return lives

    lives = asyncio.run(live())
    assert set(crashed(lives)) == set(killers)
    assert done(lives) == set(kinds) - set(killers)
    assert not any(made.bench.broken for made in lives)


async def test_a_crash_that_charges_nobody_condemns_nobody() -> None:
    """P11: a process that is killed from outside again and again, whatever it is at, makes no dead letter."""
    disk = Disk({0: ["a0", "b1", "c2"]})
    for _ in range(3 * MAX_CRASHES):
        async with life(disk, lambda _: None):
            await turns()
    _, made = await lived(disk)
    assert made.is_through()
    assert disk.letters == []


async def test_an_end_in_order_takes_back_the_charge() -> None:
    """P6, P11, cases: cancel-is-not-failure. A suspect that is cut off by a stop is not charged, and a suspect still."""
    disk = Disk({0: ["a0", "b1"]})
    await lived(disk, ["a0"])
    await lived(disk, ["a0"])
    gates = Gates()
    async with life(disk, gates.wait) as made:
        made.fetch()
        await turns()
        assert gates.inside == ["a0"]
        assert disk.marks().crashes == ((0, 1),)
        made.leave()
    marks = disk.marks()
    assert (marks.clean, marks.started, marks.crashes) == (False, (0, 1), ())


async def test_a_charge_of_earlier_crashes_outlives_an_end_in_order() -> None:
    """P11: a stop in between does not make a killer a new suspect, or a crash loop under a supervisor would never end."""
    disk = Disk({0: ["a0", "b1"]})
    for _ in range(3):
        await lived(disk, ["a0"])
    assert disk.marks().crashes == ((0, 1),)
    async with life(disk, Gates().wait) as made:
        made.fetch()
        await turns()
        made.leave()
    assert disk.marks().crashes == ((0, 1),)
    handler = Killers(disk, ["a0"])
    async with life(disk, handler.act) as made:
        handler.life = made
        await made.live()
    assert disk.marks().crashes == ((0, 2),)


async def test_a_partition_is_open_once_its_suspects_are_through() -> None:
    """P11: what comes later was never in the hands of the owner that went down, and runs as it comes."""
    disk = Disk({0: ["a0", "b1"]})
    await lived(disk, ["a0"])
    gates = Gates()
    async with life(disk, gates.wait) as made:
        made.fetch()
        await turns()
        disk.values[0].append("c2")
        made.fetch()
        await turns()
        assert gates.inside == ["a0", "b1"]
        gates.open("a0")
        await turns()
        assert gates.inside == ["b1"]
        gates.open("b1")
        await turns()
        assert gates.inside == ["c2"]
        assert made.partitions[0].held_back is None
        gates.open("c2")
        await made.bench.until(made.is_through)


@pytest.mark.parametrize("policy", [None, NEVER], ids=["tried again", "waits for long"])
async def test_a_suspect_whose_lane_rests_blocks_nobody(policy: object) -> None:
    """P8, P11: its attempt has ended, so it is innocent; its retry waits until no record is under suspicion."""
    disk = Disk({0: ["a0", "a1", "b2", "c3"]})
    await lived(disk, ["b2"])
    await lived(disk, ["b2"])
    handler = Killers(disk, flaky=["a0"])
    async with life(disk, handler.act, **({"policy": policy} if policy else {})) as made:
        handler.life = made
        made.fetch()
        await made.bench.until(lambda: made.partitions[0].held_back is None)
        assert {"b2", "c3"} <= set(made.bench.watcher.done())
        if policy is None:
            await made.bench.until(made.is_through)
            assert made.bench.watcher.done().index("a0") < made.bench.watcher.done().index("a1")
        else:
            assert handler.runs["a1"] == 0
    assert handler.together == [1] * len(handler.together) or policy is None


async def test_suspects_of_several_partitions_run_alone_in_the_whole_process() -> None:
    """P11: with two of them at once a crash would charge both."""
    disk = Disk({0: ["a0", "b1"], 1: ["c0", "d1"], 2: ["e0"]})
    await lived(disk, ["a0"])
    await lived(disk, ["a0"])
    handler, made = await lived(disk)
    assert made.is_through()
    assert set(handler.runs) == {"a0", "b1", "c0", "d1", "e0"}
    assert set(handler.together) == {1}


async def test_a_partition_that_is_let_go_is_waited_for_no_longer() -> None:
    """P11, P13: a rebalance in the middle of a suspect's run leaves the suspects of the others running."""
    disk = Disk({0: ["a0"], 1: ["b0"]})
    await lived(disk, ["a0"])
    await lived(disk, ["a0"])
    gates = Gates()
    async with life(disk, gates.wait) as made:
        made.fetch()
        await turns()
        assert gates.inside == ["a0"]
        made.let_go(0)
        await turns()
        assert gates.inside == ["b0"]
        gates.open("b0")
        await made.bench.until(lambda: made.partitions[1].position == 1)


async def test_without_a_dead_letter_topic_nobody_is_suspected() -> None:
    """P11: who cannot be given up need not be found; the records run as they come."""
    disk = Disk({0: ["a0", "b1"]})
    await lived(disk, ["a0"])
    done_values: list[str] = []
    async with life(disk, lambda delivery: done_values.append(value_of(delivery)), may_bury=False) as made:
        assert made.partitions[0].suspects is None
        await made.live()
    assert done_values == ["a0", "b1"]


async def test_a_run_that_is_stuck_holds_no_inquiry_up() -> None:
    """P10, P11: what cannot be ended has taken nobody down; the other suspects have their turn, it holds its subject alone."""
    disk = Disk({0: ["a0", "b1"], 1: ["c0"]})
    await lived(disk, killers={"c0"})
    ran, never = list[str](), asyncio.Event()

    async def act(delivery: Delivery) -> None:
        ran.append(value_of(delivery))
        if value_of(delivery) == "a0":
            await asyncio.sleep(0)
            delivery.release_slot()
            await never.wait()

    async with life(disk, act) as again:
        again.fetch()
        await again.bench.until(lambda: again.partitions[1].position == 1)
        assert again.partitions[0].position == 0
        assert sorted(ran) == ["a0", "b1", "c0"]
