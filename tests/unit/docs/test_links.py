"""Links between pages, and the index of decisions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.unit.docs.pages import PAGES, ROOT, anchors, links, named

if TYPE_CHECKING:
    from pathlib import Path

DECISIONS = ROOT / "docs" / "decisions"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_resolves(page: Path) -> None:
    """A link leads to a file of the repository, and its fragment to a heading of that page."""
    broken = [target for target in links(page) if not _resolves(page, target)]
    assert broken == []


def _resolves(page: Path, target: str) -> bool:
    path, _, fragment = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    if not there.exists() or not there.is_relative_to(ROOT):
        return False
    return not fragment or fragment in anchors(there)


@pytest.mark.parametrize("page", ["README.md", "docs/decisions/README.md"])
def test_an_index_leads_to_every_page(page: str) -> None:
    """No page of docs/ is reachable only by knowing its name."""
    index = ROOT / page
    folder = DECISIONS if index.parent == DECISIONS else ROOT / "docs"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in links(index)}
    assert set(folder.glob("*.md")) - {index} <= linked


def test_every_decision_has_a_number_of_its_own() -> None:
    """A number names one decision, and stands in the page's title too."""
    pages = sorted(DECISIONS.glob("[0-9]*.md"))
    numbers = Counter(path.name[:3] for path in pages)
    assert [number for number, count in numbers.items() if count > 1] == []
    titles = {path.name[:3]: path.read_text(encoding="utf-8").partition("\n")[0] for path in pages}
    assert [title for number, title in titles.items() if not title.startswith(f"# {number}. ")] == []


@pytest.mark.parametrize("page", sorted(DECISIONS.glob("[0-9]*.md")), ids=lambda page: page.name[:3])
def test_a_decision_says_what_was_rejected(page: Path) -> None:
    """Every decision has a problem, a decision and what was rejected."""
    text = page.read_text(encoding="utf-8")
    parts = re.findall(r"^(?:\*\*|## )(Problem|Decision|Rejected)", text, re.MULTILINE)
    assert parts == ["Problem", "Decision", "Rejected"]
