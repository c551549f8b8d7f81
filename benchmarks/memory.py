"""B5: whether memory grows with the backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.backlog import run_own
from benchmarks.events import uniform_subjects
from benchmarks.task import Task
from benchmarks.topics import fresh_group, prefilled_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kafka import RealKafka

__all__ = ["SAYS", "run_memory"]

SAYS = "peak memory with a backlog of 1,000,000 events of 100,000 subjects, against one of 100,000"
_BACKLOGS = {"ours": 1_000_000, "ours, 100,000": 100_000}
_SUBJECTS = 100_000


def run_memory(kafka: RealKafka, rounds: int) -> Iterator[dict[str, dict[str, Any]]]:
    """Give the rounds one by one: by backlog, what it took."""
    topics = {
        system: prefilled_topic(kafka, "b5", uniform_subjects(events, _SUBJECTS))
        for system, events in _BACKLOGS.items()
    }
    for _ in range(rounds):
        yield {system: run_own(kafka, "ours", _task(kafka, topics[system], _BACKLOGS[system])) for system in topics}


def _task(kafka: RealKafka, topic: str, events: int) -> Task:
    return Task(kafka.bootstrap, topic, fresh_group(topic), events, subjects=_SUBJECTS, tell_lanes=True)
