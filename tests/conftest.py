"""Fixtures of every shelf, the check for leaked threads and tasks, and what the summary says of the real broker."""

from __future__ import annotations

import inspect
import os
import platform
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.command_line import CommandLine
from tests.support.kafka import NoKafkaError, RealKafka, real_kafka
from tests.support.leaks import check_tasks, check_threads
from tests.support.missing import missing
from tests.support.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from pathlib import Path

_KAFKA = pytest.StashKey[RealKafka]()
_NO_KAFKA = pytest.StashKey[str]()
_RAN = pytest.StashKey[set[str]]()


# A machine that is busy is slow: how long an example takes says nothing of the code.
settings.register_profile("hookline", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "hookline")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_broker: runs on the real Kafka (set by itself where a test asks for it)")
    config.addinivalue_line("markers", "may_leak(reason): may leave threads and tasks behind, for the reason given")
    config.stash[_RAN] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function):
            _plumb(item)


def _plumb(test: pytest.Function) -> None:
    if "real_kafka" in test.fixturenames:
        test.add_marker(pytest.mark.real_broker)
    if test.get_closest_marker("may_leak"):
        return
    if inspect.iscoroutinefunction(test.obj):
        test.fixturenames.insert(0, "_no_tasks_left")
    test.fixturenames.insert(0, "_no_threads_left")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("real_broker"):
        item.config.stash[_RAN].add(item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give all skips for want of a real Kafka one place, so that they are one line."""
    report = yield
    reason = item.config.stash.get(_NO_KAFKA, None)
    if reason and report.skipped and reason in str(report.longrepr):
        report.longrepr = (__file__, 0, reason)
    return report


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
        pytestconfig.stash[_NO_KAFKA] = str(error)
        missing(str(error))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Give an HTTP receiver on loopback that records requests and answers 204, or what the test says."""
    with Receiver() as listening:
        yield listening


@pytest.fixture
def command_line(tmp_path: Path) -> Iterator[CommandLine]:
    """Give a runner of the installed `hookline` in the test's temporary folder."""
    with CommandLine(tmp_path) as runner:
        yield runner


@pytest.fixture
def _no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    check_threads(before)


@pytest.fixture
async def _no_tasks_left() -> AsyncIterator[None]:
    yield
    await check_tasks()
