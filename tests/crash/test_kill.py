"""SIGKILL: nothing is lost, nothing overtakes, and what was written but not committed is written again at worst."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal

_SUBJECTS, _VERSIONS = 12, 20


def test_a_kill_under_load_loses_nothing(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P1, P3, P5, cases: overtaken-failure, commit-highest-seen.

    Killed twice in the middle of the load: every event is handled, and the first handling of each is in the order of
    its subject.
    """
    stage = start(consume={"concurrency": 8})
    for version in range(1, _VERSIONS + 1):
        for subject in range(_SUBJECTS):
            send(real_kafka, stage, "slow.work", f"s{subject}", version)
    for share in (4, 2):
        eventually(partial(_are_handled, journal, _SUBJECTS * _VERSIONS // share), 30, what="a part is handled")
        stage.kill()
        stage.restart()
    everything = {(f"s{subject}", version) for subject in range(_SUBJECTS) for version in range(1, _VERSIONS + 1)}
    eventually(lambda: journal.handled() == everything, 40, what="all are handled")
    for subject in range(_SUBJECTS):
        assert list(dict.fromkeys(journal.began(f"s{subject}"))) == list(range(1, _VERSIONS + 1))
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), what="all is committed")
    assert stage.stop() == 0
    assert real_kafka.read(stage.dead_letter_topic) == []


def test_a_kill_between_the_dead_letter_and_its_commit(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P1, P5, cases: dlq-unconfirmed. The letter of an event is written again after the kill at worst; none is missing."""
    stage = start()
    send(real_kafka, stage, "slow.wait", "before", 1, partition=0)  # keeps the commit from passing what comes next
    send(real_kafka, stage, "slow.fail", "bad", 1, partition=0)
    eventually(lambda: real_kafka.read(stage.dead_letter_topic), what="the dead letter is written")
    stage.kill()
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0, 0) == 0
    journal.open_gate()
    stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 40, what="all is committed")
    assert ("before", 1) in journal.handled()
    letters = real_kafka.read(stage.dead_letter_topic)
    assert [letter.key for letter in letters] in ([b"bad"], [b"bad", b"bad"])
    assert stage.stop() == 0


def _are_handled(journal: Journal, count: int) -> bool:
    return len(journal.handled()) >= count
