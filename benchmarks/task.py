"""What a system is told to do, and what it tells of it: one JSON document each way. Imports nothing of hookline."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["MARK", "OrderCheck", "Stopwatch", "Task", "say"]

MARK: Final = "bench"
"""The key by which a line of a system is told from its log."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one system: read `events` records of a topic as a fresh group and call hooks that wait.

    A run ends after `stop_after_seconds` from the first hook's start, if it is not 0. `journal` is a file to write the
    time of each event to; without one nobody times single events. `faulty` makes hooks fail as B3 asks. `rate` is how
    many events a second the publisher writes meanwhile, with the keys that `zipf` tells. `tell_lanes` asks for the lanes
    that are left in the end.
    """

    bootstrap: str
    topic: str
    group: str
    events: int
    hooks: int = 1
    wait_seconds: float = 0.0
    slots: int = 64
    subjects: int = 0
    hottest: int = 0
    stop_after_seconds: float = 0.0
    journal: str = ""
    faulty: bool = False
    retry_seconds: float = 1.0
    rate: float = 0.0
    zipf: bool = False
    tell_lanes: bool = False

    @property
    def dead_letter_topic(self) -> str:
        """The topic for dead letters, which every hook topic of the benchmarks has beside it."""
        return f"{self.topic}_dlq"

    def as_json(self) -> str:
        """Write it for a process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_arguments(cls) -> Task:
        """Read the task of this process."""
        return cls(**json.loads(sys.argv[1]))


class Stopwatch:
    """Measures from the first hook's start to the last settlement: time, and CPU time of this process."""

    __slots__ = ("_began", "_cpu_began", "_cpu_seconds", "_limit_seconds", "_seconds")

    def __init__(self, limit_seconds: float = 0.0) -> None:
        self._began = 0.0
        self._cpu_began = 0.0
        self._seconds = 0.0
        self._cpu_seconds = 0.0
        self._limit_seconds = limit_seconds

    @property
    def running(self) -> bool:
        """Whether it was started."""
        return self._began > 0

    def start(self) -> None:
        """Begin: the first hook starts."""
        self._cpu_began = _cpu_seconds()
        self._began = time.perf_counter()

    def is_over(self) -> bool:
        """Whether the time that a peer is given has passed."""
        return self.running and 0 < self._limit_seconds < time.perf_counter() - self._began

    def stop(self) -> None:
        """End: the last event is settled."""
        self._seconds = time.perf_counter() - self._began
        self._cpu_seconds = _cpu_seconds() - self._cpu_began

    def result(self, system: str, events: int, **more: Any) -> dict[str, Any]:
        """Tell what was measured."""
        return {
            "system": system,
            "events": events,
            "seconds": self._seconds,
            "cpu_seconds": self._cpu_seconds,
            "max_rss_kib": _peak_kib(),
            **more,
        }


class OrderCheck:
    """Holds what happens against the order of each subject: every version once, one after another.

    Costs two look-ups an event. Versions count from 1.
    """

    __slots__ = ("_begun", "_ended", "faults")

    def __init__(self) -> None:
        self._begun: dict[Any, int] = {}
        self._ended: dict[Any, int] = {}
        self.faults = 0

    def begin(self, subject: Any, version: int) -> None:
        """Note that an event begins: the one before must have ended, and this one must be new."""
        if version != self._begun.get(subject, 0) + 1 or version != self._ended.get(subject, 0) + 1:
            self.faults += 1
        self._begun[subject] = version

    def end(self, subject: Any, version: int) -> None:
        """Note that it has ended."""
        if version != self._ended.get(subject, 0) + 1:
            self.faults += 1
        self._ended[subject] = version


def say(document: dict[str, Any]) -> None:
    """Tell the harness something: one line of JSON on standard output."""
    sys.stdout.write(f"{json.dumps({MARK: document})}\n")
    sys.stdout.flush()


def _peak_kib() -> int:
    # ru_maxrss is no less than what the parent had when it started this process.
    found = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
