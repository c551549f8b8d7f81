"""The command itself: its version, its help, and the three exit codes."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

COMMANDS = ("run", "publish", "topics", "dlq", "gate", "config", "hooks", "replay", "demo")


def test_it_tells_its_version(command_line: CommandLine) -> None:
    """The version is the one that is installed."""
    done = command_line.run("--version")
    assert (done.code, done.out) == (0, f"hookline {version('hookline')}\n")


def test_its_help_names_every_command(command_line: CommandLine) -> None:
    """Whoever asks for help sees all that can be typed, on standard output."""
    done = command_line.run("--help")
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)


@pytest.mark.parametrize("group", [(), ("topics",), ("dlq",), ("config",), ("gate",), ("hooks",)], ids=" ".join)
def test_what_a_command_does_is_told_whole(command_line: CommandLine, group: tuple[str, ...]) -> None:
    """In the list of commands no sentence is cut, on a terminal of 80 columns."""
    done = command_line.run(*group, "--help", environment={"COLUMNS": "80"})
    listed = done.out.partition("Commands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("republsh",), id="unknown command"),
        pytest.param(("config", "show", "--colour"), id="unknown option"),
        pytest.param(("publish",), id="missing option"),
        pytest.param(("dlq", "list", "--since", "yesterday"), id="time that is none"),
        pytest.param(("dlq", "republish"), id="nothing chosen"),
        pytest.param(("dlq", "republish", "--all", "--execute", "--reason", " "), id="a reason that says nothing"),
        pytest.param(("dlq", "republish", "--all", "--execute", "--reason", "r"), id="nobody to ask"),
        pytest.param(("dlq", "list", "--class", "perm"), id="value that is none"),
        pytest.param(("dlq", "list", "--limit", "0"), id="number that is none"),
        pytest.param(("run", "--stay", "8190"), id="address that is none"),
    ],
)
def test_wrong_usage_ends_2(command_line: CommandLine, arguments: tuple[str, ...]) -> None:
    """What was typed wrong is told on standard error with code 2, before anything is read or sent."""
    done = command_line.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err


@pytest.mark.parametrize("arguments", [("config", "check"), ("run", "--embedded"), ("dlq", "list")], ids=" ".join)
def test_a_settings_file_that_is_missing_ends_1(command_line: CommandLine, arguments: tuple[str, ...]) -> None:
    """A failure is one line on standard error that names the file, with code 1."""
    done = command_line.run(*arguments, "--config", "nowhere.toml")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("hookline: nowhere.toml: ")
    assert done.err.count("\n") == 1
