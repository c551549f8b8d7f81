"""The README's first steps, typed as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine, Running

PAGE = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
HANDLED = "batch-778 failed: merge conflict"


def _block(language: str, first: str = "") -> str:
    [text] = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if text.startswith(first)]
    return str(text)


def _type(command_line: CommandLine, line: str) -> str:
    """Type a line into a shell, in the folder and with the environment that the README has set up; it must end 0."""
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=command_line.folder,
        env=command_line.environment,
        check=True,
        timeout=60,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


@pytest.fixture
def typing(command_line: CommandLine) -> CommandLine:
    """Give a folder with the README's files, and a shell that finds its commands."""
    for name, language in (("my_hooks.py", "python"), ("hookline.toml", "toml"), ("controller.py", "python")):
        command_line.write(name, _block(language, f"# {name}"))
    command_line.write("event.json", _block("json"))
    environment = command_line.environment
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    # A test must not take the port that somebody's service has.
    environment["HOOKLINE_HTTP__LISTEN"] = "127.0.0.1:0"
    return command_line


@pytest.fixture
def running(typing: CommandLine) -> Running:
    """Give the README's stage, running on its embedded broker, joined by the line that it says to paste."""
    started = typing.start(*_block("sh", "hookline run").split()[1:])
    started.wait_for("started")
    [join] = re.findall(r"^to join: (.*)$", started.output, re.MULTILINE)
    variable = "HOOKLINE_KAFKA__COMMON"
    typing.environment[variable] = _type(typing, f'{join}\nprintf %s "${variable}"')
    return started


def test_the_first_hook_handles_the_first_event(typing: CommandLine, running: Running) -> None:
    """Write, wire, run, publish: the hook prints its line, a repeat prints no second one, and the run drains and ends 0."""
    publish = _block("sh", "hookline publish")
    assert _type(typing, publish) == f"{_promised('published')}\n"
    running.wait_for(HANDLED)
    _type(typing, publish)
    assert running.stop() == 0
    assert running.output.count(HANDLED) == 1


def _promised(beginning: str) -> str:
    """Find the one line of output between backticks that begins so."""
    [text] = re.findall(rf"`({beginning} [^`]*)`", PAGE)
    return str(text)


def test_a_broken_hook_is_mended_and_its_event_handled(typing: CommandLine, running: Running) -> None:
    """P14: typed line by line, the README breaks the hook, finds its dead letter, mends the hook and sees the event handled."""
    for line in _block("sh", "touch broken").splitlines():
        if line.startswith("hookline dlq list"):
            eventually(lambda line=line: "1/0" in _type(typing, line), what="the dead letter is listed")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        else:
            _type(typing, line)
        assert (HANDLED in running.output) <= ("--execute" in line)
    running.wait_for(HANDLED)
    assert running.stop() == 0


def test_the_controller_publishes(typing: CommandLine, running: Running) -> None:
    """P2: the README's publisher, run as a program, prints where its event was confirmed, and the hook handles the event."""
    printed = _type(typing, "python controller.py")
    assert re.search(r"submitqueue-hook/\d+/\d+$", printed.rstrip())
    running.wait_for("batch-779 failed: merge conflict")
    assert running.stop() == 0


def test_a_check_finds_nothing_wrong(typing: CommandLine) -> None:
    """The README's settings and hook pass the check that it names."""
    command = "hookline config check --embedded"
    assert f"`{command}`" in PAGE
    assert _type(typing, command).strip() == "ok"
