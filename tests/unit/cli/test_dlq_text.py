"""`hookline dlq` on a terminal: what an event says is shown, never obeyed."""

from __future__ import annotations

import pytest

from hookline.cli import _dlq
from hookline.deadletters import Row

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e[bold]\r\n\ud800"


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")


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


def test_a_list_shows_controls_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    """Escapes, C1 controls, bidirectional marks, line ends, surrogates and markup of an event come out as text."""
    _dlq._print_rows([row(HOSTILE)])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 2
    assert r"\x1b]0;owned\x07\x9b31m\u202e[bold]\r\n\ud800" in shown


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_in_a_list_is_obeyed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    """In a pipe and on a terminal alike, what an event says is printable to the last character."""
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
    _dlq._print_rows([row(HOSTILE)])
    lines = capsys.readouterr().out.splitlines()
    assert all(char.isprintable() or char == "\t" for line in lines for char in line)


def test_a_list_shows_other_scripts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what cannot be printed is escaped."""
    _dlq._print_rows([row("żółw 亀")])
    assert "żółw 亀" in capsys.readouterr().out
