"""`hookline run`: a domain's stage and reconciler as one process; how it stops is on the shelf of whole processes."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.support.domains import settings_text
from tests.support.ports import free_port
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine, Running
    from tests.support.domains import Domain

AUDIT = '[[hooks]]\nname = "audit"\nkind = "audit"\npath = "audit.jsonl"'
EVENT = json.dumps({"source": "submitqueue", "type": "batch.failed", "subject": "batch-778", "version": 4})


def ask(address: str, path: str) -> tuple[int, str]:
    """Ask a health server; status 0 when nobody answers."""
    try:
        answer = httpx2.get(f"http://{address}{path}", timeout=5)
    except httpx2.TransportError as error:
        return 0, str(error)
    return answer.status_code, answer.text


def told(running: Running, event: str) -> dict[str, str]:
    """Wait for a line of the log and return it."""
    text = running.wait_for(f'"event":"{event}"')
    line: dict[str, str] = json.loads(next(line for line in text.splitlines() if f'"event":"{event}"' in line))
    return line


def wait_until_ready(address: str) -> None:
    """Return when `/readyz` is green."""
    eventually(lambda: ask(address, "/readyz")[0] == 200, 30, what="ready")


def audited(command_line: CommandLine) -> str:
    """Return the audit file; empty when there is none yet."""
    path = command_line.folder / "audit.jsonl"
    return path.read_text() if path.exists() else ""


def test_an_event_is_handled_counted_and_committed(command_line: CommandLine, domain: Domain) -> None:
    """P1: published by one command, handled by the other; health and metrics tell; SIGTERM ends it with 0."""
    command_line.write("hookline.toml", domain.settings(AUDIT))
    running = command_line.start("run")
    address = told(running, "started")["http"]
    assert ask(address, "/livez")[0] == 200
    wait_until_ready(address)
    assert command_line.run("publish", "--file", "-", stdin=EVENT).code == 0
    eventually(lambda: "submitqueue/batch.failed/batch-778/4" in audited(command_line), 30, what="the event is audited")
    counted = f'hookline_records_total{{domain="{domain.name}",outcome="done"}} 1.0'
    eventually(lambda: counted in ask(address, "/metrics")[1], what="counted")
    assert f'hookline_reconciled_total{{domain="{domain.name}"}} 0.0' in ask(address, "/metrics")[1]
    assert running.stop() == 0
    assert domain.broker.settled(domain.hook_topic, domain.hook_topic)
    assert audited(command_line).count("\n") == 1


def test_others_join_the_embedded_broker_by_its_address(command_line: CommandLine) -> None:
    """`run --embedded` needs no Kafka; the line that it prints is all that `publish` and `dlq` need, as a shell reads it."""
    command_line.write("hookline.toml", settings_text("tryout", "nowhere.invalid:9092", AUDIT))
    running = command_line.start("run", "--embedded")
    bootstrap = told(running, "embedded broker, for trying things out only")["kafka"]
    wait_until_ready(told(running, "started")["http"])
    [join] = [line for line in running.output.splitlines() if line.startswith("to join: ")]
    name, _, value = shlex.split(join.removeprefix("to join: export "))[0].partition("=")
    assert json.loads(value) == {"bootstrap.servers": bootstrap}
    there = {name: value}
    checked = command_line.run("topics", "check", environment=there)
    assert checked.code == 1
    assert "embedded" in checked.err
    published = command_line.run("publish", "--file", "-", stdin=EVENT, environment=there)
    assert published.code == 0, published.err
    eventually(lambda: "batch-778" in audited(command_line), 30, what="the event is audited")
    listed = command_line.run("dlq", "list", "--output", "json", environment=there)
    assert (listed.code, listed.json()) == (0, [])
    assert running.stop() == 0


def test_settings_that_cannot_be_used_end_it(command_line: CommandLine) -> None:
    """Without --stay the first problem ends the process with 1, on one line."""
    command_line.write("hookline.toml", settings_text("d", "127.0.0.1:9092", "[retry]\nmax_atempts = 1"))
    done = command_line.run("run")
    assert (done.code, done.out) == (1, "")
    assert "retry.max_atempts" in done.err


def test_it_stays_until_its_settings_are_mended(command_line: CommandLine, domain: Domain) -> None:
    """With --stay it is alive, not ready, and says why; once the file is mended it starts without a restart."""
    address = f"127.0.0.1:{free_port()}"
    mended = domain.settings(AUDIT).replace("127.0.0.1:0", address)
    command_line.write("hookline.toml", mended.replace("drain_seconds", "drain_secnds"))
    running = command_line.start("run", "--stay", address)
    eventually(lambda: ask(address, "/livez")[0] == 200, 30, what="alive")
    status, said = ask(address, "/readyz")
    assert status == 503
    assert "drain_secnds" in said
    command_line.write("hookline.toml", mended)
    wait_until_ready(address)
    assert command_line.run("publish", "--file", "-", stdin=EVENT).code == 0
    eventually(lambda: "batch-778" in audited(command_line), 30, what="the event is audited")
    assert running.stop() == 0


@pytest.mark.parametrize(
    ("more", "named"),
    [
        pytest.param('[[hooks]]\nname = "ci"\nkind = "webhok"', "webhok", id="a hook that cannot be made"),
        pytest.param('[kafka.consumer]\n"no.such.option" = "1"', "no.such.option", id="an option of no client"),
        pytest.param(
            '[[pagers]]\nkind = "webhook"\nurl = "http://127.0.0.1:1"\nsecret_file = "gone"', "gone", id="a secret gone"
        ),
    ],
)
def test_it_stays_whatever_is_wrong_with_them(command_line: CommandLine, more: str, named: str) -> None:
    """Nothing that settings can do wrong takes a sidecar's Pod out of service; SIGTERM ends the waiting with 0."""
    address = f"127.0.0.1:{free_port()}"
    command_line.write("hookline.toml", settings_text("d", "127.0.0.1:9092", more))
    running = command_line.start("run", "--stay", address)
    eventually(lambda: ask(address, "/livez")[0] == 200, 30, what="alive")
    assert named in ask(address, "/readyz")[1]
    assert running.stop(5) == 0


def test_an_address_that_is_taken_is_named(command_line: CommandLine, domain: Domain) -> None:
    """A port that somebody else holds ends it with 1."""
    command_line.write("hookline.toml", domain.settings())
    first = command_line.start("run")
    address = told(first, "started")["http"]
    command_line.write("second.toml", domain.settings().replace("127.0.0.1:0", address))
    second = command_line.run("run", "--config", "second.toml")
    assert second.code == 1
    assert address in second.err
    assert first.stop() == 0
