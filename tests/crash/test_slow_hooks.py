"""Hooks that are late, slow or block: nobody else waits for them, and the group never notices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal, StageProcess


def test_a_hook_that_cannot_be_entered_yet(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P7, P9: its events wait uncharged while their other hook and other events go on; entered at last, it gets them."""
    stage = start()
    send(real_kafka, stage, "late.pass", "both", 1)
    send(real_kafka, stage, "slow.pass", "other", 1)
    eventually(lambda: journal.entries("ended", hook="late"), 40, what="the late hook ran")
    assert len(journal.entries("entering")) == 3
    assert len(journal.entries("began", hook="late")) == 1
    assert [entry.subject for entry in journal.entries("began", hook="slow")] in (["both", "other"], ["other", "both"])
    whats = [entry.what for entry in journal.entries() if entry.hook == "late" or entry.subject == "other"]
    assert whats.index("ended") < len(whats) - 1
    stage.wait_until_ready()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), what="all is committed")
    assert stage.stop() == 0
    assert journal.entries("left")
    assert real_kafka.read(stage.dead_letter_topic) == []


def test_a_blocking_function_blocks_its_subject_only(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P3, cases: hung-sync-hook. A hook that is a plain function sleeps: other subjects are handled, its own waits."""
    stage = start()
    for version in (1, 2):
        send(real_kafka, stage, "thread.wait", "blocked", version, partition=0)
    for subject in range(20):
        send(real_kafka, stage, "slow.pass", f"free{subject}", 1, partition=0)
    eventually(lambda: len(journal.handled()) == 20, 30, what="the others are handled")
    assert journal.began("blocked") == [1]
    assert stage.is_live()
    journal.open_gate()
    eventually(lambda: journal.ended("blocked") == [1, 2], what="the blocked ones are handled")
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), what="all is committed")
    assert stage.stop() == 0


def test_hooks_may_outlast_the_poll_interval(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P8, cases: poll-starved-by-retries. Hooks slower than max.poll.interval.ms run once, and nobody leaves the group."""
    options = {"max.poll.interval.ms": "6000", "session.timeout.ms": "6000"}
    stages = {name: start(consumer={**options, "group.protocol": name}) for name in ("classic", "consumer")}
    for name, stage in stages.items():
        send(real_kafka, stage, "slow.wait", f"{name} coroutine", 1, partition=0)
        send(real_kafka, stage, "thread.wait", f"{name} function", 1, partition=1)
    eventually(lambda: len(journal.entries("began")) == 4, 40, what="all run")
    for stage in stages.values():
        eventually(partial(_has_run_for, stage, 7), 40, what="the interval is over")
    journal.open_gate()
    for name, stage in stages.items():
        eventually(partial(real_kafka.settled, stage.group, stage.hook_topic), what="all is committed")
        assert (journal.began(f"{name} coroutine"), journal.began(f"{name} function")) == ([1], [1])
        assert not [line for line in stage.lines("partitions let go") if line["partitions"]]
        assert stage.stop() == 0


def _has_run_for(stage: StageProcess, seconds: float) -> bool:
    return stage.metric("hookline_oldest_unsettled_seconds") > seconds
