from __future__ import annotations

import pytest

from benchmarks.goals import GOALS, Bound, Goal, Verdict, goals_of, judge

RATE = Goal("B0", "rate", Bound.AT_LEAST, 0.5, of="bare")
CPU = Goal("B0", "cpu_micros", Bound.AT_MOST, 15.0)


@pytest.mark.parametrize(("ours", "verdict"), [(49.9, Verdict.SHORT), (50.0, Verdict.OK), (80.0, Verdict.OK)])
def test_a_ratio_is_held_against_the_reference_of_the_same_run(ours: float, verdict: Verdict) -> None:
    """A goal `of` a system compares our measure with that system's; its own value meets it."""
    check = judge(RATE, {"ours": {"rate": ours}, "bare": {"rate": 100.0}})
    assert check.verdict is verdict
    assert check.value == ours / 100
    assert (check.ours, check.reference) == (ours, 100.0)


@pytest.mark.parametrize(("ours", "verdict"), [(15.1, Verdict.SHORT), (15.0, Verdict.OK), (9.0, Verdict.OK)])
def test_a_goal_without_a_reference_holds_the_measure_itself(ours: float, verdict: Verdict) -> None:
    """A bound from above is met by what is at most its value."""
    assert judge(CPU, {"ours": {"cpu_micros": ours}}).verdict is verdict


@pytest.mark.parametrize("medians", [{}, {"ours": {"rate": 1.0}}, {"bare": {"rate": 1.0}}])
def test_what_was_not_run_is_neither_ok_nor_short(medians: dict[str, dict[str, float]]) -> None:
    """A goal whose measure or reference is missing is told as not run."""
    check = judge(RATE, medians)
    assert check.verdict is Verdict.NOT_RUN
    assert check.value is None


@pytest.mark.parametrize(("python", "goal"), [((3, 11), 0.1), ((3, 12), 0.2), ((3, 13), 0.2)])
def test_three_hooks_are_held_to_what_their_python_can(python: tuple[int, int], goal: float) -> None:
    """B0x3 has one goal, lower where hook tasks cannot be started eagerly."""
    assert [each.value for each in goals_of("B0x3", python)] == [goal]


@pytest.mark.parametrize("python", [(3, 11), (3, 13)])
def test_every_workload_has_a_goal(python: tuple[int, int]) -> None:
    """No workload is run for nothing."""
    assert [name for name in dict.fromkeys(goal.workload for goal in GOALS) if not goals_of(name, python)] == []
