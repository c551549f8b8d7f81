"""The stage: `hookline run` in a process of its own, as in production, seen only from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from examples.proof._errors import ProofError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from examples.proof._broker import Domain

_HOOKLINE: Final = Path(sys.executable).with_name("hookline")
_READY_SECONDS: Final = 60.0
_IDLE_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 40.0
_LOOK_SECONDS: Final = 0.1
_LAST_LINES: Final = 5


class Stage:
    """Runs the stage of a domain. A context manager.

    Entered when the stage is ready; left when it has drained and ended. Raises ProofError when it does either otherwise.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._log = domain.config.with_name("stage.log")

    def __enter__(self) -> Self:
        self._process = self._start()
        try:
            self._wait_until_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self._end()
        if code and kind is None:
            raise self._failed(f"the stage ended {code} instead of 0")

    def wait_until_settled(self, count: int, told: Callable[[int], None]) -> None:
        """Wait until so many records are settled, or until nothing moves any more; `told` hears of the number."""
        settled, moved_at = 0, time.monotonic()
        while settled < count and time.monotonic() - moved_at < _IDLE_SECONDS:
            time.sleep(_LOOK_SECONDS)
            now_settled = self._settled()
            if now_settled != settled:
                settled, moved_at = now_settled, time.monotonic()
                told(settled)

    def _settled(self) -> int:
        """Count what is done, a duplicate, or a dead letter: everything but what waits for its next attempt."""
        answer = self._get("/metrics")
        if answer is None:
            raise self._failed("the stage does not answer")
        samples = (sample for family in text_string_to_metric_families(answer.text) for sample in family.samples)
        return int(
            sum(
                sample.value
                for sample in samples
                if sample.name == "hookline_records_total" and sample.labels["outcome"] != "retried"
            )
        )

    def _start(self) -> subprocess.Popen[bytes]:
        command = [str(_HOOKLINE), "run", "--config", str(self._domain.config)]
        with self._log.open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own command
                command, env=self._domain.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while (answer := self._get("/readyz")) is None or answer.is_error:
            if self._process.poll() is not None:
                raise self._failed(f"the stage ended {self._process.returncode}")
            if time.monotonic() > deadline:
                raise self._failed(f"the stage is not ready after {_READY_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)

    def _get(self, path: str) -> httpx2.Response | None:
        address = next(self._addresses(), None)
        try:
            return httpx2.get(f"http://{address}{path}", timeout=5.0) if address else None
        except httpx2.TransportError:
            return None

    def _addresses(self) -> Iterator[str]:
        """Find in the log where health and metrics are served: port 0 let the system choose."""
        for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("{") and line.endswith("}") and "http" in (entry := json.loads(line)):
                yield str(entry["http"])

    def _end(self) -> int:
        self._process.terminate()
        try:
            return self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _failed(self, what: str) -> ProofError:
        last = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
        return ProofError("\n    ".join([f"{what}; the end of its log:", *last]))
