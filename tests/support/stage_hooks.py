"""Hooks for tests of whole processes: an event's type says what they do, a journal what they did.

`app = "tests.support.stage_hooks:hooks"`. A type is `<hooks>.<act>`: `slow.wait` is handled by the hook `slow`, which
waits until the gate is open. `pair.<act>.<act>` is handled by the hooks `first` and `second`, each with an act of its
own. Journal and gate are files in the folder of the settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from hookline import Hooks
from tests.support.waiting import eventually, eventually_async

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline import Event
    from hookline.service import Settings

JOURNAL = "journal.jsonl"
GATE = "gate-is-open"
_LOOK_SECONDS = 0.01
_LONG_SECONDS = 600.0
_CROWD = 100
"""How many events at once a process can bear that handles `slow.crowd`."""


def hooks(settings: Settings) -> Hooks:
    """Make the hooks of a process."""
    world = World(settings.folder)
    slow = Coroutine(world, "slow", 1)
    return Hooks(
        {
            "slow.*": [slow],
            "pair.*": [Coroutine(world, "first", 1), Coroutine(world, "second", 2)],
            "thread.*": [InThread(world)],
            "short.*": [Short(world)],
            "late.*": [Late(world), slow],
        }
    )


class World:
    """The journal that all processes of a test write, and the gate that the test opens."""

    def __init__(self, folder: Path) -> None:
        self._gate = folder / GATE
        self._own_gate = folder / f"{GATE}-{os.getpid()}"
        self._path = folder / JOURNAL
        self._journal = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._here = 0

    def note(self, what: str, hook: str, event: Event | None = None) -> None:
        """Write a line, whole even when several processes write and one is killed."""
        about = {} if event is None else {"subject": event.subject, "version": event.version}
        line: dict[str, Any] = {"what": what, "hook": hook, "pid": os.getpid(), **about}
        os.write(self._journal, f"{json.dumps(line)}\n".encode())

    def began_before(self, hook: str, event: Event) -> int:
        """Count how often a hook has begun an event, in any process."""
        lines = map(json.loads, self._path.read_text().splitlines())
        began = Counter(
            (line["hook"], line.get("subject"), line.get("version")) for line in lines if line["what"] == "began"
        )
        return began[hook, event.subject, event.version]

    @contextlib.contextmanager
    def in_a_crowd(self) -> Iterator[None]:
        """Take the process down when too many are here at once, as memory does that runs out."""
        self._here += 1
        if self._here > _CROWD:
            os._exit(9)
        try:
            yield
        finally:
            self._here -= 1

    def gate_is_open(self) -> bool:
        """Tell whether those who wait may go on, here or everywhere."""
        return self._gate.exists() or self._own_gate.exists()

    async def until_open(self) -> None:
        """Wait for the gate."""
        await eventually_async(self.gate_is_open, _LONG_SECONDS)


class Coroutine:
    """A coroutine that does what its part of the type says.

    It passes, works a little, fails, waits at the gate, blocks the event loop, does not let itself be cancelled, or
    takes its process down.
    """

    def __init__(self, world: World, name: str, part: int) -> None:
        self.name = name
        self._world = world
        self._part = part

    async def handle(self, event: Event) -> None:
        """Act, and note the beginning and the end."""
        self._world.note("began", self.name, event)
        act = event.type.split(".")[self._part]
        self._exit(act, event)
        try:
            await self._act(act)
            self._fail(act)
        except ValueError:
            self._world.note("failed", self.name, event)
            raise
        self._world.note("ended", self.name, event)

    def _exit(self, act: str, event: Event) -> None:
        match act:
            case "exit":
                os._exit(9)
            case "exit-by-signal":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit-later" if self._world.began_before(self.name, event) > 1:
                os._exit(9)
            case "exit-later":
                raise TimeoutError("not the first time")

    async def _act(self, act: str) -> None:
        match act:
            case "work":
                await asyncio.sleep(_LOOK_SECONDS)
            case "crowd":
                with self._world.in_a_crowd():
                    await asyncio.sleep(20 * _LOOK_SECONDS)
            case "wait" | "wait-and-fail":
                await self._world.until_open()
            case "ignore" | "ignore-and-fail":
                await self._ignore_cancellation()
            case "give-in":
                await self._return_when_cancelled()
            case "block":
                _sleep_until(self._world)
            case "thread":
                await asyncio.to_thread(_sleep_until, self._world)
            case "leave" | "leave-in-task" | "leave-in-group" | "leave-later":
                await self._leave(act)

    async def _leave(self, act: str) -> None:
        match act:
            case "leave":
                sys.exit(0)
            case "leave-in-task":
                await asyncio.create_task(_exit())
            case "leave-in-group":
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(_exit())
                    tasks.create_task(self._world.until_open())
            case "leave-later":
                asyncio.get_running_loop().call_soon(sys.exit, 0)
                await asyncio.sleep(_LOOK_SECONDS)

    def _fail(self, act: str) -> None:
        match act:
            case "fail" | "wait-and-fail" | "ignore-and-fail":
                raise ValueError("it never works")
            case "time-out":
                raise TimeoutError("it never works, and may be tried again")
            case "not-yet" if not self._world.gate_is_open():
                raise TimeoutError("not before the gate is open")

    async def _ignore_cancellation(self) -> None:
        while not self._world.gate_is_open():
            try:
                await self._world.until_open()
            except asyncio.CancelledError:
                continue

    async def _return_when_cancelled(self) -> None:
        try:
            await self._world.until_open()
        except asyncio.CancelledError:
            return


class InThread:
    """A plain function, run in a thread that nothing can stop."""

    name = "thread"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, event: Event) -> None:
        """Hold the thread until the gate is open, unless told to pass."""
        self._world.note("began", self.name, event)
        if event.type.endswith(".wait"):
            _sleep_until(self._world)
        self._world.note("ended", self.name, event)


class Short(InThread):
    """The same with a short time limit."""

    name = "short"
    timeout_seconds = 0.2


class Late:
    """A context manager that can be entered at the third time only."""

    name = "late"

    def __init__(self, world: World) -> None:
        self._world = world
        self._entered = 0

    async def __aenter__(self) -> Self:
        """Fail twice."""
        self._entered += 1
        self._world.note("entering", self.name)
        if self._entered <= 2:
            raise ConnectionRefusedError("not up yet")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Note that it is left."""
        self._world.note("left", self.name)

    async def handle(self, event: Event) -> None:
        """Pass."""
        self._world.note("began", self.name, event)
        self._world.note("ended", self.name, event)


async def _exit() -> None:
    sys.exit(0)


def _sleep_until(world: World) -> None:
    eventually(world.gate_is_open, _LONG_SECONDS)
