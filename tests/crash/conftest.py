"""Whole processes: `stage` starts a `hookline run` on a domain of its own, `own_kafka` is a broker to take away."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, TypedDict

import pytest

from tests.support.kafka import NoKafkaError
from tests.support.kafka._own import OwnKafka, own_kafka
from tests.support.missing import missing
from tests.support.stage import Journal, Setting, StageProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Unpack

    from tests.support.command_line import CommandLine
    from tests.support.kafka import RealKafka


class Starter:
    """Starts `hookline run`."""

    def __init__(self, kafka: RealKafka, command_line: CommandLine) -> None:
        self._kafka = kafka
        self._command_line = command_line

    def __call__(
        self, *, kafka: RealKafka | None = None, domain: str = "", **settings: Unpack[Changes]
    ) -> StageProcess:
        """Start a stage on a domain of its own, or on one that is given, whose topics are not made."""
        kafka = kafka or self._kafka
        domain = domain or make_domain(kafka)
        settings.setdefault("bootstrap", kafka.bootstrap)
        return StageProcess(self._command_line, Setting(domain=domain, **settings))


class Changes(TypedDict, total=False):
    """Settings of a stage that a test changes."""

    bootstrap: str
    drain_seconds: float
    stuck_seconds: float
    consumer: Mapping[str, str]
    producer: Mapping[str, str]
    consume: Mapping[str, int]
    retry: Mapping[str, float]


@pytest.fixture
def start(real_kafka: RealKafka, command_line: CommandLine) -> Starter:
    """Give what starts stages; all are killed at the end of the test."""
    return Starter(real_kafka, command_line)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Give the journal of the test's hooks."""
    return Journal(tmp_path)


@pytest.fixture(scope="module", name="own_kafka")
def _own_kafka() -> Iterator[OwnKafka]:
    """Give a broker that a test may freeze and kill; without Java the tests are skipped, and fail when CI=true."""
    try:
        with own_kafka() as kafka:
            yield kafka
    except NoKafkaError as error:
        missing(str(error))


def make_domain(kafka: RealKafka, *, partitions: int = 4) -> str:
    """Make the topics of a domain that nobody used, and name it."""
    domain = new_domain()
    kafka.create_topic(f"{domain}-hook", partitions)
    kafka.create_topic(f"{domain}-hook_dlq", 1)
    return domain


def new_domain() -> str:
    """Name a domain that nobody used."""
    return f"crash{uuid.uuid4().hex[:12]}"
