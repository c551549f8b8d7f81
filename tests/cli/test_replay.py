"""`hookline replay`, and a process that runs the group of one hook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine
    from tests.support.domains import Domain
    from tests.support.kafka import RealKafka

HOOKS = """
[[hooks]]
name = "audit"
kind = "audit"
path = "audit.jsonl"
[[hooks]]
name = "diary"
kind = "log"
"""
OWN = 'isolation = "per-hook"\nstart = "earliest"\n'


def publish(command_line: CommandLine, type: str, subject: str) -> None:
    """Publish an event."""
    event = {"source": "submitqueue", "type": type, "subject": subject, "version": 1}
    assert command_line.run("publish", "--file", "-", stdin=json.dumps(event)).code == 0


def audited(command_line: CommandLine) -> list[str]:
    """Read the ids of the audit file."""
    path = command_line.folder / "audit.jsonl"
    return [json.loads(line)["id"] for line in path.read_text().splitlines()] if path.exists() else []


def test_a_plan_changes_nothing_and_yes_does_it(command_line: CommandLine, domain: Domain) -> None:
    """P4, P7: the plan counts what the hook gets; with --yes it gets that, and the command ends by itself."""
    command_line.write("hookline.toml", domain.settings(HOOKS))
    publish(command_line, "batch.failed", "batch-1")
    publish(command_line, "request.landed", "request-1")
    asked = ("replay", "--hook", "audit", "--since", "2026-01-01T00:00:00Z", "--type", "batch.*")
    plan = command_line.run(*asked, "--output", "json").json()
    assert (plan["events"], plan["goes_on"]) == (1, False)
    assert sum(each["events"] for each in plan["partitions"]) == 1
    assert audited(command_line) == []
    done = command_line.run(*asked, "--yes")
    assert done.code == 0, done.err
    assert "1 events" in done.out
    assert [id.split("/")[1] for id in audited(command_line)] == ["batch.failed"]
    assert domain.broker.committed(plan["group"], domain.hook_topic) == {}


def test_a_hook_that_is_not_there_is_told(command_line: CommandLine, domain: Domain) -> None:
    """The nearest name is told; a time that is none is a mistake of usage."""
    command_line.write("hookline.toml", domain.settings(HOOKS))
    missing = command_line.run("replay", "--hook", "audi", "--since", "2h")
    assert missing.code == 1
    assert "audit" in missing.err
    assert command_line.run("replay", "--hook", "audit", "--since", "tuesday").code == 2
    assert command_line.run("replay", "--hook", "audit", "--since", "2h", "--until", "3h").code == 2


def test_a_replay_of_nothing_is_done_at_once(command_line: CommandLine, domain: Domain) -> None:
    """A type that no event has is no failure: the plan says so, and so does the end; no group is left behind."""
    command_line.write("hookline.toml", domain.settings(HOOKS))
    publish(command_line, "batch.failed", "batch-1")
    done = command_line.run(
        "replay", "--hook", "audit", "--since", "2h", "--type", "bach.*", "--yes", "--output", "json"
    )
    assert done.code == 0
    report = done.json()
    assert (report["events"], report["done"], report["is_complete"]) == (0, 0, True)
    assert domain.broker.committed(report["group"], domain.hook_topic) == {}


def test_a_replay_that_waits_tells_what_for_and_goes_on(
    command_line: CommandLine, domain: Domain, real_kafka: RealKafka
) -> None:
    """P9: behind a closed gate it waits, and says so; interrupted it ends with 1, and the same command does the rest."""
    control = real_kafka.create_topic(f"{domain.name}-control", 1, cleanup_policy="compact")
    command_line.write("hookline.toml", domain.settings(f'[topics]\ncontrol = "{control}"\n{HOOKS}'))
    publish(command_line, "batch.failed", "batch-1")
    assert command_line.run("gate", "close", "--hook", "audit", "--reason", "moving").code == 0
    asked = ("replay", "--hook", "audit", "--since", "2026-01-01T00:00:00Z", "--yes")
    waiting = command_line.start(*asked)
    waiting.wait_for("moving")
    assert waiting.stop() == 1
    assert audited(command_line) == []
    assert command_line.run("gate", "open", "--hook", "audit").code == 0
    assert command_line.run(*asked).code == 0
    assert len(audited(command_line)) == 1


def test_a_process_may_run_one_hook_alone(command_line: CommandLine, domain: Domain) -> None:
    """P7: only that hook's group is joined; a hook without one cannot be run alone."""
    command_line.write("hookline.toml", domain.settings(HOOKS))
    shared = command_line.run("run", "--hook", "audit")
    assert shared.code == 1
    assert '"audit"' in shared.err
    command_line.write("hookline.toml", OWN + domain.settings(HOOKS))
    running = command_line.start("run", "--hook", "audit")
    publish(command_line, "batch.failed", "batch-1")
    eventually(lambda: len(audited(command_line)) == 1, 40, what="the event is audited")
    assert running.stop() == 0
    assert f'"group":"{domain.name}-hook.audit"' in running.output
    assert f'"group":"{domain.name}-hook-dlq"' not in running.output
    assert "hook_event" not in running.output


def test_a_new_group_without_a_start_ends_the_process(command_line: CommandLine, domain: Domain) -> None:
    """P1: it says for which hooks, and nothing was read."""
    command_line.write("hookline.toml", 'isolation = "per-hook"\n' + domain.settings(HOOKS))
    running = command_line.start("run")
    assert running.process.wait(40) == 1
    assert all(name in running.output for name in ("audit", "diary", "start"))
