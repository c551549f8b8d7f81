"""`hookline demo`: the whole story, without any set-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

TALLY = {
    "published": 8,
    "handled": 8,
    "retried": 4,
    "duplicates": 1,
    "malformed": 1,
    "exhausted": 1,
    "paged": 2,
    "republished": 1,
    "lost": 0,
}


def test_the_story_adds_up(command_line: CommandLine) -> None:
    """P1: nothing is lost, both dead letters page, the mended one arrives; JSON output is one document."""
    done = command_line.run("demo", "--output", "json")
    assert done.code == 0
    tally = done.json()
    assert tally.pop("seconds") < 60
    assert tally == TALLY


def test_a_pipe_gets_plain_lines(command_line: CommandLine) -> None:
    """Without a terminal there is no colour and no cursor movement: a line for each thing that happens, and the sum."""
    done = command_line.run("demo")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "\r" not in done.out
    assert all(f"{name} {count}" in done.out.splitlines()[-1] for name, count in TALLY.items())
    told = {line[10:22].strip() for line in done.out.splitlines()}
    assert {"publish", "handle", "retry", "duplicate", "dead letter", "page", "person"} <= told
