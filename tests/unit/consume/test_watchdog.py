"""The watchdog, on a clock of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume._watchdog import Standing, Watchdog

LOOK_SECONDS = 5.0
LEVEL = Standing(partition=3, fetched=10, position=10, is_braked=False, is_at_work=False)


@dataclass
class Dog:
    """A watchdog of 30 s that is told something every five."""

    seconds: float = 0.0
    watchdog: Watchdog = field(init=False)

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(stalled_seconds=30, now=lambda: self.seconds)

    def sees(self, standing: Standing, end: int, *, looks: int = 1) -> list[int]:
        """Look so often, and name the partitions that stand still at the end."""
        for _ in range(looks):
            self.seconds += LOOK_SECONDS
            self.watchdog.observe([standing], {standing.partition: end})
        return [stall.partition for stall in self.watchdog.stalls]


def test_a_partition_that_is_not_fetched_is_stalled_and_goes_on() -> None:
    """After 30 s in which its topic grew it is told with its offset, the end and the time; the next record ends that."""
    dog = Dog()
    assert dog.sees(LEVEL, 10) == []
    assert dog.sees(LEVEL, 12, looks=5) == []
    assert dog.sees(LEVEL, 14) == [3]
    (stall,) = dog.watchdog.stalls
    assert (stall.position, stall.end, stall.seconds) == (10, 14, 30)
    assert dog.sees(replace(LEVEL, fetched=11, position=11), 14) == []


def test_an_end_that_does_not_move_away_is_no_stall() -> None:
    """Behind the last record there may be marks of transactions, which no consumer is given; growth alone proves more."""
    dog = Dog()
    assert dog.sees(LEVEL, 11, looks=100) == []
    assert dog.sees(LEVEL, 12) == [3]


def test_a_partition_that_is_level_is_never_stalled() -> None:
    """On a quiet topic the time counts from the last look at which nothing waited."""
    dog = Dog()
    assert dog.sees(LEVEL, 10, looks=1000) == []
    assert dog.sees(LEVEL, 11) == []


def test_a_braked_partition_is_not_stalled() -> None:
    """Full, held, being opened or let go: it says so elsewhere. When the brake is off its time begins anew."""
    dog = Dog()
    braked = replace(LEVEL, is_braked=True)
    for end in range(11, 40):
        assert dog.sees(braked, end) == []
    assert dog.sees(LEVEL, 40, looks=5) == []


def test_work_excuses_what_is_not_settled_but_not_what_is_not_fetched() -> None:
    """One record that runs long keeps the position, and no reason to fetch nothing while there is room."""
    dog = Dog()
    for fetched in range(11, 40):
        assert dog.sees(Standing(3, fetched, 10, is_braked=False, is_at_work=True), fetched + 5) == []
    assert dog.sees(Standing(3, 40, 10, is_braked=False, is_at_work=True), 41) == []
    assert dog.sees(Standing(3, 40, 10, is_braked=False, is_at_work=True), 50, looks=6) == [3]


def test_records_in_hand_that_nobody_works_on_are_a_stall() -> None:
    """What was fetched and neither runs nor waits for anything stands still, however much is fetched on."""
    dog = Dog()
    seen = [dog.sees(Standing(3, fetched, 10, is_braked=False, is_at_work=False), fetched) for fetched in range(11, 19)]
    assert seen[:6] == [[]] * 6
    assert seen[-1] == [3]


@pytest.mark.parametrize("forgets", [True, False])
def test_silence_of_the_broker_starts_the_time_anew(forgets: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """An outage that stops everything is no stall of a partition, whether it is told or only a gap between looks."""
    dog = Dog()
    dog.sees(LEVEL, 10)
    assert dog.sees(LEVEL, 12, looks=5) == []
    if forgets:
        dog.watchdog.forget()
    else:
        dog.seconds += 20
    assert dog.sees(LEVEL, 14, looks=6) == []
    assert dog.sees(LEVEL, 15) == [3]


def test_a_partition_that_moved_away_is_forgotten() -> None:
    """What somebody else has now is none of ours, and when it comes back its time begins anew."""
    dog = Dog()
    dog.sees(LEVEL, 10)
    assert dog.sees(LEVEL, 12, looks=6) == [3]
    dog.watchdog.observe([], {3: 13})
    assert dog.watchdog.stalls == ()
    assert dog.sees(LEVEL, 20, looks=6) == []


def test_a_partition_whose_end_was_not_told_is_not_judged() -> None:
    """A partition that was added a moment ago is not among the ends."""
    dog = Dog()
    dog.seconds += LOOK_SECONDS
    dog.watchdog.observe([LEVEL], {})
    assert dog.watchdog.stalls == ()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50), st.booleans(), st.booleans()), max_size=60))
def test_who_moves_at_every_look_is_never_stalled(steps: list[tuple[int, int, bool, bool]]) -> None:
    """However far behind, braked and working or not: progress is never called a stall."""
    dog, offset, end = Dog(), 0, 0
    for moved, grown, is_braked, is_at_work in steps:
        offset += moved
        end = max(end, offset) + grown
        assert dog.sees(Standing(3, offset, offset, is_braked, is_at_work), end) == []


@given(st.lists(st.integers(0, 3), min_size=12, max_size=60), st.integers(1, 1_000))
def test_who_never_moves_is_stalled_once_the_end_has_moved_away(growth: list[int], behind: int) -> None:
    """From the sixth look after the first on, a stall is told at exactly those at which the end has moved."""
    dog, first = Dog(), LEVEL.position + behind
    end = first
    for number, grown in enumerate([0, *growth]):
        end += grown
        assert (dog.sees(LEVEL, end) == [3]) == (number >= 6 and end > first)
