"""An event that takes its process down is found, and nobody else is blamed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from hookline.contract import DeadLetter, DeadLetterClass
from tests.crash.conftest import make_domain
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal, StageProcess

_CRASHED = DeadLetterClass.CRASHED
_SECONDS = 150
_STATIC = {"group.instance.id": "stage-0"}
"""So that one that is started again need not wait for the session of its predecessor to end."""
_NEIGHBOURS = [(f"s{subject}", version) for version in range(1, 4) for subject in range(20)]


@pytest.mark.parametrize(("act", "max_crashes"), [("exit-by-signal", 3), ("exit-later", 1)])
def test_a_killer_is_dead_lettered_and_its_neighbours_are_handled(
    start: Starter, real_kafka: RealKafka, journal: Journal, act: str, max_crashes: int
) -> None:
    """P3, P11. Whether it kills at once or after a failed attempt: found after as many crashes alone as are allowed, and two.

    Its neighbours in the same partition, its successor among them, are handled, in order, and none is charged.
    """
    stage = start(domain=make_domain(real_kafka, partitions=1), consumer=_STATIC, consume={"max_crashes": max_crashes})
    for subject, version in _NEIGHBOURS:
        if (subject, version) == ("s3", 2):
            send(real_kafka, stage, f"slow.{act}", "killer", 1)
            send(real_kafka, stage, "slow.pass", "killer", 2)
        send(real_kafka, stage, "slow.work", subject, version)
    ends = stage.restart_until(partial(real_kafka.settled, stage.group, stage.hook_topic), most=8, seconds=_SECONDS)
    assert _letters(real_kafka, stage) == [("killer", _CRASHED)]
    assert ends == 2 + max_crashes  # among all others, in a batch, and then alone
    assert journal.handled() == {*_NEIGHBOURS, ("killer", 2)}
    for subject, version in _NEIGHBOURS:
        assert version == 1 or journal.began(subject).index(version) > journal.began(subject).index(version - 1)
    assert stage.metric("hookline_dead_lettered_total", **{"class": "crashed"}) == 1
    assert stage.stop() == 0


def test_killers_in_two_partitions_are_both_found(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P11. Each is charged only with the crashes that it made alone; what is good in both partitions is handled."""
    stage = start(domain=make_domain(real_kafka, partitions=2), consumer=_STATIC, consume={"max_crashes": 2})
    for partition in (0, 1):
        for number in range(10):
            send(real_kafka, stage, "slow.work", f"good{partition}-{number}", 1, partition=partition)
        send(real_kafka, stage, "slow.exit", f"killer{partition}", 1, partition=partition)
        send(real_kafka, stage, "slow.work", f"last{partition}", 1, partition=partition)
    stage.restart_until(partial(real_kafka.settled, stage.group, stage.hook_topic), most=14, seconds=_SECONDS)
    assert sorted(_letters(real_kafka, stage)) == [("killer0", _CRASHED), ("killer1", _CRASHED)]
    good = {f"good{partition}-{number}" for partition in (0, 1) for number in range(10)} | {"last0", "last1"}
    assert {subject for subject, _ in journal.handled()} == good
    assert stage.stop() == 0


def test_a_clean_stop_blames_nobody(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P6, P11, cases: cancel-is-not-failure. Under suspicion and running alone, stopped in order again and again: not charged."""
    stage = start(domain=make_domain(real_kafka, partitions=1), consumer=_STATIC, drain_seconds=0.2)
    send(real_kafka, stage, "slow.wait", "s", 1)
    ends: list[Callable[[], object]] = [stage.kill, stage.kill, *[stage.stop] * 3]
    for runs, end in enumerate(ends, 1):
        eventually(partial(_has_begun, journal, "s", runs), 60, what="it runs again")
        end()
        stage.restart()
    journal.open_gate()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="it is committed")
    assert journal.handled() == {("s", 1)}
    assert real_kafka.read(stage.dead_letter_topic) == []
    assert stage.stop() == 0


def test_a_crowd_that_is_too_much_is_taken_in_batches(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P11, cases: memory-backpressure. Too many events at once, none of them to blame: one crash, then batches, no dead letter."""
    stage = start(domain=make_domain(real_kafka, partitions=1), consumer=_STATIC, consume={"concurrency": 400})
    stage.wait_until_ready()
    assert stage.stop() == 0
    for number in range(300):
        send(real_kafka, stage, "slow.crowd", f"s{number}", 1)
    stage.restart()
    ends = stage.restart_until(partial(real_kafka.settled, stage.group, stage.hook_topic), most=3, seconds=_SECONDS)
    assert ends == 1
    assert len(journal.handled()) == 300
    assert real_kafka.read(stage.dead_letter_topic) == []
    assert stage.stop() == 0


def _has_begun(journal: Journal, subject: str, times: int) -> bool:
    return len(journal.began(subject)) == times


def _letters(kafka: RealKafka, stage: StageProcess) -> list[tuple[str, DeadLetterClass]]:
    records = kafka.read(stage.dead_letter_topic)
    letters = [DeadLetter.from_record(record.key, record.value, record.headers) for record in records]
    return [((letter.key or b"").decode(), letter.letter_class) for letter in letters]
