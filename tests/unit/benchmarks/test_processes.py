from __future__ import annotations

import sys

import pytest

from benchmarks.peers import Peers
from benchmarks.processes import SystemFailedError, SystemProcess
from benchmarks.task import Task

SAY = "from benchmarks.task import say; "
TASK = Task("127.0.0.1:1", "topic", "group", 10, wait_seconds=0.005, slots=200, stop_after_seconds=20)


def python(code: str) -> SystemProcess:
    """Run some code as a system."""
    return SystemProcess([sys.executable, "-c", f"{SAY}{code}"])


def test_what_a_system_says_is_told_from_its_log() -> None:
    """Lines of its log are passed over, and so is what it says of something else."""
    with python("print('{}'); say({'ready': True}); say({'system': 'ours', 'events': 3})") as system:
        assert system.hear("system", 60) == {"system": "ours", "events": 3}


def test_a_system_that_ends_early_is_a_failure_that_says_why() -> None:
    """Its exit code and the end of its errors are told, not waited out."""
    with python("raise SystemExit('no such topic')") as system, pytest.raises(SystemFailedError) as failure:
        system.hear("system", 60)
    assert "no such topic" in str(failure.value)


def test_a_task_reaches_a_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is what is read."""
    monkeypatch.setattr(sys, "argv", ["system", TASK.as_json()])
    assert Task.from_arguments() == TASK


def test_a_peer_that_cannot_be_had_is_left_out_by_name() -> None:
    """It has no command and is told with its reason; the others run."""
    peers = Peers(python="python3.13", java=("java", "Bench"))
    assert peers.command("pyrallel-consumer", TASK) == [
        "python3.13",
        "-m",
        "benchmarks.systems.pyrallel",
        TASK.as_json(),
    ]
    assert peers.command("parallel-consumer", TASK) == [
        *("java", "Bench", "127.0.0.1:1", "topic", "group"),
        *("10", "200", "5", "20"),
    ]
    peers.failed("pyrallel-consumer", "it broke\nand this is how")
    assert peers.command("pyrallel-consumer", TASK) is None
    assert peers.not_run == {"pyrallel-consumer": "it broke"}
