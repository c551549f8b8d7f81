"""Systems as processes: started, told their task, heard, and ended."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import hookline
from benchmarks.task import MARK, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ROOT", "SystemFailedError", "SystemProcess", "module_command", "python_environment"]

ROOT = Path(__file__).parents[1]
_HEADER = f'{{"{MARK}":'
_ERROR_LINES = 15
_END_SECONDS = 15.0


class SystemFailedError(Exception):
    """A system did not do its task: it ended early, took too long, or handled something wrongly."""


class SystemProcess:
    """One system at its task. A context manager: it has ended afterwards, whatever happened.

    What it says is read all the time, so that it never waits for us.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this lives
        self._said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603 - a system of the benchmarks
            command,
            cwd=ROOT,
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._errors.close()

    def hear(self, key: str, seconds: float) -> dict[str, Any]:
        """Return the next document with this key. Raises SystemFailedError when it ends or is silent before."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                said = self._said.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise SystemFailedError(f"{self._name} did not tell {key!r} within {seconds:g} s") from None
            if said is None:
                raise SystemFailedError(f"{self._name} ended {self._process.wait()} early:\n{self._last_errors()}")
            if key in said:
                return said

    @property
    def _name(self) -> str:
        return " ".join(part for part in self._command if not part.startswith(("{", "/")))

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.startswith(_HEADER):
                    self._said.put(json.loads(line)[MARK])
        self._said.put(None)

    def _last_errors(self) -> str:
        self._errors.seek(0)
        return "\n".join(self._errors.read().decode(errors="replace").splitlines()[-_ERROR_LINES:])


def module_command(module: str, task: Task, python: str = sys.executable) -> list[str]:
    """Say how to run a module of `benchmarks.systems` on a task."""
    return [python, "-m", f"benchmarks.systems.{module}", task.as_json()]


def python_environment() -> dict[str, str]:
    """Return an environment in which any interpreter finds this tree and the hookline that is in use here."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE_")}
    source = Path(hookline.__file__).parents[1]
    return {**clean, "PYTHONPATH": f"{ROOT}{os.pathsep}{source}", "PYTHONUNBUFFERED": "1"}
