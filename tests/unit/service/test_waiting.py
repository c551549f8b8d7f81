"""Staying up while the settings cannot be used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2
import pytest

from hookline.service import ListenAddress, ListenError, Problem, SettingsError, hold_off, wait_until_usable
from tests.support.ports import free_port
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS = "hookline.service._waiting._TRY_SECONDS"


@pytest.fixture
def listen() -> ListenAddress:
    return ListenAddress("127.0.0.1", free_port())


@pytest.fixture
def taken() -> Iterator[ListenAddress]:
    import socket  # noqa: PLC0415 - for this one fixture

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield ListenAddress("127.0.0.1", server.getsockname()[1])


class Loading:
    """Settings that cannot be used until `problem` is taken away."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.tries = 0

    def __call__(self) -> str:
        """Load."""
        self.tries += 1
        if self.problem:
            raise SettingsError([Problem(self.problem, "hookline.toml")])
        return "usable"


async def ready(listen: ListenAddress) -> tuple[int, str]:
    """Ask `/readyz`; status 0 when nobody listens."""
    async with httpx2.AsyncClient() as client:
        try:
            answer = await client.get(f"http://{listen}/readyz")
        except httpx2.ConnectError:
            return 0, ""
        return answer.status_code, answer.text


async def test_what_is_usable_is_taken_without_listening(taken: ListenAddress) -> None:
    """Nothing is listened on when there is nothing to wait for: the address may be the service's own."""
    assert await wait_until_usable(lambda: "usable", taken, asyncio.Event()) == "usable"


async def test_it_answers_until_the_settings_are_mended(listen: ListenAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/readyz` tells the problem of the latest try; when there is none the value comes back and the port is free."""
    monkeypatch.setattr(_SECONDS, 0.01)
    loading = Loading("drain_secnds is unknown")
    waiting = asyncio.create_task(wait_until_usable(loading, listen, asyncio.Event()))
    await eventually_async(lambda: loading.tries > 1, what="a second try")
    assert await ready(listen) == (503, "settings: hookline.toml: drain_secnds is unknown\n")
    loading.problem = "another"
    before = loading.tries
    await eventually_async(lambda: loading.tries > before + 1, what="tries with the other problem")
    assert "another" in (await ready(listen))[1]
    loading.problem = ""
    assert await waiting == "usable"
    assert await ready(listen) == (0, "")


async def test_told_to_stop_it_gives_up(listen: ListenAddress) -> None:
    """A stop ends the waiting at once, with nothing."""
    stopping = asyncio.Event()
    loading = Loading("wrong")
    waiting = asyncio.create_task(wait_until_usable(loading, listen, stopping))
    await eventually_async(lambda: loading.tries == 1, what="the first try")
    stopping.set()
    assert await waiting is None
    assert loading.tries == 1


def failing(error: Exception) -> Callable[[], str]:
    """Make a load that raises."""

    def load() -> str:
        raise error

    return load


async def test_what_is_no_problem_of_settings_passes(listen: ListenAddress) -> None:
    """A defect is not waited for: nobody could mend it in a file."""
    with pytest.raises(ZeroDivisionError):
        await wait_until_usable(failing(ZeroDivisionError()), listen, asyncio.Event())


async def test_an_address_that_is_taken_is_an_error(taken: ListenAddress) -> None:
    """Staying without answering would be staying for nothing."""
    with pytest.raises(ListenError):
        await wait_until_usable(Loading("wrong"), taken, asyncio.Event())


async def test_what_kafka_has_refused_is_told_until_the_next_try(
    listen: ListenAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that cannot be placed keeps a sidecar alive and not ready, and names why; a stop ends the wait."""
    problem, stopping = SettingsError([Problem('hook "ci": its group is new', "hookline.toml")]), asyncio.Event()
    waiting = asyncio.create_task(hold_off(problem, listen, stopping))
    status, text = 0, ""
    while not status:
        status, text = await ready(listen)
    assert status == 503
    assert 'hook "ci"' in text
    stopping.set()
    await waiting
    assert await ready(listen) == (0, "")
    monkeypatch.setattr("hookline.service._waiting._HOLD_OFF_SECONDS", 0.0)
    await hold_off(problem, listen, asyncio.Event())
