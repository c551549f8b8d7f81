"""SIGTERM: the process drains, commits what is settled and nothing else, and ends in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal


def test_an_idle_process_ends_at_once(start: Starter) -> None:
    """Cases: loop-blocking-and-close. SIGTERM while idle: exit code 0, long before the time to drain is over."""
    stage = start(drain_seconds=600)
    stage.wait_until_ready()
    assert stage.stop(10) == 0


def test_what_runs_is_let_end(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P5, cases: loop-blocking-and-close. SIGTERM while a hook runs: it may end, and is committed; its successor is not begun."""
    stage = start(drain_seconds=60)
    for version in (1, 2):
        send(real_kafka, stage, "slow.wait", "s", version, partition=0)
    eventually(lambda: journal.began("s") == [1], what="the first is begun")
    stage.terminate()
    eventually(lambda: stage.lines("stopping"), what="it is stopping")
    journal.open_gate()
    assert stage.wait(15) == 0
    assert journal.began("s") == [1]
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0) == 1


@pytest.mark.parametrize(
    "act",
    ["slow.wait", "slow.ignore", "slow.give-in", "slow.thread", "thread.wait"],
)
def test_what_outlives_the_drain_is_not_committed(
    start: Starter, real_kafka: RealKafka, journal: Journal, act: str
) -> None:
    """P1, P5, P6, cases: cancel-is-not-failure, hung-sync-hook.

    A hook that waits for ever, that ignores its cancellation or returns from it, or that holds a thread: the process
    ends in time, commits nothing of the event and dead-letters nothing; the event is handled after a restart.
    """
    stage = start(drain_seconds=0.5)
    send(real_kafka, stage, act, "s", 1, partition=0)
    eventually(lambda: journal.began("s") == [1], what="it is begun")
    assert stage.stop(12) == 0
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0, 0) == 0
    assert real_kafka.read(stage.dead_letter_topic) == []
    journal.open_gate()
    stage.restart()
    eventually(lambda: journal.ended("s")[-1:] == [1] and journal.began("s") == [1, 1], 40, what="it is handled")
    assert stage.stop() == 0


def test_a_second_signal_ends_it_at_once(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """Cases: cancel-is-not-failure. SIGTERM sent twice: no drain, a code other than 0, nothing committed."""
    stage = start(drain_seconds=600)
    send(real_kafka, stage, "slow.wait", "s", 1, partition=0)
    eventually(lambda: journal.began("s") == [1], what="it is begun")
    stage.terminate()
    eventually(lambda: stage.lines("stopping"), what="it is stopping")
    stage.terminate()
    assert stage.wait(5) > 0
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0, 0) == 0
