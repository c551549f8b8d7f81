"""Fixtures of every shelf, the check for leaked threads and tasks, and what the summary says of the real broker."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import NoKafkaError, RealKafka, real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

_KAFKA = pytest.StashKey[RealKafka]()
_RAN = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_broker: runs on the real Kafka (set by itself where a test asks for it)")
    config.stash[_RAN] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "real_kafka" in item.fixturenames:
            item.add_marker(pytest.mark.real_broker)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("real_broker"):
        item.config.stash[_RAN].add(item.nodeid)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if kafka := config.stash.get(_KAFKA, None):
        count = len(config.stash[_RAN])
        python = platform.python_version()
        terminalreporter.write_line(f"real broker: {kafka}; {count} tests ran on it (Python {python})")


@pytest.fixture(scope="session", name="real_kafka")
def _real_kafka(pytestconfig: pytest.Config) -> Iterator[RealKafka]:
    """Give a real Kafka for the whole run; without one the tests are skipped, and fail when CI=true."""
    try:
        with real_kafka() as kafka:
            pytestconfig.stash[_KAFKA] = kafka
            yield kafka
    except NoKafkaError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
