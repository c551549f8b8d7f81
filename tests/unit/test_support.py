"""The tools that tests stand on: waiting, the leak checks, the receiver, and the settings of the test broker."""

from __future__ import annotations

import asyncio
import http.client
import threading
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka._settings import Addresses, as_environment, broker_settings
from tests.support.leaks import LeakError, check_tasks, check_threads
from tests.support.missing import missing
from tests.support.ports import free_ports
from tests.support.receiver import Answer
from tests.support.waiting import NotInTimeError, eventually, eventually_async

if TYPE_CHECKING:
    from tests.support.receiver import Receiver


def _post(url: str, body: bytes = b"") -> int:
    try:
        with urllib.request.urlopen(url, body, timeout=10) as answer:  # noqa: S310 -- loopback only
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_free_ports_differ() -> None:
    """Ports that are asked for together are different ones."""
    assert len(set(free_ports(20))) == 20


def test_eventually_returns_what_it_saw() -> None:
    """The first true answer is returned."""
    answers = iter([0, 0, 7])
    assert eventually(lambda: next(answers)) == 7


def test_eventually_has_a_deadline() -> None:
    """A condition that never holds raises."""
    with pytest.raises(NotInTimeError):
        eventually(lambda: False, 0)


async def test_eventually_async_lets_the_loop_run() -> None:
    """A task on the same loop gets its turn between two looks."""
    done = asyncio.Event()
    task = asyncio.create_task(asyncio.to_thread(lambda: None))
    task.add_done_callback(lambda _: done.set())
    assert await eventually_async(done.is_set)


def test_a_thread_left_running_is_a_leak() -> None:
    """A test that leaves a thread fails; one whose thread ends does not."""
    before, end = set(threading.enumerate()), threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    with pytest.raises(LeakError):
        check_threads(before, grace_seconds=0)
    end.set()
    check_threads(before)


async def test_a_task_left_running_is_a_leak() -> None:
    """A test that leaves a task on its loop fails; one whose task ends does not."""
    task = asyncio.create_task(asyncio.Event().wait())
    with pytest.raises(LeakError):
        await check_tasks(grace_seconds=0)
    task.cancel()
    await check_tasks()


def test_the_receiver_records_and_follows_its_script(receiver: Receiver) -> None:
    """Requests are kept whole and in order; scripted answers come first, then the default."""
    receiver.answer(503, Answer(HTTPStatus.OK, b"{}"))
    assert [_post(f"{receiver.url}/{n}", b'{"n": 1}') for n in range(3)] == [503, 200, 204]
    assert [request.path for request in receiver.wait_for(3)] == ["/0", "/1", "/2"]
    assert receiver.requests[0].json() == {"n": 1}
    assert receiver.requests[0].headers["content-length"] == "8"


def test_the_receiver_can_hang_up(receiver: Receiver) -> None:
    """Status 0 closes the connection without an answer."""
    receiver.answer(0)
    with pytest.raises(http.client.RemoteDisconnected):
        _post(receiver.url)


def test_the_receiver_can_hold_its_answer(receiver: Receiver) -> None:
    """A held answer goes out when the test says so."""
    release = threading.Event()
    receiver.answer(Answer(after=release))
    seen: list[int] = []
    caller = threading.Thread(target=lambda: seen.append(_post(receiver.url)))
    caller.start()
    receiver.wait_for(1)
    assert not seen
    release.set()
    caller.join()
    assert seen == [204]


@pytest.mark.parametrize("made", ["local", "container"])
def test_topics_are_never_made_by_themselves(made: str) -> None:
    """A missing topic is missing on every real broker of the tests, however it was got."""
    settings = broker_settings(Addresses("0.0.0.0:9092", "127.0.0.1:1", "localhost:9093"))
    if made == "container":
        assert as_environment(settings)["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    else:
        assert settings["auto.create.topics.enable"] == "false"


@pytest.mark.parametrize(("ci", "ends"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_what_is_missing_fails_only_where_nothing_may_be_left_out(
    monkeypatch: pytest.MonkeyPatch, ci: str, ends: type[BaseException]
) -> None:
    """A test that lacks a program is skipped on a laptop and fails with `CI=true`."""
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ends):
        missing("a program")
