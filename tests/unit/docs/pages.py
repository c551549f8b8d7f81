"""The pages that people read, taken apart: code blocks, commands, links, headings."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/**/*.md", "tests/vectors/README.md")
    for path in ROOT.glob(pattern)
)

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_PROMPTS = {"hookline", ".venv/bin/hookline", "make"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: the page it stands on, its language (empty for an indented one) and its text."""

    page: Path
    language: str
    text: str

    def __str__(self) -> str:
        return f"{named(self.page)}:{self.text.strip().splitlines()[0][:40] if self.text.strip() else 'empty'}"


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a page tells people to type, as words."""

    page: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{named(self.page)}:{' '.join(self.words)[:60]}"


def named(page: Path) -> str:
    """Name a page as people do."""
    return str(page.relative_to(ROOT))


def blocks(language: str) -> list[Block]:
    """List every fenced block of a language, over all pages."""
    return [block for page in PAGES for block in _fenced(page) if block.language == language]


def commands() -> list[Command]:
    """List every command of hookline and make in blocks and between backticks; those with `…` or `|` are no commands."""
    return [Command(page, words) for page in PAGES for line in _lines(page) if (words := _words(line))]


def links(page: Path) -> list[str]:
    """List where the page's links lead, but for those that lead out of the repository."""
    return [target for target in _LINK.findall(_without_code(page)) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """Tell the fragments that a link to the page may have."""
    return {_anchor(heading) for heading in _HEADING.findall(_without_blocks(page))}


def _fenced(page: Path) -> list[Block]:
    found = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [
        Block(page, language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, language, text in found
    ]


def _lines(page: Path) -> list[str]:
    """List what may be a command: lines of shell blocks and of indented ones, with continuations joined, and inline code."""
    shell = [block.text for block in _fenced(page) if block.language in {"sh", "bash", "shell", "console"}]
    rest = _without_blocks(page)
    indented = re.findall(r"^ {4,}\S.*$", rest, re.MULTILINE)
    inline = [text for text in _INLINE.findall(rest) if not re.search(r"[…|]", text)]
    joined = "\n".join([*shell, *indented]).replace("\\\n", " ")
    return [*joined.splitlines(), *inline]


def _words(line: str) -> tuple[str, ...]:
    if not line.strip(" $").startswith(tuple(f"{prompt} " for prompt in _PROMPTS)):
        return ()
    words = shlex.split(line.strip(" $"), comments=True)
    end = next((at for at, word in enumerate(words) if word in {"|", "&", "&&", ";", ">"}), len(words))
    return tuple(words[:end])


def _without_blocks(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def _without_code(page: Path) -> str:
    return _INLINE.sub("``", _without_blocks(page))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
