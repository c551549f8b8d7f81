"""`hookline topics` on a real broker: made once, altered only from a file, partitions never."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from hookline.kafka import ClientConfig, TopicAdmin
from tests.support.domains import settings_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.command_line import CommandLine
    from tests.support.kafka import RealKafka

FILE = """\
[[topics]]
role = "hook"
partitions = 6
config = {"retention.ms" = 1234567}
[[topics]]
role = "dead_letters"
partitions = 3
config = {"retention.ms" = 7654321, "max.message.bytes" = 2000000}
"""


@pytest.fixture
def admin(real_kafka: RealKafka) -> Iterator[TopicAdmin]:
    with TopicAdmin(ClientConfig(common={"bootstrap.servers": real_kafka.bootstrap})) as admin:
        yield admin


@pytest.fixture
def name(real_kafka: RealKafka, command_line: CommandLine) -> Iterator[str]:
    """Name a domain without topics, in `hookline.toml`; its topics are deleted at the end."""
    name = f"topics{uuid.uuid4().hex[:12]}"
    control = f'[topics]\ncontrol = "{name}-control"\n'
    command_line.write("hookline.toml", settings_text(name, real_kafka.bootstrap, control))
    yield name
    made = [topic for topic in real_kafka.partitions_by_topic() if topic.startswith(name)]
    if made:
        for future in real_kafka.admin.delete_topics(made).values():
            future.result(30)


def partitions(kafka: RealKafka, name: str) -> dict[str, int]:
    """Tell the topics of a domain and their partitions."""
    return {topic: count for topic, count in kafka.partitions_by_topic().items() if topic.startswith(name)}


def test_topics_are_asked_for_made_and_then_left_alone(
    command_line: CommandLine, name: str, real_kafka: RealKafka
) -> None:
    """Check changes nothing and prints what to ask for; apply makes it; a second apply finds nothing to do."""
    asked = command_line.run("topics", "check")
    assert asked.code == 1
    assert f"kafka-topics.sh --create --topic {name}-hook --partitions 4" in asked.out
    assert f"--create --topic {name}-hook_dlq" in asked.out
    assert f"--create --topic {name}-control --partitions 1 --config cleanup.policy=compact" in asked.out
    assert partitions(real_kafka, name) == {}
    made = command_line.run("topics", "apply")
    assert (made.code, made.out.count("created ")) == (0, 3)
    assert partitions(real_kafka, name) == {f"{name}-hook": 4, f"{name}-hook_dlq": 4, f"{name}-control": 1}
    again = command_line.run("topics", "apply")
    assert (again.code, again.out.count("is as it should be")) == (0, 3)
    assert command_line.run("topics", "check").code == 0


def test_settings_are_altered_from_a_file_only_and_partitions_never(
    command_line: CommandLine, name: str, real_kafka: RealKafka, admin: TopicAdmin
) -> None:
    """P3: an existing topic is touched when a file says how it should be; its partition count stays, and that is said."""
    command_line.write("topics.toml", FILE)
    real_kafka.create_topic(f"{name}-hook", 2, retention_ms=99999)
    real_kafka.create_topic(f"{name}-hook_dlq", 3, retention_ms=99999)
    assert command_line.run("topics", "apply").code == 0
    assert admin.read_settings(f"{name}-hook")["retention.ms"] == "99999"
    checked = command_line.run("topics", "check", "--file", "topics.toml", "--output", "json")
    assert checked.code == 1
    assert checked.json()[0]["settings"] == {"retention.ms": {"found": "99999", "wanted": "1234567"}}
    applied = command_line.run("topics", "apply", "--file", "topics.toml")
    assert applied.code == 0
    assert "keeps its 2 partitions, not 6" in applied.out
    assert admin.read_settings(f"{name}-hook")["retention.ms"] == "1234567"
    assert admin.read_settings(f"{name}-hook_dlq")["max.message.bytes"] == "2000000"
    assert partitions(real_kafka, name) == {f"{name}-hook": 2, f"{name}-hook_dlq": 3, f"{name}-control": 1}


def test_a_file_in_which_dead_letters_would_not_fit_makes_nothing(
    command_line: CommandLine, name: str, real_kafka: RealKafka
) -> None:
    """P14: the file is judged before anything is made."""
    command_line.write("topics.toml", FILE.replace("2000000", "1000"))
    done = command_line.run("topics", "apply", "--file", "topics.toml")
    assert (done.code, done.out) == (1, "")
    assert "topics.toml" in done.err
    assert partitions(real_kafka, name) == {}
