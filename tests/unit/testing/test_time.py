from __future__ import annotations

import asyncio
import queue
import socket
import subprocess
import sys
import threading
from math import inf

import anyio
import pytest
import uvloop

from hookline.testing import HookStage, events
from hookline.testing._time import virtual_time
from tests.unit.testing.hooks import Comment


async def test_a_thread_comes_before_a_timer() -> None:
    """Time does not run away from a thread that works: it is waited for, and its result is there at the same moment."""
    with virtual_time() as time:
        began = time.now
        go_on = threading.Event()
        asyncio.get_running_loop().call_soon(go_on.set)
        waiting = asyncio.ensure_future(asyncio.wait_for(asyncio.to_thread(go_on.wait), 10))
        await time.let_pass(inf, waiting.done)
        assert waiting.result() is True
        assert time.now == began


async def test_a_socket_comes_before_a_timer_while_a_hook_runs() -> None:
    """A hook may really talk to a server: its answer comes before the hook's time limit."""
    answers: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(10))
        await writer.drain()
        writer.close()

    class Asks:
        name = "asks"
        timeout_seconds = 0.01

        async def handle(self, _: object) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello")
            answers.append(await reader.read())
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    async with server, HookStage({"*": [Asks()]}) as stage:
        stage.publish(events.batch_failed())
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts("asks")] == [True]
    assert answers == [b"hello"]


async def test_somebodys_own_thread_comes_before_a_timer_while_a_hook_runs() -> None:
    """A client with a thread of its own, as some databases have, answers before the hook's time limit."""
    calls: queue.SimpleQueue[asyncio.Future[int] | None] = queue.SimpleQueue()

    def answer() -> None:
        while (asked := calls.get()) is not None:
            asked.get_loop().call_soon_threadsafe(asked.set_result, 7)

    class Asks:
        name = "asks"
        timeout_seconds = 0.01

        async def handle(self, _: object) -> None:
            asked = asyncio.get_running_loop().create_future()
            calls.put(asked)
            assert await asked == 7

    client = threading.Thread(target=answer)
    client.start()
    async with HookStage({"*": [Asks()]}) as stage:
        stage.publish(events.batch_failed())
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts("asks")] == [True]
    calls.put(None)
    client.join()


async def test_a_silent_server_does_not_hold_time_up() -> None:
    """A server that never answers is waited for a moment; then time passes, up to the hook's limit."""

    class Asks:
        name = "asks"
        timeout_seconds = 5.0

        async def handle(self, _: object) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await reader.read()
            finally:
                writer.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with HookStage({"*": [Asks()]}) as stage:
            stage.publish(events.batch_failed())
            await stage.advance(5.5)
            [attempt] = stage.attempts("asks")
            assert attempt.ended_at == pytest.approx(5.0, abs=0.2)


async def test_what_never_waits_is_told() -> None:
    """A task that turns the loop for ever is told, instead of a test that never ends."""
    is_over = False

    def spin() -> None:
        if not is_over:
            asyncio.get_running_loop().call_soon(spin)

    spin()
    with virtual_time() as time, pytest.raises(RuntimeError, match="still busy"):
        await time.quiet()
    is_over = True


def test_a_loop_with_a_clock_of_its_own_is_refused() -> None:
    """The clock of uvloop cannot be replaced; that is said at once."""

    async def use() -> None:
        async with HookStage({"*": [Comment()]}):
            """Never come here."""

    with pytest.raises(RuntimeError, match="asyncio's event loop"):
        uvloop.run(use())


def test_any_runner_of_asyncio_will_do() -> None:
    """The stage needs a running loop and nothing else: asyncio.run, anyio."""

    async def use() -> list[bool]:
        async with HookStage({"*": [Comment()]}) as stage:
            stage.publish(events.batch_failed())
            await stage.settle()
            return [attempt.succeeded for attempt in stage.attempts()]

    assert asyncio.run(use()) == anyio.run(use) == [True]


def test_the_plugin_costs_nothing() -> None:
    """Loading the plug-in imports none of the product's dependencies, nor the product."""
    script = (
        "import sys, hookline.testing.pytest_plugin\n"
        "print([name for name in sys.modules if name in {'confluent_kafka', 'pydantic', 'google', 'httpx2'} "
        "or (name.startswith('hookline.') and not name.startswith('hookline.testing'))])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert ran.stdout.strip() == "[]"


def test_the_kit_needs_no_pytest() -> None:
    """Who tests with something else may use all but the plug-in: nothing else imports pytest."""
    script = (
        "import sys, hookline.testing as kit\n"
        "for name in kit.__all__: getattr(kit, name)\n"
        "print('pytest' in sys.modules or '_pytest' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert ran.stdout.strip() == "False"
