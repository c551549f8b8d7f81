"""Running `hookline` as a user would: the installed command, a folder of its own, a clean environment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CommandLine", "Finished", "Running"]

_HOOKLINE = Path(sys.executable).with_name("hookline")


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: exit code and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Parse standard output, whole, as one JSON document."""
        return json.loads(self.out)


class Running:
    """A command in the background, its output in one file."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def output(self) -> str:
        """Everything it printed so far, both streams."""
        return self._log.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = 30) -> str:
        """Return the output when it holds the text; NotInTimeError with the output when it ended or takes too long."""
        eventually(lambda: text in self.output or self.process.poll() is not None, seconds, what=f"{text!r} in output")
        assert text in self.output, f"ended {self.process.returncode} without {text!r}: {self.output[-2000:]}"
        return self.output

    def stop(self, seconds: float = 40) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End it at once; harmless when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


class CommandLine:
    """Runs `hookline` in a folder. A context manager: what still runs at its end is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {k: v for k, v in os.environ.items() if not k.startswith("HOOKLINE_")}
        # A process that may not keep its bytecode compiles all of hookline at every start.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._running: list[Running] = []

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder, such as `hookline.toml` or a module with hooks."""
        path = self.folder / name
        path.write_text(text)
        return path

    def run(
        self,
        *arguments: str | Path,
        stdin: str | int = "",
        seconds: float = 60,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a command to its end; subprocess.TimeoutExpired after so many seconds. `stdin` is text or a descriptor."""
        source = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
        done = subprocess.run(
            [_HOOKLINE, *arguments],
            cwd=self.folder,
            env=self.environment | dict(environment or {}),
            **source,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Running:
        """Start a command in the background."""
        log = self.folder / f"output-{len(self._running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [_HOOKLINE, *arguments],
                cwd=self.folder,
                env=self.environment | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._running.append(Running(process, log))
        return self._running[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for running in self._running:
            running.kill()
