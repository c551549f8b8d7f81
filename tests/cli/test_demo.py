"""`hookline demo`: the whole story, without any set-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

TALLY = {
    "published": 9,
    "handled": 8,
    "retried": 4,
    "duplicates": 1,
    "malformed": 1,
    "exhausted": 1,
    "paged": 2,
    "republished": 1,
    "lost": 0,
}


def test_the_story_adds_up_for_people_and_for_scripts(command_line: CommandLine) -> None:
    """P1: nothing is lost, both dead letters page, the mended one arrives; two at once do not disturb each other.

    What is confirmed is what was handled and the repeats.

    With --output json standard output is one document; in a pipe the story is plain lines, without colour or cursor
    movement: one for each thing that happens, and the sum.
    """
    told = command_line.start("demo")
    done = command_line.run("demo", "--output", "json")
    assert done.code == 0
    tally = done.json()
    assert tally.pop("seconds") < 60
    assert tally == TALLY
    assert tally["published"] == tally["handled"] + tally["duplicates"]
    assert told.process.wait(60) == 0
    assert not {"\x1b", "\r"} & set(told.output)
    lines = told.output.splitlines()
    assert max(map(len, lines[:-2])) <= 110
    assert all(f"{name} {count}" in lines[-1] for name, count in TALLY.items())
    assert {"publish", "handle", "retry", "duplicate", "dead letter", "page", "person"} <= {
        line[10:22].strip() for line in lines
    }
