from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.page import BEGIN, END, PAGE, with_tables
from benchmarks.results import RESULTS, Report, WorkloadResult, line_of, written

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.backlog import Round

MACHINE = {
    "python": "3.13.0",
    "confluent_kafka": "2.16.1",
    "librdkafka": "2.16.0",
    "kafka": "4.1.2",
    "system": "Linux",
    "architecture": "x86_64",
    "cores": 2,
    "load_before": 0.1,
    "peers": {"python": "3.13.0"},
}


def ran(ours: int, **more: Any) -> WorkloadResult:
    """Make the result of B1 with so many of 1,000 possible events a second."""
    rounds: list[Round] = [
        {"ours": {"events": ours, "seconds": 1.0}, "ceiling": {"events": 1_000, "seconds": 1.0}} for _ in range(3)
    ]
    return WorkloadResult("B1", "waits", rounds, **more)


def report(*results: WorkloadResult) -> Report:
    """Make a report of results."""
    return Report("full", MACHINE, dt.datetime(2026, 12, 1, tzinfo=dt.UTC), 12.34, results)


@pytest.mark.parametrize(("ours", "verdict"), [(850, "ok"), (849, "short")])
def test_a_line_tells_ours_the_reference_the_ratio_the_goal_and_the_verdict(ours: int, verdict: str) -> None:
    """One line a workload, its last word the verdict."""
    line = line_of(ran(ours))
    assert line.split()[0] == "B1"
    assert line.split()[-1] == verdict
    assert f"ours {ours}/s" in line
    assert "ceiling 1,000/s" in line
    assert "ratio 0.85 (goal >= 0.85)" in line
    assert ran(ours).is_short() is (verdict == "short")


def test_a_failure_is_told_instead_of_numbers() -> None:
    """A workload that went wrong says so, in its line and in the JSON."""
    failed = WorkloadResult("B1", "waits", [], failure="it was wrong")
    assert line_of(failed).split(maxsplit=1)[1] == "failed: it was wrong"
    assert failed.as_document()["verdict"] == "failed"


def test_the_json_has_the_goals_the_medians_and_every_round(tmp_path: Path) -> None:
    """What was told is kept as it was told, beside what was made of it."""
    path = written(report(ran(900)), tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "full.json"
    assert document.keys() == {"format", "mode", "began_at", "seconds", "machine", "workloads"}
    told = document["workloads"]["B1"]
    assert told.keys() == {"says", "verdict", "checks", "medians", "not_run", "failure", "rounds"}
    assert told["verdict"] == "ok"
    assert told["medians"] == {"ours": {"rate": 900.0}, "ceiling": {"rate": 1_000.0}}
    assert len(told["rounds"]) == 3
    assert told["rounds"][0]["ours"] == {"events": 900, "seconds": 1.0}
    (check,) = told["checks"]
    assert (check["measure"], check["of"], check["goal"], check["value"]) == ("rate", "ceiling", ">= 0.85", 0.9)


def test_the_page_has_a_row_for_each_goal_between_its_marks() -> None:
    """The tables stand between the marks, and nothing else of the page changes."""
    document = report(ran(900, not_run={"peer": "needs more"})).as_document()
    text = with_tables(f"before\n{BEGIN}\nold\n{END}\nafter\n", document)
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "| B1 | rate | 900/s | ceiling 1,000/s | 0.90 | >= 0.85 | ok |" in text.splitlines()
    assert "Not run: peer: needs more." in text


def test_the_page_shows_the_last_full_run() -> None:
    """docs/performance.md has the tables of benchmarks/results/full.json, or says that there are none."""
    kept = RESULTS / "full.json"
    document = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text, document) == text
