"""`hookline gate` on a real broker: confirmed, harmless to repeat, and said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.contract import Gate, GateKey, encode_gate_key
from tests.support.domains import Domain, settings_text
from tests.support.ports import free_port

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine
    from tests.support.kafka import RealKafka

HOOKS = '[[hooks]]\nname = "ci"\nkind = "noop"\n[[hooks]]\nname = "audit-log"\nkind = "noop"\n'


@pytest.fixture
def control(domain: Domain, real_kafka: RealKafka, command_line: CommandLine) -> str:
    """Make a control topic of its own for a domain with the hooks `ci` and `audit-log`."""
    name = real_kafka.create_topic(f"{domain.name}-control", 1, cleanup_policy="compact")
    command_line.write("hookline.toml", domain.settings(f'[topics]\ncontrol = "{name}"\n{HOOKS}'))
    return name


def test_a_gate_is_closed_listed_and_opened(
    command_line: CommandLine, control: str, domain: Domain, real_kafka: RealKafka
) -> None:
    """Closing writes one record, listing tells of it, opening writes a tombstone under the same key."""
    assert command_line.run("gate", "list").out == "nothing is closed\n"
    closed = command_line.run("gate", "close", "--hook", "ci", "--reason", "moving", "--by", "ada")
    assert (closed.code, closed.err) == (0, "")
    assert f"hook ci of domain {domain.name}" in closed.out
    [gate] = command_line.run("gate", "list", "--output", "json").json()
    assert gate.pop("closed_at").endswith("Z")
    assert gate == {
        "scope": "hook", "domain": domain.name, "hook": "ci", "subject": None, "reason": "moving", "closed_by": "ada",
    }  # fmt: skip
    assert "ci\t*\t" in command_line.run("gate", "list").out
    assert command_line.run("gate", "open", "--hook", "ci").code == 0
    assert command_line.run("gate", "list", "--output", "json").json() == []
    key = encode_gate_key(GateKey(domain.name, "ci"))
    records = real_kafka.read(control)
    assert [record.key for record in records] == [key, key]
    assert records[1].value is None


def test_repeating_is_said_and_harmless(
    command_line: CommandLine, control: str, domain: Domain, real_kafka: RealKafka
) -> None:
    """Closing what is closed keeps its reason, opening what is open is written all the same; both end 0."""
    close = ("gate", "close", "--subject", "b/4", "--reason")
    assert command_line.run(*close, "first", "--output", "json").json()["changed"] is True
    again = command_line.run(*close, "second")
    assert (again.code, "already" in again.out, "first" in again.out) == (0, True, True)
    assert command_line.run("gate", "open", "--subject", "b/4", "--output", "json").json()["changed"] is True
    opened = command_line.run("gate", "open", "--subject", "b/4", "--output", "json")
    assert (opened.code, opened.json()) == (0, {"gate": None, "changed": False})
    assert [record.value is None for record in real_kafka.read(control)] == [False, True, True]
    assert domain.name


def test_domain_hook_and_subject_are_gates_of_their_own(command_line: CommandLine, control: str) -> None:
    """Each combination is one gate; opening one leaves the others closed."""
    every = ((), ("--hook", "ci"), ("--subject", "b"), ("--hook", "ci", "--subject", "b"))
    for names in every:
        assert command_line.run("gate", "close", *names, "--reason", "test").code == 0
    scopes = [gate["scope"] for gate in command_line.run("gate", "list", "-o", "json").json()]
    assert scopes == ["domain", "hook", "subject", "subject"]
    assert command_line.run("gate", "open").code == 0
    assert len(command_line.run("gate", "list", "-o", "json").json()) == 3
    assert control


def test_an_unknown_hook_is_warned_of(command_line: CommandLine, control: str) -> None:
    """The hook may be wired elsewhere, so it is closed; but a slip is pointed out, on standard error."""
    done = command_line.run("gate", "close", "--hook", "audit-lgo", "--reason", "test", "--output", "json")
    assert (done.code, done.json()["changed"]) == (0, True)
    assert 'did you mean "audit-log"?' in done.err
    assert control


def test_what_others_wrote_wrongly_disturbs_nobody(
    command_line: CommandLine, control: str, domain: Domain, real_kafka: RealKafka
) -> None:
    """Records that cannot be read, of other domains and other kinds are passed over."""
    for key, value in ((b"\xff", b"\xff"), (b"gate/x", b""), (b"other/x", b"{}"), (b"gate/others//", b"{}")):
        real_kafka.send(control, key, value)
    real_kafka.send(control, encode_gate_key(Gate(domain.name, "ci").key), b"\x00")
    [gate] = command_line.run("gate", "list", "--output", "json").json()
    assert (gate["hook"], gate["reason"], gate["closed_at"]) == ("ci", "", None)


def test_without_a_control_topic_the_command_says_so(
    command_line: CommandLine, domain: Domain, real_kafka: RealKafka
) -> None:
    """A topic that is missing or switched off is named with what to do, ends 1, and is not made in passing."""
    name = f"{domain.name}-nowhere"
    command_line.write("hookline.toml", domain.settings(f'[topics]\ncontrol = "{name}"\n'))
    missing = command_line.run("gate", "close", "--reason", "test")
    assert missing.code == 1
    assert name in missing.err
    assert "hookline topics apply" in missing.err
    assert name not in real_kafka.partitions_by_topic()
    command_line.write("hookline.toml", domain.settings('[topics]\ncontrol = ""\n'))
    off = command_line.run("gate", "list")
    assert off.code == 1
    assert "topics.control" in off.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("close",),
        ("close", "--reason", " "),
        ("close", "--reason", "x" * 1001),
        ("close", "--reason", "x", "--hook", ""),
        ("open", "--subject", ""),
    ],
    ids=["no reason", "blank reason", "long reason", "empty hook", "empty subject"],
)
def test_slips_are_usage_errors(command_line: CommandLine, arguments: tuple[str, ...]) -> None:
    """What cannot be meant ends 2 before Kafka is asked; above all an empty name, which would stand for all."""
    command_line.write("hookline.toml", settings_text("orders", f"127.0.0.1:{free_port()}"))
    done = command_line.run("gate", *arguments)
    assert (done.code, done.out) == (2, "")


def test_a_broker_that_is_away_is_an_error(command_line: CommandLine) -> None:
    """A gate that is not known to be closed is not said to be: it ends 1 and names the address."""
    bootstrap = f"127.0.0.1:{free_port()}"
    command_line.write("hookline.toml", settings_text("orders", bootstrap))
    done = command_line.run("gate", "close", "--reason", "test")
    assert (done.code, done.out) == (1, "")
    assert bootstrap in done.err
