"""The workloads. They are never changed to reach a goal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from benchmarks.events import hottest, uniform_subjects, zipf_subjects
from benchmarks.task import Task

__all__ = ["BACKLOGS", "PARTITIONS", "PEER_SECONDS", "QUICK", "ROUNDS", "Backlog", "Ceiling", "Keys"]

PARTITIONS = 4
ROUNDS = 3
PEER_SECONDS = 20.0
QUICK = ("B0", "B1", "B2", "B4")


class Keys(Enum):
    """How often the subjects occur."""

    UNIFORM = "each as often as any other"
    ZIPF = "by Zipf(1)"


class Ceiling(Enum):
    """What cannot be beaten: every subject's waits by a task of its own, or those of the hottest subject alone."""

    NONE = ""
    SUBJECTS = "the waits by a bare task for each subject"
    HOTTEST = "the waits of the hottest subject by one bare task"


@dataclass(frozen=True, slots=True)
class Backlog:
    """A workload that reads what lies on the topic already. Systems run in the order given, one after another."""

    name: str
    says: str
    events: int
    subjects: int
    systems: tuple[str, ...]
    peers: tuple[str, ...] = ()
    keys: Keys = Keys.UNIFORM
    hooks: int = 1
    wait_seconds: float = 0.0
    slots: int = 64
    quick_events: int = 0
    ceiling: Ceiling = Ceiling.NONE

    def subjects_of(self, *, quick: bool) -> list[int]:
        """Tell the subject of each event."""
        events = self.quick_events if quick and self.quick_events else self.events
        make = zipf_subjects if self.keys is Keys.ZIPF else uniform_subjects
        return make(events, self.subjects)

    def task(self, bootstrap: str, topic: str, group: str, subjects: list[int]) -> Task:
        """Make the task of a system."""
        return Task(
            bootstrap=bootstrap,
            topic=topic,
            group=group,
            events=len(subjects),
            hooks=self.hooks,
            wait_seconds=self.wait_seconds,
            slots=self.slots,
            subjects=self.subjects,
            hottest=hottest(subjects) if self.ceiling is Ceiling.HOTTEST else 0,
        )


_JAVA = "parallel-consumer"

BACKLOGS = (
    Backlog(
        "B0",
        "one hook that does nothing, everything on",
        events=200_000,
        quick_events=100_000,
        subjects=1_000,
        systems=("ours", "bare"),
        peers=("aiokafka", "faststream", "arroyo", "pyrallel-consumer", _JAVA),
    ),
    Backlog(
        "B0x3",
        "three hooks that do nothing, everything on",
        events=200_000,
        subjects=1_000,
        hooks=3,
        systems=("ours", "bare"),
    ),
    Backlog(
        "B1",
        "one hook that awaits 5 ms, 200 slots",
        events=20_000,
        subjects=100,
        wait_seconds=0.005,
        slots=200,
        systems=("ours", "ceiling"),
        peers=("arroyo", "pyrallel-consumer", _JAVA),
        ceiling=Ceiling.SUBJECTS,
    ),
    Backlog(
        "B2",
        "one hook that awaits 10 ms, 24 slots",
        events=10_000,
        quick_events=4_000,
        subjects=1_000,
        keys=Keys.ZIPF,
        wait_seconds=0.010,
        slots=24,
        systems=("ours", "ceiling"),
        peers=("pyrallel-consumer", _JAVA),
        ceiling=Ceiling.HOTTEST,
    ),
)
