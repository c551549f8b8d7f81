"""A backlog that is far larger than the memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hookline import Event
from hookline.contract import encode_event
from tests.crash.conftest import make_domain
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.crash.conftest import Starter
    from tests.support.kafka import RealKafka
    from tests.support.stage import Journal

_PARTITIONS = 12
_EVENTS = 600
_EVENT_BYTES = 900_000
_MOST_KIB = 400 * 1024


def test_large_events_on_many_partitions_stay_within_the_memory(
    start: Starter, real_kafka: RealKafka, journal: Journal
) -> None:
    """P13, cases: memory-backpressure. 540 MB wait on twelve partitions, hooks hang: the process takes 400 MiB at most.

    All is handled once they go on, and nothing is left in hand.
    """
    domain = make_domain(real_kafka, partitions=_PARTITIONS)
    for number in range(_EVENTS):
        event = Event.versioned(
            source="crash", type="slow.wait", subject=f"s{number}", version=1, payload={"blob": "x" * _EVENT_BYTES}
        )
        record = encode_event(event)
        real_kafka.send(f"{domain}-hook", record.key, record.value, record.headers, partition=number % _PARTITIONS)
    stage = start(domain=domain)
    eventually(lambda: stage.metric("hookline_paused_partitions") == _PARTITIONS, 120, what="all partitions rest")
    journal.open_gate()
    eventually(lambda: real_kafka.settled(stage.group, stage.hook_topic), 120, what="all is handled")
    assert _peak_kib(stage.pid) < _MOST_KIB
    assert len(journal.handled()) == _EVENTS
    eventually(lambda: stage.metric("hookline_lanes") == 0, what="nothing is left in hand")
    assert stage.stop() == 0


def _peak_kib(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])
