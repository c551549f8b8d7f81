"""What is known of an event in retry outlives its process, however that ends."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from hookline.contract import DeadLetter
from tests.crash.conftest import make_domain
from tests.support.positions import hooks_of, marks_of
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka, StoredRecord
    from tests.support.positions import Standing
    from tests.support.stage import Journal, StageProcess

_ATTEMPTS = 6
_PATIENT = {"max_attempts": _ATTEMPTS, "initial_seconds": 1.0, "max_seconds": 1.0}
_EVENTS = 12


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_attempts_and_successes_outlive_the_process(
    start: Starter, real_kafka: RealKafka, journal: Journal, end: str
) -> None:
    """P6. Ended twice while its events are in retry: a hook that succeeded is not run again, none beyond its budget.

    After SIGKILL a hook may have had one run more for each crash that it ran in, or that came before the next commit.
    """
    stage = start(domain=make_domain(real_kafka, partitions=1), retry=_PATIENT)
    for number in range(_EVENTS):
        send(real_kafka, stage, "pair.pass.time-out", f"s{number}", 1)
    for tries in (1, 3):
        eventually(partial(_all_are_tried, real_kafka, stage, tries), 60, what="all are tried")
        _end(stage, end)
        stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="all is committed")
    most = _ATTEMPTS if end == "SIGTERM" else _ATTEMPTS + 2
    assert set(_runs(journal, "first").values()) == {1}
    assert len(_runs(journal, "second")) == _EVENTS
    assert set(_runs(journal, "second").values()) <= set(range(_ATTEMPTS, most + 1))
    assert {letter.key for letter in real_kafka.read(stage.dead_letter_topic)} == {b"s%d" % n for n in range(_EVENTS)}
    assert stage.stop() == 0


def test_attempts_and_successes_move_with_their_partition(
    start: Starter, real_kafka: RealKafka, journal: Journal
) -> None:
    """P6. A replica joins and leaves while events are in retry: no hook that succeeded runs again, budgets are exact."""
    first = start(retry=_PATIENT)
    for number in range(_EVENTS):
        send(real_kafka, first, "pair.pass.time-out", f"s{number}", 1, partition=number % 4)
    eventually(lambda: len(_runs(journal, "second")) == _EVENTS, 40, what="all are tried")
    second = start(domain=first.domain, retry=_PATIENT)
    eventually(lambda: any(entry.pid == second.pid for entry in journal.entries("began")), 40, what="it has some")
    assert second.stop() == 0
    eventually(lambda: real_kafka.settled(first.group, first.hook_topic), 60, what="all is committed")
    assert set(_runs(journal, "first").values()) == {1}
    assert set(_runs(journal, "second").values()) == {_ATTEMPTS}
    assert len(real_kafka.read(first.dead_letter_topic)) == _EVENTS
    assert first.stop() == 0


def test_a_success_outlives_a_kill_during_the_first_attempt(
    start: Starter, real_kafka: RealKafka, journal: Journal
) -> None:
    """P6. One hook is done, its sibling still runs, a commit has told it: after SIGKILL the sibling alone runs again."""
    stage = start()
    place = send(real_kafka, stage, "pair.pass.wait", "s", 1)
    eventually(_said_of(real_kafka, stage, place, "first", [("done", 0)]), 40, what="the success is committed")
    stage.kill()
    journal.open_gate()
    stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="it is committed")
    assert (_runs(journal, "first"), _runs(journal, "second")) == ({("s", 1): 1}, {("s", 1): 2})
    assert real_kafka.read(stage.dead_letter_topic) == []
    assert stage.stop() == 0


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_failure_outlives_an_end_during_the_first_attempt(
    start: Starter, real_kafka: RealKafka, journal: Journal, end: str
) -> None:
    """P6, P7. One hook failed for good, its sibling still runs, a commit has told it: the sibling alone runs again."""
    stage = start(drain_seconds=0.2)
    place = send(real_kafka, stage, "pair.fail.wait", "s", 1)
    eventually(_said_of(real_kafka, stage, place, "first", [("permanent", 1)]), 20, what="the failure is committed")
    assert journal.entries("failed", hook="first")
    _end(stage, end)
    journal.open_gate()
    stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="it is committed")
    assert (_runs(journal, "first"), _runs(journal, "second")) == ({("s", 1): 1}, {("s", 1): 2})
    assert [letter.key for letter in real_kafka.read(stage.dead_letter_topic)] == [b"s"]
    assert stage.stop() == 0


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_failure_before_the_end_is_named_in_the_dead_letter_after_it(
    start: Starter, real_kafka: RealKafka, journal: Journal, end: str
) -> None:
    """P6, P7. A hook failed for good, its sibling is in retry, the process ends: it is not run again, and the dead letter names it alone."""
    stage = start(retry={**_PATIENT, "max_attempts": 60})
    place = send(real_kafka, stage, "pair.fail.not-yet", "s", 1)
    eventually(_said_of(real_kafka, stage, place, "first", [("permanent", 1)]), 40, what="the failure is committed")
    _end(stage, end)
    journal.open_gate()
    stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 60, what="it is committed")
    (record,) = real_kafka.read(stage.dead_letter_topic)
    letter = DeadLetter.from_record(record.key, record.value, record.headers)
    assert [failure.hook for failure in letter.failures] == ["first"]
    assert _runs(journal, "first") == {("s", 1): 1}
    assert journal.handled() == {("s", 1)}
    assert stage.stop() == 0


def _end(stage: StageProcess, end: str) -> None:
    if end == "SIGTERM":
        assert stage.stop() == 0
    else:
        stage.kill()


def _runs(journal: Journal, hook: str) -> Counter[tuple[str, int]]:
    return Counter((entry.subject, entry.version) for entry in journal.entries("began", hook=hook))


def _all_are_tried(kafka: RealKafka, stage: StageProcess, times: int) -> bool:
    """Tell whether the committed metadata says so of each event."""
    marks = marks_of(kafka, stage.group, stage.hook_topic)
    said = [hooks_of(marks, offset, "first", "second") for offset in range(_EVENTS)]
    return all(len(each) == 2 and each[0] == ("done", 0) and each[1][1] >= times for each in said)


def _said_of(
    kafka: RealKafka, stage: StageProcess, place: StoredRecord, hook: str, wanted: list[Standing]
) -> Callable[[], bool]:
    """Give what tells whether the committed metadata says this of a hook."""

    def is_said() -> bool:
        marks = marks_of(kafka, stage.group, stage.hook_topic, place.partition)
        return hooks_of(marks, place.offset, hook) == wanted

    return is_said
