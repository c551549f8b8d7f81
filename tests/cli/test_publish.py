"""`hookline publish`: events from a file or a pipe to the hook topic."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.domains import settings_text
from tests.support.ports import free_port
from tests.support.waiting import eventually

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
        pytest.param(json.dumps(EVENT | {"version": 0}), "version", id="nothing to make an id of"),
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


def test_a_list_without_events_publishes_nothing_and_says_so(command_line: CommandLine) -> None:
    """No event is no failure: a script may have none today."""
    command_line.write("hookline.toml", settings_text("submitqueue", "127.0.0.1:1"))
    done = command_line.run("publish", "--file", "-", "--output", "json", stdin="[]")
    assert (done.code, done.json()) == (0, {"published": []})
    assert done.err.count("\n") == 1


def test_a_file_that_is_missing_is_named(command_line: CommandLine) -> None:
    """The path is told; nothing is said of a form that nobody could read."""
    command_line.write("hookline.toml", settings_text("submitqueue", "127.0.0.1:1"))
    done = command_line.run("publish", "--file", "gone.json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("hookline: gone.json: ")
    assert "JSON" not in done.err


def test_ctrl_c_ends_a_command_that_waits(command_line: CommandLine) -> None:
    """A person who sees that the address is wrong need not wait until it is given up."""
    command_line.write("hookline.toml", settings_text("submitqueue", "192.0.2.1:9092"))
    command_line.write("event.json", json.dumps(EVENT))
    waiting = command_line.start("publish", "--file", "event.json")
    eventually(lambda: _waits_for_kafka(waiting.process.pid), 30, what="the command waits for Kafka")
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.process.wait(4) == 130


def _waits_for_kafka(pid: int) -> bool:
    """Tell whether a process has threads of a Kafka client."""
    names = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm"))
    return any(name.startswith("rdk:broker") for name in names)


def test_an_option_that_no_client_knows_is_named(command_line: CommandLine) -> None:
    """What the client says of it is told in a sentence."""
    command_line.write("hookline.toml", settings_text("submitqueue", "127.0.0.1:1", '[kafka.producer]\n"lingr.ms" = 5'))
    done = command_line.run("publish", "--file", "-", stdin=json.dumps(EVENT))
    assert (done.code, done.out) == (1, "")
    assert '"lingr.ms"' in done.err
    assert "KafkaError{" not in done.err


def test_a_broker_that_is_away_is_named(command_line: CommandLine) -> None:
    """A one-shot command does not wait for a broker for ever: it ends 1 and names the address and where that was set."""
    address = f"127.0.0.1:{free_port()}"
    command_line.write("hookline.toml", settings_text("submitqueue", address))
    done = command_line.run("publish", "--file", "-", stdin=json.dumps(EVENT), seconds=15)
    assert (done.code, done.out) == (1, "")
    assert address in done.err.splitlines()[-1]
    assert "hookline.toml" in done.err.splitlines()[-1]


def test_a_topic_that_is_missing_is_named(command_line: CommandLine, real_kafka: RealKafka) -> None:
    """A topic is never made in passing."""
    command_line.write("hookline.toml", settings_text("never-made", real_kafka.bootstrap))
    done = command_line.run("publish", "--file", "-", stdin=json.dumps(EVENT), seconds=15)
    assert (done.code, done.out) == (1, "")
    assert "never-made-hook" in done.err
    assert "never-made-hook" not in real_kafka.partitions_by_topic()
