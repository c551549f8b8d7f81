"""B6: three replicas that join and leave while events come; what was lost, disordered or handled more than once."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.processes import SystemProcess, module_command
from benchmarks.stages import StageProcess, settings_text
from benchmarks.systems.stage_hooks import JOURNAL
from benchmarks.task import Task
from benchmarks.topics import fresh_group, make_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.support.kafka import RealKafka

__all__ = ["SAYS", "churn_faults", "run_churn"]

SAYS = "three replicas joining and leaving every 5 s for two minutes, hooks of 50 ms, 60 events/s on 200 subjects by Zipf(1)"
_REPLICAS = 3
_EVERY_SECONDS = 5.0
_SECONDS = 120
_RATE = 60
_SUBJECTS = 200
_TELL_SECONDS = 60.0
_LOOK_SECONDS = 0.25


def churn_faults(lines: Iterable[str], published: int) -> dict[str, int]:
    """Hold a journal of `began|ended SUBJECT VERSION` lines, as they were written, against what was published.

    Versions of a subject count from 1. An event is lost when it never ended, repeated when it began again, and
    disordered when it began before the one ahead of it had ended.
    """
    begun, ended = set[tuple[str, int]](), set[tuple[str, int]]()
    repeated = disordered = 0
    for line in lines:
        what, subject, text = line.split()
        version = int(text)
        if what == "ended":
            ended.add((subject, version))
        elif (subject, version) in begun:
            repeated += 1
        else:
            begun.add((subject, version))
            disordered += version > 1 and (subject, version - 1) not in ended
    return {"lost": published - len(ended), "disordered": disordered, "repeated": repeated}


def run_churn(kafka: RealKafka, seconds: int = _SECONDS) -> Iterator[dict[str, dict[str, Any]]]:
    """Give one round: what went wrong in the two minutes. Raises SystemFailedError when a leave was not clean."""
    topic = make_topic(kafka, "B6")
    group = fresh_group(topic)
    task = Task(kafka.bootstrap, topic, group, events=_RATE * seconds, subjects=_SUBJECTS, rate=_RATE, zipf=True)
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        replicas = [stack.enter_context(_replica(folder, number, task)) for number in range(_REPLICAS)]
        for replica in replicas:
            replica.start()
        for replica in replicas:
            replica.wait_until_ready()
        publisher = stack.enter_context(SystemProcess(module_command("publisher", task)))
        publisher.hear("began", _TELL_SECONDS)
        changes = _come_and_go(replicas, seconds)
        published = publisher.hear("published", _TELL_SECONDS)["published"]
        _wait_for_all(folder / JOURNAL, published)
        for replica in replicas:
            if replica.is_up:
                replica.stop()
        faults = churn_faults(_lines(folder / JOURNAL), published)
    yield {"ours": {"system": "ours", "published": published, "changes": changes, **faults}}


def _replica(folder: Path, number: int, task: Task) -> StageProcess:
    app = "benchmarks.systems.stage_hooks:journalled"
    return StageProcess(folder, f"replica-{number}", settings_text(task.bootstrap, task.topic, task.group, app))


def _come_and_go(replicas: Sequence[StageProcess], seconds: int) -> int:
    """Let a replica leave, five seconds later join again, then the next one; tell how often."""
    began = time.monotonic()
    changes = int(seconds / _EVERY_SECONDS) - 1
    for change in range(changes):
        time.sleep(max(began + (change + 1) * _EVERY_SECONDS - time.monotonic(), 0))
        replica = replicas[change // 2 % len(replicas)]
        if replica.is_up:
            replica.stop()
        else:
            replica.start()
    return changes


def _wait_for_all(journal: Path, published: int) -> None:
    deadline = time.monotonic() + _TELL_SECONDS
    while churn_faults(_lines(journal), published)["lost"] and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _lines(journal: Path) -> list[str]:
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()
