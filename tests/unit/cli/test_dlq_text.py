"""`hookline dlq` on a terminal: what an event says is shown, never obeyed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookline.cli._dlq_text import detail_lines, list_lines
from hookline.deadletters import Detail, Row
from hookline.errs import Redactor, Subject
from tests.unit.deadletters.making import failure, letter, stored

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e[bold]\r\n\ud800"


def row(text: str) -> Row:
    return Row(
        id="0/1",
        event_id=text,
        source=text,
        type=text,
        subject=text,
        hooks=(text, text),
        code=text,
        letter_class=text,
        message=text,
        failed_at_ms=None,
        redrives=0,
        origin=None,
        republished=False,
    )


@pytest.mark.parametrize("width", [None, 500])
def test_a_list_shows_controls_escaped(width: int | None) -> None:
    """Escapes, C1 controls, bidirectional marks, line ends, surrogates and markup of an event come out as text."""
    lines = list_lines([row(HOSTILE)], width)
    assert len(lines) == 2
    assert r"\x1b]0;owned\x07\x9b31m\u202e[bold]\r\n\ud800" in lines[1]


@pytest.mark.parametrize("width", [None, 20, 500])
def test_nothing_in_a_list_is_obeyed(width: int | None) -> None:
    """In a pipe and on a terminal alike, what an event says is printable to the last character."""
    lines = list_lines([row(HOSTILE)], width)
    assert all(char.isprintable() or char == "\t" for line in lines for char in line)


def test_a_list_shows_other_scripts_as_they_are() -> None:
    """Only what cannot be printed is escaped."""
    assert "żółw 亀" in list_lines([row("żółw 亀")], None)[1]


def test_only_the_error_is_cut_to_the_width_of_a_terminal() -> None:
    """However narrow it is, ids and times can be copied whole, and the error still says something."""
    letter = replace(row("x"), failed_at_ms=1_796_032_800_000, message="y" * 500)
    for width in (40, 100, 200):
        _, line = list_lines([letter], width)
        assert "2026-11-30T10:00:00.000Z" in line
        assert 30 < line.count("y") < 150


def test_a_letter_shows_what_its_failure_is_about() -> None:
    """Subjects on one line, facts one a line, secrets hidden, and nothing of it obeyed (P15)."""
    about = (Subject("hook", "ci"), Subject("batch", "batch-1\x1b[31m"), Subject("request", "r-7"))
    facts = {"step": HOSTILE, "password": "hunter2", "paths": ["żółw"]}
    dead = replace(letter(), failures=(replace(failure(), subjects=about, detail=facts, truncated=True),))
    detail = Detail(Row.of(stored(dead), republished=False, redact=str), stored(dead), Redactor().redact)
    lines = list(detail_lines(detail))
    assert r"            about batch:batch-1\x1b[31m, request:r-7" in lines
    assert '            {"paths": ["żółw"]}' in lines
    assert '            {"password": "[redacted]"}' in lines
    assert all(char.isprintable() for line in lines for char in line)


def test_a_pipe_gets_every_error_whole() -> None:
    """Tab-separated, the error last: for cut and awk."""
    _, line = list_lines([replace(row("x"), message="y" * 500)], None)
    assert line.split("\t")[-1] == "y" * 500
