"""The results of a run as one JSON document, and its lines for people."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.goals import Check, Verdict, goals_of, judge
from benchmarks.stats import medians

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence


__all__ = ["RESULTS", "Report", "WorkloadResult", "amount", "line_of", "words", "written"]

RESULTS: Final = Path(__file__).parent / "results"
_FORMAT: Final = 1
_UNITS: Final = {"rate": "/s", "cpu_micros": " µs", "p50_ms": " ms", "p99_ms": " ms", "max_rss_mib": " MiB"}
_WORDS: Final = {
    "rate": "rate",
    "cpu_micros": "CPU an event",
    "p50_ms": "p50",
    "p99_ms": "p99",
    "max_rss_mib": "peak memory",
}


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """All rounds of one workload: by system, what it told.

    `not_run` names what was left out, with the reason; `failure` says what ended it early.
    """

    name: str
    says: str
    rounds: Sequence[Mapping[str, Mapping[str, Any]]]
    not_run: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""

    def checks(self) -> list[Check]:
        """Hold the medians against the goals."""
        found = medians(self.rounds)
        return [judge(goal, found) for goal in goals_of(self.name)]

    def is_short(self) -> bool:
        """Tell whether a goal is missed."""
        return any(check.verdict is Verdict.SHORT for check in self.checks())

    def as_document(self) -> dict[str, Any]:
        """Write it for the JSON: the goals with what was reached, the medians, and every round as it was told."""
        return {
            "says": self.says,
            "verdict": "failed" if self.failure else str(_worst(self.checks())),
            "checks": [_check_document(check) for check in self.checks()],
            "medians": medians(self.rounds),
            "not_run": dict(self.not_run),
            "failure": self.failure or None,
            "rounds": [{system: dict(told) for system, told in each.items()} for each in self.rounds],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    mode: str
    machine: Mapping[str, Any]
    began_at: dt.datetime
    seconds: float
    workloads: Sequence[WorkloadResult]

    def as_document(self) -> dict[str, Any]:
        """Write it for the JSON."""
        return {
            "format": _FORMAT,
            "mode": self.mode,
            "began_at": self.began_at.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 1),
            "machine": dict(self.machine),
            "workloads": {each.name: each.as_document() for each in self.workloads},
        }


def written(report: Report, folder: Path = RESULTS) -> Path:
    """Write the report into the folder, over the last one of its mode, and tell the file."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{report.mode}.json"
    path.write_text(f"{json.dumps(report.as_document(), indent=2)}\n", encoding="utf-8")
    return path


def line_of(result: WorkloadResult) -> str:
    """Write the line of a workload: what was reached of each goal, and `ok`, `short` or `failed`."""
    if result.failure:
        return f"{result.name:<5} failed: {result.failure}"
    checks = [check for check in result.checks() if check.verdict is not Verdict.NOT_RUN]
    parts = "   ".join(_check_text(check) for check in checks)
    return f"{result.name:<5} {parts}   {_worst(result.checks())}"


def words(measure: str) -> str:
    """Say a measure for people."""
    return _WORDS.get(measure, measure.replace("_", " "))


def amount(measure: str, value: float) -> str:
    """Write a value of a measure with its unit."""
    digits = 0 if measure == "rate" or value == int(value) else 1
    return f"{value:,.{digits}f}{_UNITS.get(measure, '')}"


def _worst(checks: Sequence[Check]) -> Verdict:
    verdicts = {check.verdict for check in checks}
    return next((each for each in (Verdict.SHORT, Verdict.OK) if each in verdicts), Verdict.NOT_RUN)


def _check_text(check: Check) -> str:
    assert check.ours is not None
    assert check.value is not None
    goal = check.goal
    ours = f"{words(goal.measure)}: ours {amount(goal.measure, check.ours)}"
    mark = "" if check.verdict is Verdict.OK else "!"
    if check.reference is None:
        return f"{ours} (goal {goal.bound} {amount(goal.measure, goal.value)}){mark}"
    return f"{ours}, {goal.of} {amount(goal.measure, check.reference)}, ratio {check.value:.2f} (goal {goal.bound} {goal.value:g}){mark}"


def _check_document(check: Check) -> dict[str, Any]:
    goal = check.goal
    return {
        "measure": goal.measure,
        "of": goal.of or None,
        "ours": check.ours,
        "reference": check.reference,
        "value": check.value,
        "goal": f"{goal.bound} {goal.value:g}",
        "aim": goal.aim,
        "verdict": str(check.verdict),
    }
