"""Whole `hookline run` processes, as a deployment runs them."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Self

from benchmarks.processes import ROOT, SystemFailedError, python_environment
from tests.support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["StageProcess", "settings_text"]

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_RUN = "from hookline.cli import main; main()"


class StageProcess:
    """One `hookline run`. A context manager: it is killed at the end, if it has not ended."""

    def __init__(self, folder: Path, name: str, settings: str) -> None:
        self._config = folder / f"{name}.toml"
        self._log = folder / f"{name}.log"
        self._port = free_port()
        self._config.write_text(f'{settings}[http]\nlisten = "127.0.0.1:{self._port}"\n', encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Whether it was started, and not told to end since."""
        return self._process is not None

    def start(self) -> None:
        """Start it and return at once."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-c", _RUN, "run", "--config", str(self._config)],
                cwd=ROOT,
                env=python_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self) -> None:
        """Return when `/readyz` is green."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if time.monotonic() > deadline or (self._process is not None and self._process.poll() is not None):
                raise SystemFailedError(f"hookline run did not get ready: {self._last_lines()}")
            time.sleep(_LOOK_SECONDS)

    def stop(self) -> None:
        """Send SIGTERM and wait for the end. Raises SystemFailedError when it is not a clean one."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise SystemFailedError(f"hookline run did not end within {_STOP_SECONDS:g} s of SIGTERM") from None
        self._process = None
        if code:
            raise SystemFailedError(f"hookline run ended {code}: {self._last_lines()}")

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def _last_lines(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-5:])


def settings_text(bootstrap: str, topic: str, group: str, app: str) -> str:
    """Write the settings file of a stage."""
    return f"""\
domain = "bench"
app = "{app}"
[kafka.common]
"bootstrap.servers" = "{bootstrap}"
[topics]
hook = "{topic}"
dead_letters = "{topic}_dlq"
[groups]
hook = "{group}"
dead_letters = "{group}-dlq"
"""
