"""What the examples accept as proof."""

from __future__ import annotations

from typing import Any, Final

import pytest

from examples.proof import Document, Proof, arguments_of, check, parse


def _document(number: int, subject: str = "a", **members: Any) -> dict[str, Any]:
    return {"source": "test", "id": str(number), "subject": subject, "payload": {"number": number}} | members


_SENT: Final = [_document(0), _document(1, "b"), _document(2), _document(3, "b")]


def _check(lines: list[dict[str, Any]], rows: list[dict[str, Any]] | None = None, *, dead_letters: int = 0) -> Proof:
    return check(_SENT, lines, _SENT if rows is None else rows, dead_letters=dead_letters, seconds=1.0)


def _replaced(place: int, document: Document) -> list[dict[str, Any]]:
    return [*_SENT[:place], dict(document), *_SENT[place + 1 :]]


def test_everything_once_and_in_order_holds() -> None:
    """Each event in both places, once, in order per subject and unchanged is proof; subjects may overtake each other."""
    assert _check([_SENT[1], _SENT[3], _SENT[0], _SENT[2]]).holds


def test_nothing_proves_nothing() -> None:
    """A run that sent nothing has proved nothing."""
    assert not check([], [], [], dead_letters=0, seconds=0.0).holds


def test_a_missing_line_is_seen() -> None:
    """An event that the audit file lacks breaks the proof, but says nothing of the order of the others."""
    proof = _check(_SENT[:-1])
    assert (proof.audited, proof.warehouse, proof.each_once, proof.in_order, proof.holds) == (3, 4, False, True, False)


def test_a_missing_row_is_seen() -> None:
    """An event that the warehouse lacks breaks the proof."""
    proof = _check(_SENT, _SENT[1:])
    assert (proof.warehouse, proof.each_once, proof.holds) == (3, False, False)


def test_a_repeated_line_is_seen() -> None:
    """An event that was written down twice breaks the proof, though the number of identities is right."""
    proof = _check([*_SENT, _SENT[3]])
    assert (proof.audited, proof.each_once, proof.holds) == (4, False, False)


def test_a_stranger_is_seen() -> None:
    """An event that nobody sent breaks the proof."""
    assert not _check([*_SENT, _document(9, "z")]).holds


def test_a_subject_out_of_order_is_seen() -> None:
    """Two events of one subject in the wrong order break the proof (P3)."""
    proof = _check([_SENT[2], _SENT[1], _SENT[0], _SENT[3]])
    assert (proof.each_once, proof.in_order, proof.holds) == (True, False, False)


@pytest.mark.parametrize("changed", [{"payload": {"number": -1}}, {"subject": "c"}])
def test_a_change_is_seen(changed: dict[str, Any]) -> None:
    """A line or a row that says something else than was sent breaks the proof."""
    documents = _replaced(1, _SENT[1] | changed)
    assert not _check(documents).unchanged
    assert not _check(_SENT, documents).unchanged


def test_a_dead_letter_is_seen() -> None:
    """A dead letter breaks the proof, also when everything else is there."""
    assert not _check(_SENT, dead_letters=1).holds


def test_without_a_broker_the_ways_to_name_one_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An example that was given no broker is a slip in its usage (2), and names every way to give one."""
    monkeypatch.delenv("HOOKLINE_TEST_BOOTSTRAP", raising=False)
    monkeypatch.setattr("sys.argv", ["example"])
    with pytest.raises(SystemExit) as ended:
        parse(arguments_of("example", "An example."))
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ("--bootstrap", "HOOKLINE_TEST_BOOTSTRAP", "--embedded"))


def test_a_broker_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """HOOKLINE_TEST_BOOTSTRAP names the broker unless the command line says otherwise."""
    monkeypatch.setenv("HOOKLINE_TEST_BOOTSTRAP", "there:9092")
    parser = arguments_of("example", "An example.")
    for arguments, expected in (([], "there:9092"), (["--bootstrap", "here:1"], "here:1"), (["--embedded"], None)):
        monkeypatch.setattr("sys.argv", ["example", *arguments])
        assert parse(parser).bootstrap == expected
