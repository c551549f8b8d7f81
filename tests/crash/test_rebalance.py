"""Replicas come and go: nothing is committed for somebody else, nothing is lost, and a clean leave repeats nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.conftest import make_domain
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal, StageProcess

_PARTITIONS = range(4)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_replica_joins_while_a_slow_hook_runs(
    start: Starter, real_kafka: RealKafka, journal: Journal, protocol: str
) -> None:
    """P5, P13, cases: stale-commit-after-revoke, pause-state, rebalance-during-retry-drops.

    A slow hook runs in each partition of a full, resting window when a second replica joins: what moves is begun anew
    there, nothing of it is committed by the first, nothing is dead-lettered; then all is handled, in order.
    """
    options = {"group.protocol": protocol}
    first = start(consumer=options, consume={"window_records": 4})
    for partition in _PARTITIONS:
        for version in range(1, 9):
            send(real_kafka, first, "slow.wait", f"s{partition}", version, partition=partition)
    eventually(lambda: len(journal.entries("began")) == 4, 40, what="a hook runs in every partition")
    second = start(domain=first.domain, consumer=options, consume={"window_records": 4})
    eventually(lambda: _begun_by(second, journal), 40, what="the second replica has begun what moved")
    assert set(real_kafka.committed(first.group, first.hook_topic).values()) <= {0}
    journal.open_gate()
    eventually(lambda: real_kafka.settled(first.group, first.hook_topic), 40, what="all is committed")
    moved = {entry.subject for entry in journal.entries("began") if entry.pid == second.pid}
    for partition in _PARTITIONS:
        subject = f"s{partition}"
        assert journal.began(subject) == ([1] if subject in moved else []) + list(range(1, 9))
    assert first.stop() == second.stop() == 0
    assert real_kafka.read(first.dead_letter_topic) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_replica_without_a_partition_is_ready(start: Starter, real_kafka: RealKafka, protocol: str) -> None:
    """More replicas than partitions: the one that has nothing to do has joined, and a rollout does not wait for it."""
    first = start(domain=make_domain(real_kafka, partitions=1), consumer={"group.protocol": protocol})
    second = start(domain=first.domain, consumer={"group.protocol": protocol})
    for stage in (first, second):
        stage.wait_until_ready()
    eventually(lambda: first.assigned() | second.assigned() == {0}, what="one of them has the partition")
    assert first.stop() == second.stop() == 0


def test_a_clean_leave_repeats_nothing(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P4, P5, cases: commit-highest-seen. One of two replicas is stopped under load: every event is handled exactly once."""
    first = start()
    first.wait_until_ready()
    second = start(domain=first.domain)
    eventually(lambda: _share(first, second), 40, what="both have partitions")
    for version in range(1, 21):
        for subject in range(12):
            send(real_kafka, first, "slow.work", f"s{subject}", version)
    eventually(lambda: _begun_by(second, journal), what="the second replica works")
    assert second.stop() == 0
    eventually(lambda: real_kafka.settled(first.group, first.hook_topic), 40, what="all is committed")
    for subject in range(12):
        assert journal.ended(f"s{subject}") == list(range(1, 21))
    assert first.stop() == 0


def test_a_stop_during_a_rebalance(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P5, cases: loop-blocking-and-close. SIGTERM while a revoke waits for a hook: it ends in time, nothing is lost."""
    first = start(drain_seconds=1)
    for partition in _PARTITIONS:
        send(real_kafka, first, "slow.wait", f"s{partition}", 1, partition=partition)
    eventually(lambda: len(journal.entries("began")) == 4, 40, what="a hook runs in every partition")
    second = start(domain=first.domain)
    eventually(lambda: first.metric("hookline_rebalances_total", kind="revoked"), 40, what="a revoke begins")
    assert first.stop(25) == 0
    assert set(real_kafka.committed(first.group, first.hook_topic).values()) <= {0}
    journal.open_gate()
    eventually(lambda: real_kafka.settled(first.group, first.hook_topic), 40, what="all is committed")
    assert {f"s{partition}" for partition in _PARTITIONS} == {subject for subject, _ in journal.handled()}
    assert second.stop() == 0


def _begun_by(stage: StageProcess, journal: Journal) -> bool:
    return any(entry.pid == stage.pid for entry in journal.entries("began"))


def _share(first: StageProcess, second: StageProcess) -> bool:
    mine, yours = first.assigned(), second.assigned()
    return bool(mine) and bool(yours) and mine | yours == set(_PARTITIONS)
