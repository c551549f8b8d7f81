"""The broker of this shelf: every test that asks for `broker` runs on the embedded one and on real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import TestBroker, embedded_bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kafka import RealKafka


@pytest.fixture(scope="module")
def _embedded() -> Iterator[str]:
    """One embedded broker a module: it never forgets a topic, so it must not live long."""
    with embedded_bootstrap() as bootstrap:
        yield bootstrap


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_broker)])
def broker(request: pytest.FixtureRequest) -> TestBroker:
    """Give a broker: `.bootstrap`, `.kind`, `.topic()`, `.domain()`; from outside `.send()`, `.read()`, `.committed()`."""
    if request.param == "embedded":
        return TestBroker(request.getfixturevalue("_embedded"))
    real: RealKafka = request.getfixturevalue("real_kafka")
    return TestBroker(real.bootstrap, real)
