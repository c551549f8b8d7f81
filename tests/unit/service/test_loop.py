"""The loop that a service runs on."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

import pytest

from hookline.service import run_service

if TYPE_CHECKING:
    from collections.abc import Coroutine


async def end(error: BaseException) -> None:
    """Raise what ends a program."""
    await asyncio.sleep(0)
    raise error


async def in_a_task(error: BaseException) -> list[BaseException]:
    """Await a task that raises it, as a hook does that starts one, and go on."""
    seen: list[BaseException] = []
    for start in (awaited, grouped):
        try:
            await start(end(error))
        except BaseException as caught:  # noqa: BLE001 - whatever arrives
            seen.append(caught)
    await asyncio.sleep(0)
    return seen


async def awaited(work: Coroutine[object, object, None]) -> None:
    """Run it in a task."""
    await asyncio.create_task(work)


async def grouped(work: Coroutine[object, object, None]) -> None:
    """Run it in a group."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work)


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt()], ids=lambda error: type(error).__name__)
def test_a_task_cannot_end_the_process(
    error: BaseException, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1, case 14 (baseexception-from-hook): whoever awaits the task learns of it, the loop goes on, and the log says so."""
    monkeypatch.setattr("signal.getsignal", lambda _: None)  # a service listens for Ctrl-C itself
    assert run_service(in_a_task(error)) == [error, error]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


def test_nobody_needs_to_await_it() -> None:
    """Case 14: neither does a task or a timer end the process that everybody has forgotten."""

    async def main() -> str:
        task = asyncio.create_task(end(SystemExit(0)))
        asyncio.get_running_loop().call_soon(_exit)
        await asyncio.wait((task,))
        assert isinstance(task.exception(), SystemExit)
        return "done"

    assert run_service(main()) == "done"


def _exit() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), ValueError()], ids=lambda each: type(each).__name__
)
def test_what_the_service_itself_raises_ends_it(error: BaseException) -> None:
    """Only the coroutine that is run ends the loop, by its result or by what it raises."""
    with pytest.raises(type(error)) as caught:
        run_service(end(error))
    assert caught.value is error


def test_ctrl_c_before_anybody_listens_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a service listens for signals itself, Ctrl-C is what it always is; a shell may have begun the tests without it."""
    monkeypatch.setattr(signal, "getsignal", {signal.SIGINT: signal.default_int_handler}.get)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(_interrupt)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run_service(main())


def _interrupt() -> None:
    raise KeyboardInterrupt
