"""The design page and the page of dependencies say what is there."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.unit.docs.pages import ROOT

DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
DEPENDENCIES = (ROOT / "docs" / "decisions" / "001-dependencies.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROMISES = dict(re.findall(r"^\| (P\d+) \|.*\| ([^|]+) \|$", DESIGN, re.MULTILINE))
TESTS = "".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path.parent.name != "docs"
)


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements]


def test_every_promise_has_its_state() -> None:
    """Each of the fifteen promises is kept, partly kept, or comes later."""
    assert list(PROMISES) == [f"P{number}" for number in range(1, 16)]
    assert {re.split(r"\W", state)[0] for state in PROMISES.values()} <= {"kept", "partly", "later"}


@pytest.mark.parametrize("promise", [name for name, state in PROMISES.items() if not state.startswith("later")])
def test_a_kept_promise_is_proved(promise: str) -> None:
    """A promise that is said to be kept, if only partly, is named by the docstring of a test."""
    assert re.search(rf'"""[^"]*\b{promise}\b', TESTS)


def test_every_room_stands_on_its_floor() -> None:
    """The page's stair has exactly the rooms that exist."""
    rooms = set(re.findall(r"src/hookline/(\w+)/__init__\.py", DESIGN))
    assert rooms == {path.parent.name for path in (ROOT / "src" / "hookline").glob("*/__init__.py")}


@pytest.mark.parametrize("name", _names(PROJECT["project"]["dependencies"]))
def test_every_dependency_has_its_reason(name: str) -> None:
    """A package that is installed with hookline has a row: what for, where, licence, alive."""
    [row] = [line for line in DEPENDENCIES.splitlines() if re.match(rf"\| {re.escape(name)}\b(?!-)", line)]
    assert all(cell.strip() for cell in row.strip("|").split("|"))
    assert len(row.strip("|").split("|")) == 5


@pytest.mark.parametrize("name", _names(PROJECT["dependency-groups"]["dev"]))
def test_every_tool_of_development_is_named(name: str) -> None:
    """What is installed for development only is named, stubs as stubs."""
    assert name in DEPENDENCIES.lower() or (name.startswith("types-") and "type stubs" in DEPENDENCIES)
