"""Topics that are missing at the start: said by name, waited for, and found without a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash.conftest import new_domain
from tests.support.stage import send
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal

_SAID_SECONDS = 10
_FOUND_SECONDS = 30


def test_a_missing_hook_topic_is_waited_for(start: Starter, real_kafka: RealKafka, journal: Journal) -> None:
    """Cases: silent-no-progress. Named within ten seconds, not ready but live; when it is made its events are handled."""
    domain = new_domain()
    real_kafka.create_topic(f"{domain}-hook_dlq", 1)
    stage = start(domain=domain)
    stage.wait_until_not_ready(f"topic {stage.hook_topic}:", _SAID_SECONDS)
    eventually(lambda: any(stage.hook_topic in line["reason"] for line in stage.lines("cannot work yet, trying on")))
    assert stage.is_live()
    real_kafka.create_topic(stage.hook_topic)
    send(real_kafka, stage, "slow.pass", "s", 1)
    stage.wait_until_ready(_FOUND_SECONDS)
    eventually(lambda: ("s", 1) in journal.handled(), _FOUND_SECONDS, what="its event is handled")
    assert stage.stop() == 0


def test_a_missing_dead_letter_topic_is_waited_for(start: Starter, real_kafka: RealKafka) -> None:
    """P1, P5, cases: silent-no-progress, dlq-unconfirmed. Named, not ready, the letter held; written when it is made."""
    domain = new_domain()
    real_kafka.create_topic(f"{domain}-hook", 1)
    stage = start(domain=domain, producer={"topic.metadata.propagation.max.ms": "2000"})
    stage.wait_until_not_ready(f"topic {stage.dead_letter_topic}:", _SAID_SECONDS)
    send(real_kafka, stage, "slow.fail", "bad", 1)
    stage.wait_until_not_ready("stage dead letters", _FOUND_SECONDS)
    assert real_kafka.committed(stage.group, stage.hook_topic).get(0, 0) == 0
    assert stage.is_live()
    real_kafka.create_topic(stage.dead_letter_topic, 1)
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), _FOUND_SECONDS, what="it is committed")
    assert [letter.key for letter in real_kafka.read(stage.dead_letter_topic)] == [b"bad"]
    stage.wait_until_ready(_FOUND_SECONDS)
    eventually(lambda: stage.metric("hookline_reconciled_total") == 1, _FOUND_SECONDS, what="it is reconciled")
    assert stage.stop() == 0
