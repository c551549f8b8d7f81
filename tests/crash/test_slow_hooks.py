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


def test_forty_threads_that_hang_cost_their_subjects_and_in_the_end_the_liveness(
    start: Starter, real_kafka: RealKafka, journal: Journal
) -> None:
    """P5, P10, cases: hung-sync-hook. Others are handled, /livez names the hook in the end, and SIGTERM ends it in time."""
    stage = start(drain_seconds=1, stuck_seconds=2)
    for subject in range(40):
        for version in (1, 2):
            send(real_kafka, stage, "short.wait", f"s{subject}", version, partition=0)
    eventually(lambda: stage.metric("hookline_stuck_hooks", hook="short") == 40, 40, what="all are stuck")
    for subject in range(100):
        send(real_kafka, stage, "slow.pass", f"free{subject}", 1, partition=0)
    eventually(lambda: len(journal.handled()) == 100, 30, what="the others are handled")
    assert len(journal.entries("began", hook="short")) == 40
    eventually(lambda: stage.ask("/livez")[0] == 503, what="it is not live")
    assert "short stuck" in stage.ask("/livez")[1]
    assert stage.stop(12) == 0
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0) == 0
    journal.open_gate()
    stage.restart()
    eventually(lambda: len(journal.handled()) == 180, 40, what="all are handled")
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), what="all is committed")
    assert stage.stop() == 0


def test_a_hook_that_blocks_the_event_loop_is_named(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P10, cases: hung-sync-hook, loop-blocking-and-close. The log says who, where and how long; the group notices nothing."""
    stage = start()
    stage.wait_until_ready()
    send(real_kafka, stage, "slow.block", "s", 1)
    eventually(lambda: stage.lines("the event loop is blocked, nothing else runs"), what="it is said while it lasts")
    assert not stage.is_live()
    journal.open_gate()
    eventually(lambda: journal.ended("s") == [1], what="it is handled")
    (blocked,) = stage.lines("the event loop is blocked, nothing else runs")
    assert blocked["hook"] == "slow"
    assert "_sleep_until" in blocked["stack"]
    eventually(lambda: stage.lines("the event loop turns again"), what="its end is said")
    assert stage.metric("hookline_loop_lag_seconds") > 1
    assert stage.metric("hookline_loop_blocked_total", hook="slow") == 1
    assert not [line for line in stage.lines("partitions let go") if line["partitions"]]
    assert stage.stop() == 0


def _has_run_for(stage: StageProcess, seconds: float) -> bool:
    return stage.metric("hookline_oldest_unsettled_seconds") > seconds
