"""The workloads with an open loop, B3 and B4: events come at a fixed rate, and what counts is when each is in hand."""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.events import subject_name, uniform_subjects, zipf_subjects
from benchmarks.faults import plan_faults
from benchmarks.journal import latencies_ms, read_journal
from benchmarks.processes import SystemFailedError, SystemProcess, module_command
from benchmarks.stats import percentile
from benchmarks.task import Task
from benchmarks.topics import fresh_group, make_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.support.kafka import RealKafka

__all__ = ["PACED", "Paced", "run_paced"]

_WARM_SECONDS = 1
_READY_SECONDS = 60.0
_REST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Paced:
    """A workload at a rate. The events of the first second are published and not counted.

    `systems` names what runs: the module of the system, and whether its hooks fail.
    """

    name: str
    says: str
    rate: int
    seconds: int
    subjects: int
    systems: Mapping[str, tuple[str, bool]]
    zipf: bool = False
    wait_seconds: float = 0.0
    slots: int = 64
    quick_seconds: int = 0

    def events(self, *, quick: bool) -> int:
        """Tell how many events are published."""
        seconds = self.quick_seconds if quick and self.quick_seconds else self.seconds
        return self.rate * (seconds + _WARM_SECONDS)

    def subjects_of(self, events: int) -> list[int]:
        """Tell the subject of each event."""
        return (zipf_subjects if self.zipf else uniform_subjects)(events, self.subjects)


PACED = (
    Paced(
        "B3",
        "an open loop of 400 events/s on B2's keys and hook, without failures and with",
        rate=400,
        seconds=60,
        subjects=1_000,
        zipf=True,
        wait_seconds=0.010,
        slots=24,
        systems={"ours, nothing failing": ("ours", False), "ours": ("ours", True)},
    ),
    Paced(
        "B4",
        "publish to hook start at 500 events/s",
        rate=500,
        seconds=20,
        quick_seconds=10,
        subjects=1_000,
        systems={"ours": ("ours", False), "bare": ("bare", False)},
    ),
)


def run_paced(kafka: RealKafka, workload: Paced, rounds: int, *, quick: bool) -> Iterator[dict[str, dict[str, Any]]]:
    """Give the rounds one by one: by system, its latencies."""
    subjects = workload.subjects_of(workload.events(quick=quick))
    spared = plan_faults(subjects).spared if workload.wait_seconds else None
    for _ in range(rounds):
        results = {}
        for system, (module, faulty) in workload.systems.items():
            results[system] = _run(kafka, workload, module, subjects, spared, faulty=faulty)
        yield results


def _run(
    kafka: RealKafka,
    workload: Paced,
    module: str,
    subjects: Sequence[int],
    spared: frozenset[str] | None,
    *,
    faulty: bool,
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        journal = Path(folder) / "journal"
        topic = make_topic(kafka, workload.name)
        task = dataclasses.replace(_task(workload, subjects, topic, journal), bootstrap=kafka.bootstrap, faulty=faulty)
        told, began, late_ms = _publish_to(module, task)
        if told.pop("wrong", None):
            raise SystemFailedError(f"{workload.name}: {told}")
        seen = read_journal(journal)
        intended = _intended(subjects, began, workload.rate, spared)
    kafka.delete_topic(topic)
    return told | {"publisher_late_p99_ms": late_ms} | _summary(latencies_ms(seen, intended), len(intended))


def _task(workload: Paced, subjects: Sequence[int], topic: str, journal: Path) -> Task:
    return Task(
        bootstrap="",
        topic=topic,
        group=fresh_group(topic),
        events=len(subjects),
        wait_seconds=workload.wait_seconds,
        slots=workload.slots,
        subjects=workload.subjects,
        journal=str(journal),
        retry_seconds=0.1,
        rate=workload.rate,
        zipf=workload.zipf,
    )


def _publish_to(module: str, task: Task) -> tuple[dict[str, Any], float, float]:
    """Publish to a system that is ready, and tell what it told, when the loop began, and how late the publisher was."""
    with SystemProcess(module_command(module, task)) as system:
        system.hear("ready", _READY_SECONDS)
        with SystemProcess(module_command("publisher", task)) as publisher:
            began = publisher.hear("began", _READY_SECONDS)["began"]
            published = publisher.hear("published", task.events / task.rate + _REST_SECONDS)
        if published["published"] != task.events:
            raise SystemFailedError(f"{published['published']} of {task.events} events were published")
        return system.hear("system", _REST_SECONDS), began, published["late_p99_ms"]


def _intended(
    subjects: Sequence[int], began: float, rate: int, spared: frozenset[str] | None
) -> dict[tuple[str, int], float]:
    """Tell by subject and version when each event that counts was to be published."""
    versions: dict[int, int] = {}
    times = {}
    for number, subject in enumerate(subjects):
        versions[subject] = versions.get(subject, 0) + 1
        name = subject_name(subject)
        if number >= rate * _WARM_SECONDS and (spared is None or name in spared):
            times[name, versions[subject]] = began + number / rate
    return times


def _summary(latencies: Sequence[float], expected: int) -> dict[str, Any]:
    if len(latencies) != expected:
        raise SystemFailedError(f"{len(latencies)} events were seen, not {expected}")
    return {"p50_ms": percentile(latencies, 50), "p99_ms": percentile(latencies, 99), "max_ms": max(latencies)}
