"""Hooks that exit: from their own code, from a task that they started, from a timer. The process stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.contract import DeadLetter
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal

FAILING = ("leave", "leave-in-task", "leave-in-group")


def test_no_exit_of_a_hook_ends_the_process(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P1, case 14 (baseexception-from-hook): each exit is one attributed letter, the rest runs on, and SIGTERM ends it with 0."""
    stage = start()
    for version, act in enumerate((*FAILING, "leave-later"), 1):
        send(real_kafka, stage, f"slow.{act}", "leaving", version)
        send(real_kafka, stage, "slow.work", f"after {act}", 1)
    send(real_kafka, stage, "slow.pass", "leaving", 9)
    eventually(lambda: 9 in journal.ended("leaving"), 60, what="the last event is handled")
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="all is committed")
    assert not stage.has_ended()
    assert stage.is_live()
    assert journal.ended("leaving") == [4, 9]
    assert {subject for subject, _ in journal.handled()} == {
        "leaving",
        *(f"after {act}" for act in (*FAILING, "leave-later")),
    }
    letters = [
        DeadLetter.from_record(record.key, record.value, record.headers)
        for record in real_kafka.read(stage.dead_letter_topic)
    ]
    assert [failure.code for letter in letters for failure in letter.failures] == ["hook_crashed"] * len(FAILING)
    assert all("hook:slow" in map(str, letter.subjects) for letter in letters)
    assert stage.stop() == 0
