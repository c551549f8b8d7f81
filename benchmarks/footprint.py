"""B7: what one stage and five of them take, idle and at 50 events/s.

A stage is a whole `hookline run`, with its reconciler. Five are five consumer groups on the same topic, in five
processes: what is told of them is the sum.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.processes import SystemProcess, module_command
from benchmarks.stages import StageProcess, settings_text
from benchmarks.task import Task
from benchmarks.topics import fresh_group, make_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.broker_requests import BrokerRequests
    from tests.support.kafka import RealKafka

__all__ = ["SAYS", "Reading", "phase", "run_footprint"]

SAYS = "what one group and five take, idle and at 50 events/s"
_GROUPS = {"ours": 1, "ours, five": 5}
_SETTLE_SECONDS = 5.0
_PHASE_SECONDS = 15.0
_RATE = 50
_SUBJECTS = 1_000
_TELL_SECONDS = 60.0
_APP = "benchmarks.systems.stage_hooks:idle"
_COMMIT = "OffsetCommit"
# The broker's own, the publisher's, and those that are counted as Fetch too.
_OTHERS = frozenset({"BrokerHeartbeat", "Produce", "FetchConsumer", "FetchFollower"})
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read at one moment: of the processes together, and of the broker."""

    at: float
    cpu_seconds: float
    rss_bytes: int
    threads: int
    connections: int
    requests: dict[str, int]


def phase(name: str, first: Reading, last: Reading) -> dict[str, Any]:
    """Tell what a phase took, between two readings; requests are missing when the broker did not tell them."""
    seconds = last.at - first.at
    taken: dict[str, Any] = {
        f"{name}_rss_mib": last.rss_bytes / 2**20,
        f"{name}_cpu_percent": 100 * (last.cpu_seconds - first.cpu_seconds) / seconds,
        f"{name}_threads": float(last.threads),
        f"{name}_connections": float(last.connections),
    }
    if not last.requests:
        return taken
    made = {kind: count - first.requests.get(kind, 0) for kind, count in last.requests.items() if kind not in _OTHERS}
    taken[f"{name}_requests"] = {kind: count for kind, count in made.items() if count}
    taken[f"{name}_requests_per_second"] = sum(made.values()) / seconds
    taken[f"{name}_commits"] = float(made.get(_COMMIT, 0))
    return taken


def run_footprint(kafka: RealKafka, broker: BrokerRequests) -> Iterator[dict[str, dict[str, Any]]]:
    """Give one round: by number of groups, what they take."""
    yield {system: _measure(kafka, broker, groups) for system, groups in _GROUPS.items()}


def _measure(kafka: RealKafka, broker: BrokerRequests, groups: int) -> dict[str, Any]:
    topic = make_topic(kafka, "B7")
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder, ExitStack() as stack:
        stages = [stack.enter_context(_stage(Path(folder), number, kafka, topic)) for number in range(groups)]
        for stage in stages:
            stage.start()
        for stage in stages:
            stage.wait_until_ready()
        idle = _phase("idle", stages, broker)
        events = int(_RATE * (_PHASE_SECONDS + 2 * _SETTLE_SECONDS + 10))
        task = Task(kafka.bootstrap, topic, "", events=events, subjects=_SUBJECTS, rate=_RATE)
        with SystemProcess(module_command("publisher", task)) as publisher:
            publisher.hear("began", _TELL_SECONDS)
            busy = _phase("busy", stages, broker)
        for stage in stages:
            stage.stop()
    return {"system": "ours", "groups": groups, **idle, **busy}


def _stage(folder: Path, number: int, kafka: RealKafka, topic: str) -> StageProcess:
    return StageProcess(folder, f"stage-{number}", settings_text(kafka.bootstrap, topic, fresh_group(topic), _APP))


def _phase(name: str, stages: Sequence[StageProcess], broker: BrokerRequests) -> dict[str, Any]:
    time.sleep(_SETTLE_SECONDS)
    first = _read(stages, broker)
    time.sleep(_PHASE_SECONDS)
    return phase(name, first, _read(stages, broker))


def _read(stages: Sequence[StageProcess], broker: BrokerRequests) -> Reading:
    requests = broker.counts()
    stats = [_stat(stage.pid) for stage in stages]
    return Reading(
        at=time.monotonic(),
        cpu_seconds=sum(cpu for cpu, _, _ in stats),
        rss_bytes=sum(rss for _, rss, _ in stats),
        threads=sum(threads for _, _, threads in stats),
        connections=sum(_connections(stage.pid) for stage in stages),
        requests=requests,
    )


def _stat(pid: int) -> tuple[float, int, int]:
    """Read CPU seconds, resident bytes and threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[21]) * _PAGE, int(fields[17])


def _connections(pid: int) -> int:
    """Count the established TCP connections that a process holds."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text(encoding="utf-8").splitlines()[1:]
    established = {fields[9] for fields in map(str.split, lines) if fields[3] == "01"}
    return sum(_inode(link) in established for link in Path(f"/proc/{pid}/fd").iterdir())


def _inode(link: Path) -> str:
    try:
        target = str(link.readlink())
    except OSError:
        return ""
    return target.removeprefix("socket:[").removesuffix("]")
