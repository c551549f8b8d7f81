"""How many requests the broker answers, by its own count, read over JMX; only of a broker that the harness starts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from benchmarks.processes import ROOT
from tests.support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BrokerRequests", "countable_requests"]

_SOURCE: Final = ROOT / "benchmarks" / "java" / "BrokerRequests.java"
_OPTIONS: Final = "JAVA_TOOL_OPTIONS"
_SECONDS: Final = 30


class BrokerRequests:
    """Reads the broker's counters; port 0 when they cannot be read."""

    def __init__(self, port: int) -> None:
        self._port = port

    def counts(self) -> dict[str, int]:
        """Tell how many requests of each kind were answered since the broker started; empty when nobody can tell."""
        java = shutil.which("java")
        if not self._port or java is None:
            return {}
        command = [java, str(_SOURCE), str(self._port)]
        done = subprocess.run(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            return {}
        return {str(kind): int(count) for kind, count in json.loads(done.stdout).items()}


@contextlib.contextmanager
def countable_requests(*, wanted: bool) -> Iterator[BrokerRequests]:
    """Let a broker that is started meanwhile by Java on this machine tell its counters."""
    if not wanted or "HOOKLINE_TEST_BOOTSTRAP" in os.environ:
        yield BrokerRequests(0)
        return
    port, before = free_port(), os.environ.get(_OPTIONS)
    remote = "com.sun.management.jmxremote"
    local = f"-D{remote}.host=127.0.0.1 -Djava.rmi.server.hostname=127.0.0.1 -D{remote}.rmi.port={port}"
    os.environ[_OPTIONS] = f"-D{remote}.port={port} -D{remote}.authenticate=false -D{remote}.ssl=false {local}"
    try:
        yield BrokerRequests(port)
    finally:
        os.environ.pop(_OPTIONS)
        if before is not None:
            os.environ[_OPTIONS] = before
