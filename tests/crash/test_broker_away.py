"""The broker hangs, dies, or is not where it should be: said by name, waited for, and nothing lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash.conftest import new_domain
from tests.support.ports import free_port
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.kafka._own import OwnKafka
    from tests.support.stage import Journal, StageProcess

_SUBJECTS = 10
_SAID_SECONDS = 10
_BACK_SECONDS = 60


def test_a_broker_that_hangs_under_load(start: Starter, own_kafka: OwnKafka, journal: Journal) -> None:
    """P1, P9, cases: minor (broker restart). Frozen under load: not ready with the reason, but live; then all is handled."""
    stage = start(kafka=own_kafka)
    _publish(own_kafka, stage, range(1, 31))
    eventually(lambda: len(journal.handled()) >= _SUBJECTS, what="it works")
    own_kafka.freeze()
    try:
        stage.wait_until_not_ready(own_kafka.bootstrap, _SAID_SECONDS + 5)
        stage.wait_until_not_ready("stage group: not joined")
        assert stage.is_live()
    finally:
        own_kafka.thaw()
    _publish(own_kafka, stage, range(31, 41))
    _expect_all(own_kafka, stage, journal, range(1, 41))


def test_a_dead_letter_waits_for_the_broker(start: Starter, own_kafka: OwnKafka, journal: Journal) -> None:
    """P1, P5, cases: dlq-unconfirmed. Given up while the broker hangs: held, visibly, and written when it is back."""
    stage = start(kafka=own_kafka, producer={"delivery.timeout.ms": "2000"})
    send(own_kafka, stage, "slow.wait-and-fail", "bad", 1, partition=0)
    eventually(lambda: journal.began("bad"), what="it works")
    own_kafka.freeze()
    try:
        journal.open_gate()
        stage.wait_until_not_ready("stage dead letters")
    finally:
        own_kafka.thaw()
    eventually(lambda: own_kafka.settled(stage.group, stage.hook_topic), _BACK_SECONDS, what="it is committed")
    assert {letter.key for letter in own_kafka.read(stage.dead_letter_topic)} == {b"bad"}
    assert stage.stop() == 0


def test_a_stop_while_the_broker_hangs(start: Starter, own_kafka: OwnKafka, journal: Journal) -> None:
    """P5, cases: loop-blocking-and-close. SIGTERM while the broker is unreachable: it ends in time all the same, and its event comes again."""
    stage = start(kafka=own_kafka, drain_seconds=0.5)
    send(own_kafka, stage, "slow.wait", "s", 1, partition=0)
    eventually(lambda: journal.began("s"), what="it works")
    own_kafka.freeze()
    try:
        stage.terminate()
        assert stage.wait(25) == 0
    finally:
        own_kafka.thaw()
    journal.open_gate()
    stage.restart()
    eventually(lambda: journal.handled() == {("s", 1)}, _BACK_SECONDS, what="it is handled after all")


def test_a_wrong_address_is_said_by_name(start: Starter, real_kafka: RealKafka) -> None:
    """Cases: silent-no-progress. Nobody listens at the address: named within ten seconds, not ready, live, and stoppable."""
    nowhere = f"127.0.0.1:{free_port()}"
    stage = start(domain=new_domain(), bootstrap=nowhere)
    assert real_kafka.bootstrap != nowhere
    stage.wait_until_not_ready(nowhere, _SAID_SECONDS)
    eventually(lambda: any(nowhere in line["reason"] for line in stage.lines("cannot work yet, trying on")))
    assert stage.is_live()
    assert stage.stop() == 0


def test_a_broker_that_dies_under_load_and_comes_back(start: Starter, own_kafka: OwnKafka, journal: Journal) -> None:
    """P1, P9, cases: minor (broker restart), silent-no-progress.

    Killed and started again: not ready but live meanwhile; then all is handled. A process that has no event is ready
    again, too: what its client reported is forgotten.
    """
    stage, idle = start(kafka=own_kafka), start(kafka=own_kafka)
    idle.wait_until_ready()
    _publish(own_kafka, stage, range(1, 31))
    eventually(lambda: len(journal.handled()) >= _SUBJECTS, what="it works")
    own_kafka.kill()
    for each in (stage, idle):
        each.wait_until_not_ready("", _SAID_SECONDS)
        assert each.is_live()
    own_kafka.start_again()
    _publish(own_kafka, stage, range(31, 41))
    _expect_all(own_kafka, stage, journal, range(1, 41))
    idle.wait_until_ready(_BACK_SECONDS)
    assert idle.stop() == 0


def _publish(kafka: RealKafka, stage: StageProcess, versions: Iterable[int]) -> None:
    for version in versions:
        for subject in range(_SUBJECTS):
            send(kafka, stage, "slow.work", f"s{subject}", version)


def _expect_all(kafka: RealKafka, stage: StageProcess, journal: Journal, versions: range) -> None:
    """Wait until all is handled and committed, and look for order, dead letters and readiness."""
    everything = {(f"s{subject}", version) for subject in range(_SUBJECTS) for version in versions}
    eventually(lambda: journal.handled() == everything, _BACK_SECONDS, what="all are handled")
    eventually(lambda: kafka.settled(stage.group, stage.hook_topic), _BACK_SECONDS, what="all is committed")
    for subject in range(_SUBJECTS):
        assert list(dict.fromkeys(journal.began(f"s{subject}"))) == list(versions)
    assert kafka.read(stage.dead_letter_topic) == []
    stage.wait_until_ready(_BACK_SECONDS)
    assert stage.stop() == 0
