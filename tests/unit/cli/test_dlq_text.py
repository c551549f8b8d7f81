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
    """Escapes, C1 controls, bidirectional marks, line ends, surrogates and markup of an event paint nothing."""
    _dlq._print_rows([row(HOSTILE)])
    shown = capsys.readouterr().out
    assert all(char.isprintable() for line in shown.splitlines() for char in line)
    assert len(shown.splitlines()) == 2
    assert r"\x1b]0;owned\x07\x9b31m\u202e[bold]\r\n\ud800" in shown


def test_a_list_shows_other_scripts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what cannot be printed is escaped."""
    _dlq._print_rows([row("żółw 亀")])
    assert "żółw 亀" in capsys.readouterr().out
