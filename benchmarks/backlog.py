"""Running the workloads that read a backlog: every system on the same topic, in turns."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from benchmarks.processes import SystemFailedError, SystemProcess, module_command
from benchmarks.topics import fresh_group, prefilled_topic
from benchmarks.workloads import PEER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.peers import Peers
    from benchmarks.task import Task
    from benchmarks.workloads import Backlog
    from tests.support.kafka import RealKafka

__all__ = ["Round", "run_backlog", "run_own"]

_OWN_SECONDS = 300.0
_PEER_SECONDS = PEER_SECONDS + 60.0

Round = dict[str, dict[str, Any]]


def run_backlog(kafka: RealKafka, workload: Backlog, peers: Peers, rounds: int, *, quick: bool) -> Iterator[Round]:
    """Give the rounds one by one: by system, what it told. Raises SystemFailedError when ours did something wrong."""
    subjects = workload.subjects_of(quick=quick)
    topic = prefilled_topic(kafka, workload.name, subjects)
    for _ in range(rounds):
        results: Round = {}
        for system in workload.systems:
            task = workload.task(kafka.bootstrap, topic, fresh_group(topic), subjects)
            results[system] = run_own(kafka, system, task)
        for peer in () if quick else workload.peers:
            task = workload.task(kafka.bootstrap, topic, fresh_group(topic), subjects)
            results |= _run_peer(peers, peer, task)
        yield results


def run_own(kafka: RealKafka, system: str, task: Task) -> dict[str, Any]:
    """Run ours, the bare client or the ceiling, and hold ours against the broker: all must be committed."""
    with SystemProcess(module_command(system, task)) as process:
        result = process.hear("system", _OWN_SECONDS)
    if system == "ours":
        _require_right(kafka, task, result)
    return result


def _require_right(kafka: RealKafka, task: Task, result: dict[str, Any]) -> None:
    wrong = result.pop("wrong")
    if not task.faulty and not kafka.settled(task.group, task.topic):
        wrong = [*wrong, "the group has not committed to the end"]
    if wrong:
        raise SystemFailedError(f"ours: {'; '.join(wrong)}")


def _run_peer(peers: Peers, peer: str, task: Task) -> Round:
    """Run a peer for its time. One that fails is told, and left out of the round: it is not ours to mend."""
    command = peers.command(peer, dataclasses.replace(task, stop_after_seconds=PEER_SECONDS))
    if command is None:
        return {}
    results: Round = {}
    try:
        with SystemProcess(command) as process:
            for _ in range(peers.results_of(peer)):
                result = process.hear("system", _PEER_SECONDS)
                results[result["system"]] = result
    except SystemFailedError as error:
        peers.failed(peer, str(error))
    return results
