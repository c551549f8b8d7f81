"""The README's first steps, typed as it says."""

from __future__ import annotations

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


def _block(language: str, first: str = "") -> str:
    [text] = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if text.startswith(first)]
    return str(text)


@pytest.fixture
def running(command_line: CommandLine) -> Running:
    """Give the stage of the README's files, running on its embedded broker, with the address taken from its log."""
    for name, language in (("my_hooks.py", "python"), ("hookline.toml", "toml"), ("controller.py", "python")):
        command_line.write(name, _block(language, f"# {name}"))
    command_line.write("event.json", _block("json"))
    # A test must not take the port that somebody's service has.
    command_line.environment["HOOKLINE_HTTP__LISTEN"] = "127.0.0.1:0"
    started = command_line.start("run", "--embedded")
    found = re.search(r"bootstrap=(\S+)", started.wait_for("bootstrap="))
    assert found
    command_line.environment["HOOKLINE_KAFKA__COMMON"] = f'{{"bootstrap.servers": "{found[1]}"}}'
    return started


def test_the_first_hook_handles_the_first_event(command_line: CommandLine, running: Running) -> None:
    """Write, wire, run, publish: the hook prints its line, a repeat prints no second one, and the run drains and ends 0."""
    published = command_line.run("publish", "--file", "event.json")
    assert published.out.startswith("published submitqueue/batch.failed/batch-778/4 to submitqueue-hook/")
    running.wait_for("batch-778 failed: merge conflict")
    assert command_line.run("publish", "--file", "event.json").code == 0
    assert running.stop() == 0
    assert running.output.count("batch-778 failed") == 1


def test_a_hook_with_a_mistake_makes_a_dead_letter(command_line: CommandLine, running: Running) -> None:
    """P14: the commands that the README shows list the event that the hook could not handle, show it and plan its return."""
    command_line.write("event.json", _block("json").replace('"version": 4', '"version": 5').replace("error", "reason"))
    assert command_line.run("publish", "--file", "event.json").code == 0
    listed = eventually(lambda: command_line.run("dlq", "list", "--output", "json").json())
    assert [(letter["type"], letter["hooks"], letter["class"]) for letter in listed] == [
        ("batch.failed", ["comment"], "permanent")
    ]
    shown = command_line.run("dlq", "show", listed[0]["id"]).json()
    assert shown["failures"][0]["exception"] == "KeyError"
    assert command_line.run("dlq", "republish", "--all").code == 0
    assert running.stop() == 0


def test_the_controller_publishes(command_line: CommandLine, running: Running) -> None:
    """P2: the README's publisher, run as a program, ends when its event is confirmed, and the hook handles the event."""
    subprocess.run(
        [sys.executable, "controller.py"],
        cwd=command_line.folder,
        env=command_line.environment,
        check=True,
        timeout=60,
        capture_output=True,
    )
    running.wait_for("batch-778 failed: merge conflict")
    assert running.stop() == 0
