"""The broker of this shelf: every test that asks for `broker` runs on the embedded one and on real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.kafka import EmbeddedBroker
from tests.support.kafka import NoKafkaError, TestBroker
from tests.support.kafka._own import own_kafka
from tests.support.missing import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kafka._own import OwnKafka


@pytest.fixture(scope="module")
def _embedded() -> Iterator[EmbeddedBroker]:
    """Run one embedded broker a module: it never forgets a topic, so it must not live long."""
    with EmbeddedBroker() as embedded:
        yield embedded


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_broker)])
def broker(request: pytest.FixtureRequest) -> TestBroker:
    """Give a broker: `.bootstrap`, `.kind`, `.topic()`, `.domain()`; from outside `.send()`, `.read()`, `.committed()`."""
    if request.param == "embedded":
        return TestBroker(request.getfixturevalue("_embedded"))
    return TestBroker(request.getfixturevalue("real_kafka"))


@pytest.fixture(scope="session")
def terse_kafka() -> Iterator[OwnKafka]:
    """Run a broker that takes records of 100 kB at most, and next to no metadata with a commit."""
    try:
        with own_kafka({"message.max.bytes": "100000", "offset.metadata.max.bytes": "20"}) as kafka:
            yield kafka
    except NoKafkaError as error:
        missing(str(error))
