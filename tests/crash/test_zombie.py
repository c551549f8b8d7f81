"""A process that was away, or is killed at any moment: what it still says changes nothing, and nothing is lost."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

import pytest

from hookline.contract import DeadLetter, DeadLetterClass, decode_record
from tests.crash.conftest import make_domain
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal, StageProcess

_VERSIONS = range(1, 5)
_SUBJECTS, _EACH, _KILLS = 12, 25, 5


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_zombie_still_does_changes_nothing(
    start: Starter, real_kafka: RealKafka, journal: Journal, protocol: str
) -> None:
    """P1, P3, P5, P13, cases: stale-commit-after-revoke.

    Stopped beyond its session while hooks run that cannot be cancelled; a second process takes over; then it goes on.
    That one of its hooks succeeds there and another fails is neither committed nor dead-lettered, and nothing follows:
    all is handled in the second, in order.
    """
    options = {"group.protocol": protocol}
    zombie = start(domain=make_domain(real_kafka, partitions=1), consumer=options, drain_seconds=0.5)
    send(real_kafka, zombie, "slow.ignore", "good", 1)
    send(real_kafka, zombie, "slow.ignore-and-fail", "bad", 1)
    for version in _VERSIONS[1:]:
        send(real_kafka, zombie, "slow.pass", "good", version)
    eventually(lambda: _begun_by(zombie, journal) == [("good", 1), ("bad", 1)], 40, what="both run")
    zombie.freeze()
    second = start(domain=zombie.domain, consumer=options)
    eventually(lambda: _begun_by(second, journal) == [("good", 1), ("bad", 1)], 60, what="the second has taken over")
    zombie.thaw()
    eventually(lambda: not zombie.assigned(), 60, what="the first has learnt it")
    journal.open_gate(zombie.pid)
    eventually(lambda: len(journal.entries("ended") + journal.entries("failed")) == 2, what="its hooks have ended")
    assert zombie.stop() == 0
    assert _begun_by(zombie, journal) == [("good", 1), ("bad", 1)]
    assert real_kafka.committed(zombie.group, zombie.hook_topic).get(0, 0) == 0
    assert real_kafka.read(zombie.dead_letter_topic) == []
    journal.open_gate()
    eventually(lambda: real_kafka.settled(zombie.group, zombie.hook_topic), 60, what="all is committed")
    handled = [entry.version for entry in journal.entries("ended") if entry.pid == second.pid]
    assert handled == list(_VERSIONS)
    assert [letter.key for letter in real_kafka.read(zombie.dead_letter_topic)] == [b"bad"]
    assert second.stop() == 0


def test_kills_at_any_moment_lose_nothing(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """P1, P3, P5, cases: overtaken-failure, dlq-unconfirmed.

    Killed at random points of a load in which one event in ten fails for good: each is handled or has a dead letter,
    perhaps two, and the first run of each is in the order of its subject. Nobody is blamed for the kills.
    """
    stage = start(consumer={"group.instance.id": "stage-0"}, consume={"concurrency": 8})
    for version in range(1, _EACH + 1):
        for subject in range(_SUBJECTS):
            act = "slow.fail" if _is_bad(subject, version) else "slow.work"
            send(real_kafka, stage, act, f"s{subject}", version)
    for count in sorted(random.Random(4).sample(range(1, _SUBJECTS * _EACH), _KILLS)):  # noqa: S311 - a test's points
        eventually(partial(_are_over, journal, count), 60, what="a part is over")
        stage.kill()
        stage.restart()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 90, what="all is committed")
    everything = {(f"s{subject}", version) for subject in range(_SUBJECTS) for version in range(1, _EACH + 1)}
    bad = {
        (f"s{subject}", version)
        for subject in range(_SUBJECTS)
        for version in range(1, _EACH + 1)
        if _is_bad(subject, version)
    }
    assert journal.handled() == everything - bad
    letters = [
        DeadLetter.from_record(each.key, each.value, each.headers) for each in real_kafka.read(stage.dead_letter_topic)
    ]
    assert {_event(letter) for letter in letters} == bad
    assert {letter.letter_class for letter in letters} == {DeadLetterClass.PERMANENT}
    for subject in range(_SUBJECTS):
        assert list(dict.fromkeys(journal.began(f"s{subject}"))) == list(range(1, _EACH + 1))
    assert stage.stop() == 0


def _begun_by(stage: StageProcess, journal: Journal) -> list[tuple[str, int]]:
    return [(entry.subject, entry.version) for entry in journal.entries("began") if entry.pid == stage.pid]


def _is_bad(subject: int, version: int) -> bool:
    return (subject + version) % 10 == 0


def _are_over(journal: Journal, count: int) -> bool:
    return (
        len({(entry.subject, entry.version) for entry in journal.entries() if entry.what in {"ended", "failed"}})
        >= count
    )


def _event(letter: DeadLetter) -> tuple[str, int]:
    event = decode_record(letter.key, letter.value, letter.headers)
    return event.subject, event.version
