"""A Kafka client that is broken for good ends its process, visibly and without a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal


def test_a_member_whose_name_is_taken_ends_and_commits_nothing(
    start: Starter, real_kafka: RealKafka, journal: Journal
) -> None:
    """P5, P13, cases: stale-commit-after-revoke. Fenced by another of its static name, it ends with code 1; its event is handled there."""
    static = {"group.instance.id": "stage-0"}
    first = start(consumer=static, drain_seconds=0.5)
    send(real_kafka, first, "slow.wait", "s", 1, partition=0)
    eventually(lambda: journal.began("s") == [1], 40, what="it runs")
    second = start(consumer=static, domain=first.domain)
    assert first.wait(60) == 1
    (line,) = first.lines("ended by a failure")
    assert "fenced" in line["error"].lower()
    assert real_kafka.committed(first.group, first.hook_topic).get(0, 0) == 0
    journal.open_gate()
    eventually(
        lambda: [entry.pid for entry in journal.entries("ended")] == [second.pid], 60, what="the other handles it"
    )
    eventually(lambda: real_kafka.settled(second.group, second.hook_topic), what="it is committed")
    assert second.stop() == 0
