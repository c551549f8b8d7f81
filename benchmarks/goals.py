"""Every number that the engine must reach, in one table, and the verdict on it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GOALS", "Bound", "Check", "Goal", "Verdict", "goals_of", "judge"]

Version = tuple[int, int]


class Bound(StrEnum):
    """On which side of its value a goal is met; the value itself meets it."""

    AT_LEAST = ">="
    AT_MOST = "<="


class Verdict(StrEnum):
    """What a check says."""

    OK = "ok"
    SHORT = "short"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Goal:
    """One number of one workload: our `measure`, as it is or divided by that of the system `of`.

    `since` and `before` are the Python versions for which it holds. `aim` is what we would like.
    """

    workload: str
    measure: str
    bound: Bound
    value: float
    of: str = ""
    aim: float | None = None
    since: Version = (3, 11)
    before: Version = (4, 0)


GOALS = (
    Goal("B0", "rate", Bound.AT_LEAST, 0.5, of="bare", aim=0.65),
    Goal("B0", "cpu_micros", Bound.AT_MOST, 15.0),
    Goal("B0", "rate", Bound.AT_LEAST, 1.5, of="parallel-consumer-warm"),
    Goal("B0", "rate", Bound.AT_LEAST, 2.0, of="parallel-consumer-cold"),
    Goal("B0", "rate", Bound.AT_LEAST, 50.0, of="pyrallel-consumer"),
    Goal("B0", "rate", Bound.AT_LEAST, 1.0, of="aiokafka"),
    Goal("B0x3", "rate", Bound.AT_LEAST, 0.2, of="bare", since=(3, 12)),
    Goal("B0x3", "rate", Bound.AT_LEAST, 0.1, of="bare", before=(3, 12)),
    Goal("B1", "rate", Bound.AT_LEAST, 0.85, of="ceiling"),
    Goal("B2", "rate", Bound.AT_LEAST, 0.93, of="ceiling", aim=0.95),
    Goal("B2", "cpu_micros", Bound.AT_MOST, 150.0),
    Goal("B3", "p99_ms", Bound.AT_MOST, 1.2, of="ours, nothing failing"),
    Goal("B4", "p50_ms", Bound.AT_MOST, 2.0, of="bare"),
    Goal("B4", "p99_ms", Bound.AT_MOST, 3.0, of="bare"),
    Goal("B5", "max_rss_mib", Bound.AT_MOST, 1.3, of="ours, 100,000"),
    Goal("B5", "lanes", Bound.AT_MOST, 0.0),
    Goal("B6", "lost", Bound.AT_MOST, 0.0),
    Goal("B6", "disordered", Bound.AT_MOST, 0.0),
    Goal("B6", "repeated", Bound.AT_MOST, 0.0),
    Goal("B7", "idle_commits", Bound.AT_MOST, 0.0),
)


@dataclass(frozen=True, slots=True)
class Check:
    """A goal and what was reached: `value` is what is held against the bound, None when something was not run."""

    goal: Goal
    ours: float | None
    reference: float | None
    value: float | None
    verdict: Verdict


def goals_of(workload: str, python: Version | None = None) -> list[Goal]:
    """Tell the goals of a workload for a Python version, which is this one unless told otherwise."""
    version = python or sys.version_info[:2]
    return [goal for goal in GOALS if goal.workload == workload and goal.since <= version < goal.before]


def judge(goal: Goal, medians: Mapping[str, Mapping[str, float]]) -> Check:
    """Hold the medians of a workload, by system and measure, against one of its goals."""
    ours = medians.get("ours", {}).get(goal.measure)
    reference = medians.get(goal.of, {}).get(goal.measure) if goal.of else None
    value = _value(goal, ours, reference)
    if value is None:
        return Check(goal, ours, reference, None, Verdict.NOT_RUN)
    met = value >= goal.value if goal.bound is Bound.AT_LEAST else value <= goal.value
    return Check(goal, ours, reference, value, Verdict.OK if met else Verdict.SHORT)


def _value(goal: Goal, ours: float | None, reference: float | None) -> float | None:
    if not goal.of or ours is None:
        return ours
    return ours / reference if reference else None
