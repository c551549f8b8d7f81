"""Whole `hookline run` processes: started, asked for their health, stopped, killed; and the journal of their hooks."""

from __future__ import annotations

import http.client
import json
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from hookline import Event
from hookline.contract import encode_event
from tests.support.stage_hooks import GATE, JOURNAL
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.command_line import CommandLine, Running
    from tests.support.kafka import StoredRecord, Topics

__all__ = ["Entry", "Journal", "Setting", "StageProcess", "send"]

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 40
_QUICK = {"session.timeout.ms": "3000", "heartbeat.interval.ms": "500"}
_QUICK_RETRY = {"max_attempts": 3, "initial_seconds": 0.1, "max_seconds": 0.2}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a process runs with; the maps are options of librdkafka, and keys of `[consume]` and `[retry]`."""

    bootstrap: str
    domain: str
    drain_seconds: float = 5
    stuck_seconds: float = 300
    consumer: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consume: Mapping[str, int] = field(default_factory=dict)
    retry: Mapping[str, float] = field(default_factory=dict)

    def as_toml(self) -> str:
        """Write the settings file."""
        return f"""\
domain = "{self.domain}"
app = "tests.support.stage_hooks:hooks"
drain_seconds = {self.drain_seconds}
stuck_seconds = {self.stuck_seconds}
[kafka.common]
"bootstrap.servers" = "{self.bootstrap}"
[kafka.consumer]
{_lines({**_QUICK, **self.consumer})}
[kafka.producer]
{_lines(self.producer)}
[retry]
{_lines({**_QUICK_RETRY, **self.retry})}
[http]
listen = "127.0.0.1:0"
[consume]
{_lines(self.consume)}
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal; subject and version are empty when it is about no event."""

    what: str
    hook: str
    pid: int
    subject: str = ""
    version: int = 0


class Journal:
    """What the hooks of all processes in a folder did, in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self, what: str | None = None, *, hook: str | None = None) -> list[Entry]:
        """Return the entries, those of a kind or of a hook when asked so; not the last one while it is being written."""
        path = self._folder / JOURNAL
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        entries = [Entry(**json.loads(line)) for line in lines]
        return [entry for entry in entries if what in {None, entry.what} and hook in {None, entry.hook}]

    def began(self, subject: str) -> list[int]:
        """Return the versions of a subject in the order in which they were begun, repeats included."""
        return [entry.version for entry in self.entries("began") if entry.subject == subject]

    def ended(self, subject: str) -> list[int]:
        """Return the versions of a subject in the order in which they were handled, repeats included."""
        return [entry.version for entry in self.entries("ended") if entry.subject == subject]

    def handled(self) -> set[tuple[str, int]]:
        """Return (subject, version) of every event that was handled."""
        return {(entry.subject, entry.version) for entry in self.entries("ended")}

    def open_gate(self, pid: int | None = None) -> None:
        """Let the hooks that wait at the gate go on, in all processes or in one."""
        (self._folder / (GATE if pid is None else f"{GATE}-{pid}")).touch()


class StageProcess:
    """One `hookline run` with the hooks of `stage_hooks`. Replicas share a folder, and so the journal and the gate."""

    def __init__(self, command_line: CommandLine, setting: Setting) -> None:
        self.domain = setting.domain
        self.hook_topic, self.dead_letter_topic = f"{self.domain}-hook", f"{self.domain}-hook_dlq"
        self.group = f"{self.domain}-hook"
        self._command_line = command_line
        self._config = command_line.write(f"{self.domain}.toml", setting.as_toml())
        self._running = self._start()

    @property
    def log(self) -> str:
        """Everything it has logged so far."""
        return self._running.output

    @property
    def pid(self) -> int:
        """Its process id, which its journal entries carry."""
        return self._running.process.pid

    def lines(self, *events: str) -> list[dict[str, Any]]:
        """Return the log lines that tell of these events, such as `started`."""
        lines = [json.loads(line) for line in self.log.splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if line["event"] in events]

    def assigned(self) -> set[int]:
        """Return the partitions of the hook topic that it has now, as it says itself."""
        partitions = set[int]()
        for line in self.lines("partitions assigned", "partitions let go"):
            if line["group"] == self.group:
                change = partitions.update if line["event"] == "partitions assigned" else partitions.difference_update
                change(line["partitions"])
        return partitions

    def wait_until_ready(self, seconds: float = _START_SECONDS) -> None:
        """Return when `/readyz` is green."""
        eventually(lambda: self._asked_while_alive("/readyz")[0] == 200, seconds, what="ready")

    def wait_until_not_ready(self, reason: str, seconds: float = _START_SECONDS) -> None:
        """Return when `/readyz` is red and its text holds the reason."""
        eventually(lambda: _is_red(self._asked_while_alive("/readyz"), reason), seconds, what=f"not ready: {reason}")

    def is_live(self) -> bool:
        """Ask `/livez`."""
        return self.ask("/livez")[0] == 200

    def metric(self, name: str, **labels: str) -> float:
        """Read the sum of the samples of a name that have these labels; 0 when there is none."""
        _, text = self.ask("/metrics")
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return sum(each.value for each in samples if each.name == name and labels.items() <= each.labels.items())

    def ask(self, path: str) -> tuple[int, str]:
        """Ask its health server; status 0 when it does not answer."""
        connection = http.client.HTTPConnection(*self._address(), timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def terminate(self) -> None:
        """Send SIGTERM and return at once."""
        self._running.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        """Wait for its end and return the exit code; subprocess.TimeoutExpired when it takes longer."""
        return self._running.process.wait(seconds)

    def stop(self, seconds: float = 20) -> int:
        """Send SIGTERM and return the exit code."""
        self.terminate()
        return self.wait(seconds)

    def kill(self) -> None:
        """Send SIGKILL, as a machine that loses power would."""
        self._running.kill()

    def freeze(self) -> None:
        """Send SIGSTOP, as a machine that swaps or a paused container would."""
        self._running.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT."""
        self._running.process.send_signal(signal.SIGCONT)

    def has_ended(self) -> bool:
        """Tell whether it has ended, by itself or not."""
        return self._running.process.poll() is not None

    def restart(self) -> None:
        """Start again with the same settings, after it has ended."""
        assert self.has_ended()
        self._running = self._start()

    def restart_until(self, condition: Callable[[], object], *, most: int, seconds: float = 120) -> int:
        """Start it again whenever it has ended, until the condition holds; AssertionError after `most` ends.

        Gives how often it has ended.
        """
        ends = 0

        def look() -> bool:
            nonlocal ends
            if self.has_ended():
                ends += 1
                assert ends <= most, f"ended {ends} times: {self.log[-2000:]}"
                self.restart()
            return bool(condition())

        eventually(look, seconds, what="it holds, whoever has to start again")
        return ends

    def _start(self) -> Running:
        return self._command_line.start(
            "run", "--config", self._config, environment={"PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": "1"}
        )

    def _address(self) -> tuple[str, int]:
        eventually(lambda: self.lines("started") or self._running.process.poll() is not None, _START_SECONDS)
        assert self.lines("started"), f"it never started: {self.log[-2000:]}"
        host, _, port = self.lines("started")[0]["http"].rpartition(":")
        return host, int(port)

    def _asked_while_alive(self, path: str) -> tuple[int, str]:
        code = self._running.process.poll()
        assert code is None, f"ended {code}: {self.log[-2000:]}"
        return self.ask(path)


def send(
    topics: Topics, stage: StageProcess, act: str, subject: str, version: int, *, partition: int = -1
) -> StoredRecord:
    """Publish the event `act` of a subject, confirmed; partition -1 is the one of its key."""
    event = Event.versioned(source="crash", type=act, subject=subject, version=version)
    record = encode_event(event)
    where = None if partition < 0 else partition
    return topics.send(stage.hook_topic, record.key, record.value, record.headers, partition=where)


def _is_red(answer: tuple[int, str], reason: str) -> bool:
    status, text = answer
    return status == 503 and reason in text


def _lines(table: Mapping[str, object]) -> str:
    return "\n".join(f'"{key}" = {json.dumps(value)}' for key, value in table.items())
