"""`hookline publish`: events from a file or a pipe to the hook topic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.domains import settings_text
from tests.support.ports import free_port

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine
    from tests.support.domains import Domain
    from tests.support.kafka import RealKafka

EVENT: dict[str, Any] = {
    "source": "submitqueue",
    "type": "batch.failed",
    "subject": "batch-778",
    "version": 4,
    "timestamp_ms": "1763640000000",
    "payload": {"batch_id": "batch-778", "error": "merge conflict"},
}
BAD = EVENT | {"version": 5, "payload": {"n": 2**53 + 1}}


def test_a_file_with_one_event(command_line: CommandLine, domain: Domain) -> None:
    """P2: what is printed as published stands in the topic, keyed by its subject, in binary mode."""
    command_line.write("event.json", json.dumps(EVENT))
    done = command_line.run("publish", "--file", "event.json")
    (record,) = domain.broker.read(domain.hook_topic)
    assert done.code == 0
    assert done.out == f"published submitqueue/batch.failed/batch-778/4 to {record.topic}/{record.partition}/0\n"
    assert record.key == b"batch-778"
    assert dict(record.headers)["ce_id"] == b"submitqueue/batch.failed/batch-778/4"


def test_a_list_from_standard_input(command_line: CommandLine, domain: Domain) -> None:
    """P2: the events of a list are published in their order, and the document says where each lies."""
    events = [EVENT | {"version": version} for version in (1, 2, 3)]
    done = command_line.run("publish", "--file", "-", "--output", "json", stdin=json.dumps(events))
    records = domain.broker.read(domain.hook_topic)
    assert done.code == 0
    assert done.json()["published"] == [
        {
            "id": f"submitqueue/batch.failed/batch-778/{version}",
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
        }
        for version, record in zip((1, 2, 3), records, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("not json", "events.json", id="no JSON"),
        pytest.param(json.dumps([EVENT, EVENT | {"colour": "red"}]), "event 2: colour", id="an unknown key"),
        pytest.param(json.dumps([EVENT, BAD]), "payload.n", id="a number that would change"),
    ],
)
def test_a_list_is_judged_before_anything_is_published(
    command_line: CommandLine, domain: Domain, text: str, named: str
) -> None:
    """One wrong event, named by its place in the list and its field, and none is published."""
    command_line.write("events.json", text)
    done = command_line.run("publish", "--file", "events.json")
    assert (done.code, done.out) == (1, "")
    assert "events.json" in done.err
    assert named in done.err
    assert domain.broker.read(domain.hook_topic) == []


def test_a_broker_that_is_away_is_named(command_line: CommandLine) -> None:
    """A one-shot command does not wait for a broker for ever: within 15 s it ends 1 and names the address."""
    address = f"127.0.0.1:{free_port()}"
    command_line.write("hookline.toml", settings_text("submitqueue", address))
    done = command_line.run("publish", "--file", "-", stdin=json.dumps(EVENT), seconds=15)
    assert (done.code, done.out) == (1, "")
    assert address in done.err.splitlines()[-1]


def test_a_topic_that_is_missing_is_named(command_line: CommandLine, real_kafka: RealKafka) -> None:
    """A topic is never made in passing."""
    command_line.write("hookline.toml", settings_text("never-made", real_kafka.bootstrap))
    done = command_line.run("publish", "--file", "-", stdin=json.dumps(EVENT), seconds=15)
    assert (done.code, done.out) == (1, "")
    assert "never-made-hook" in done.err
    assert "never-made-hook" not in real_kafka.partitions_by_topic()
