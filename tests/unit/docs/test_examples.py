"""What the pages show can be copied: code runs, settings load, events are events, commands exist."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
import typer.main

from hookline.cli._app import app
from hookline.cli._story import Tally
from hookline.contract import event_from_json
from hookline.service import build_hooks, load_settings
from tests.unit.docs.pages import ROOT, Block, Command, blocks, commands, named

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = {"docs/configuration.md"}  # its settings are proved by tests/unit/service/test_documentation.py
SETTINGS = [block for block in blocks("toml") if named(block.page) not in ELSEWHERE]
COMMANDS = [command for command in commands() if "make" not in command.words[0]]
TARGETS = [command for command in commands() if command.words[0] == "make"]
TYPED = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "typing").glob("*.py")))
TYPED_PAGES = {"README.md", "docs/hooks.md", "docs/publishing.md", "docs/testing.md"}
PROGRAM: Any = typer.main.get_command(app)
_HELP = {"--help": None}


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_runs(block: Block) -> None:
    """A block of Python imports what it uses and defines what it says."""
    exec(compile(block.text, named(block.page), "exec"), {"__name__": "example"})  # noqa: S102 - our own pages


@pytest.mark.parametrize("block", [each for each in blocks("python") if named(each.page) in TYPED_PAGES], ids=str)
def test_python_is_type_checked(block: Block) -> None:
    """What users copy stands in tests/typing word for word, where mypy checks it."""
    assert block.text.strip() in TYPED


@pytest.mark.parametrize("block", SETTINGS, ids=str)
def test_settings_load(block: Block, tmp_path: Path) -> None:
    """Settings that a page shows are accepted, and the hooks of the file can be made."""
    text = block.text if "domain =" in block.text else f'domain = "example"\n{block.text}'
    for name in re.findall(r'file = "(\w[^"]*)"', text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("secret\n")
    path = tmp_path / "hookline.toml"
    path.write_text(text)
    settings = load_settings(path, {})
    if settings.app is None:
        build_hooks(settings)


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_events_are_events(block: Block) -> None:
    """What a page shows as JSON is JSON, and an event in it can be published."""
    document = json.loads(block.text)
    if "payload" in document:
        assert event_from_json(document).id


def test_the_demo_counts_what_the_readme_shows() -> None:
    """The last line of the demo in the README has exactly the numbers that the demo adds up, and nothing is lost."""
    [shown] = [line for block in blocks("text") for line in block.text.splitlines() if line.startswith("published ")]
    counts = dict(re.findall(r"(\w+) ([\d.]+)", shown))
    assert list(counts) == [field.name for field in fields(Tally)]
    assert counts["lost"] == "0"


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_commands_exist(command: Command) -> None:
    """A command that a page shows has a name, options and arguments that the command line knows."""
    program, words = _find(list(command.words[1:]))
    known = {name: each for each in program.params for name in (*each.opts, *each.secondary_opts) if name[0] == "-"}
    unknown, given, arguments = [], set(), []
    while words:
        word = words.pop(0)
        if word[0] != "-" or word == "-":
            arguments.append(word)
        elif word not in known | _HELP:
            unknown.append(word)
        elif word in known and not known[word].is_flag:
            given.add((known[word].name, words.pop(0)))
    assert unknown == []
    places = [each for each in program.params if each.param_type_name == "argument"]
    assert len(arguments) <= len(places)
    # A command that is only named, such as `hookline dlq show`, may leave out what it needs.
    needed = {each.name for each in program.params if each.required and each not in places[: len(arguments)]}
    assert not (given or arguments) or needed <= {name for name, _ in given}


def _find(words: list[str]) -> tuple[Any, list[str]]:
    """Find the command that the first words name, and the words behind them."""
    program = PROGRAM
    while words and (commands_below := getattr(program, "commands", None)) and words[0] in commands_below:
        program = commands_below[words.pop(0)]
    return program, words


@pytest.mark.parametrize("command", TARGETS, ids=str)
def test_targets_exist(command: Command) -> None:
    """What a page tells people to make is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {word for word in command.words[1:] if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")}
    assert wanted <= targets
