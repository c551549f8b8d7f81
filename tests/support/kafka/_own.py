from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tests.support.ports import free_ports

from ._answers import wait_until_it_answers
from ._find import RealKafka
from ._local import _configure, _format, _guarded, _java, _reason
from ._maven import kafka_libraries
from ._settings import HEAP, KAFKA_VERSION, Addresses

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping


class OwnKafka(RealKafka):
    """A local Kafka for tests that take it away: it freezes, dies and comes back with its data, at one address."""

    def __init__(self, folder: Path, java: str, libraries: Path, settings: Mapping[str, str]) -> None:
        port, controller = free_ports(2)
        super().__init__(f"127.0.0.1:{port}", version=KAFKA_VERSION, how="of a test's own")
        self._folder = folder
        self._java = [java, HEAP, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", f"{libraries}/*"]
        self._process: subprocess.Popen[bytes] | None = None
        _configure(folder, Addresses(self.bootstrap, self.bootstrap, f"127.0.0.1:{controller}"))
        with (folder / "server.properties").open("a") as properties:
            properties.writelines(f"{name}={value}\n" for name, value in settings.items())
        _format(self._java, folder)

    def start(self) -> None:
        """Start it and wait until it answers."""
        # Longer than any frost, or its controller tells clients afterwards that the cluster has no broker.
        self._start(session_ms=120_000)

    def start_again(self) -> None:
        """Start it after `kill` and wait until it answers. From then on a frost must be short: see `start`."""
        # Its predecessor's session must end before it may register.
        self._start(session_ms=2_000)

    def _start(self, *, session_ms: int) -> None:
        with (self._folder / "server.properties").open("a") as settings:
            settings.write(f"broker.session.timeout.ms={session_ms}\nbroker.heartbeat.interval.ms=500\n")
        log = self._folder / "kafka.log"
        command = [*self._java, "kafka.Kafka", str(self._folder / "server.properties")]
        process = self._process = _guarded(self._folder / "guard", command, log)
        wait_until_it_answers(self.bootstrap, lambda: process.poll() is not None, lambda: _reason(log))

    def freeze(self) -> None:
        """Let it hang: connections stay, nothing is answered."""
        os.kill(self._broker_pid(), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self._broker_pid(), signal.SIGCONT)

    def kill(self) -> None:
        """End it at once: connections are refused. Its data stays for the next `start`."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # the guard and the broker are a group of their own
        with self._process:  # closes its pipe, too
            self._process.wait()
        self._process = None

    def _broker_pid(self) -> int:
        """Find the broker beneath its guard, which is never frozen: it ends the broker when the tests are killed."""
        assert self._process is not None
        guard = self._process.pid
        return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


@contextlib.contextmanager
def own_kafka(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[OwnKafka]:
    """Run a Kafka with these settings that the caller may freeze and kill. NoKafkaError without Java or the jars."""
    java, libraries = _java(), kafka_libraries()
    folder = Path(tempfile.mkdtemp(prefix="hookline-own-kafka-"))
    (folder / "guard").mkdir()
    kafka = OwnKafka(folder, java, libraries, settings)
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.kill()
        shutil.rmtree(folder, ignore_errors=True)
