from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.churn import churn_faults
from benchmarks.footprint import Reading, phase
from benchmarks.journal import latencies_ms, read_journal, write_journal
from benchmarks.task import OrderCheck

if TYPE_CHECKING:
    from pathlib import Path

GOOD = ["began a 1", "began b 1", "ended a 1", "began a 2", "ended b 1", "ended a 2"]


def test_a_good_journal_has_no_faults() -> None:
    """Subjects run beside each other, the events of one after another."""
    assert churn_faults(GOOD, 3) == {"lost": 0, "disordered": 0, "repeated": 0}


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (GOOD[:-1], "lost"),
        ([*GOOD, "began a 2", "ended a 2"], "repeated"),
        (["began a 1", "began a 2", "ended a 1", "ended a 2", "began b 1", "ended b 1"], "disordered"),
    ],
)
def test_every_fault_of_a_journal_is_counted(lines: list[str], fault: str) -> None:
    """An event that never ended is lost, one that began again repeated, one that began too early disordered."""
    expected = {"lost": 0, "disordered": 0, "repeated": 0} | {fault: 1}
    assert churn_faults(lines, 3) == expected


@pytest.mark.parametrize(
    "steps",
    [
        ["begin 1", "begin 2"],
        ["begin 2"],
        ["begin 1", "end 1", "begin 1"],
        ["begin 1", "end 1", "end 1"],
    ],
)
def test_a_subject_out_of_order_is_noticed(steps: list[str]) -> None:
    """Overlapping, skipped and repeated events of a subject are faults."""
    order = OrderCheck()
    for step in steps:
        what, version = step.split()
        (order.begin if what == "begin" else order.end)("a", int(version))
    assert order.faults == 1


def test_subjects_in_order_have_no_faults() -> None:
    """Different subjects may overlap."""
    order = OrderCheck()
    order.begin("a", 1)
    order.begin("b", 1)
    order.end("a", 1)
    order.begin("a", 2)
    assert order.faults == 0


def test_latency_counts_from_the_intended_time(tmp_path: Path) -> None:
    """A late publisher hides no wait, and events that do not count are left out."""
    write_journal(str(tmp_path / "journal"), [("a", 1, 10.0), ("a", 2, 10.5), ("b", 1, 11.0)])
    seen = read_journal(tmp_path / "journal")
    assert latencies_ms(seen, {("a", 2): 10.25, ("b", 1): 10.0}) == [250.0, 1_000.0]


def test_a_phase_is_the_difference_of_two_readings() -> None:
    """CPU and requests are what was added, commits told apart, the publisher's left out; memory is what is held then."""
    first = Reading(10.0, 1.0, 2**20, 5, 3, {"Fetch": 10, "OffsetCommit": 1, "Produce": 7})
    last = Reading(20.0, 1.5, 2**21, 6, 4, {"Fetch": 30, "OffsetCommit": 1, "Heartbeat": 5, "Produce": 9})
    assert phase("idle", first, last) == {
        "idle_rss_mib": 2.0,
        "idle_cpu_percent": 5.0,
        "idle_threads": 6.0,
        "idle_connections": 4.0,
        "idle_requests": {"Fetch": 20, "Heartbeat": 5},
        "idle_requests_per_second": 2.5,
        "idle_commits": 0.0,
    }


def test_requests_that_nobody_counted_are_missing() -> None:
    """What the broker does not tell is not told as zero."""
    reading = Reading(10.0, 1.0, 2**20, 5, 3, {})
    later = Reading(20.0, 1.0, 2**20, 5, 3, {})
    assert not any("requests" in name or "commits" in name for name in phase("idle", reading, later))
