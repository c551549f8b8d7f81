"""Republished records and origins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import Headers, Origin, Redrive, strip_reserved
from tests.unit.contract.samples import headers
from tests.unit.contract.test_dead_letters import SOURCE, sample_letter


@pytest.mark.parametrize("hooks", [None, ("comment",), ("a/b", "ü", 'q"')])
@pytest.mark.parametrize("again", [False, True])
def test_round_trip(hooks: tuple[str, ...] | None, again: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """P14. What the operator decided is what the stage reads: which hooks, whose operation, again or not."""
    written = sample_letter().republished(hooks=hooks, operation="op-7", again=again)
    assert Redrive.from_headers(written) == Redrive(
        redrives=1, hooks=hooks, operation="op-7", again=again, origin=SOURCE
    )


def test_republished_keeps_only_the_producers_headers() -> None:
    """P14, cases: header-fidelity. Republishing strips the attribution and keeps the producer's headers in order."""
    letter = sample_letter()
    written = letter.republished(hooks=["comment"], operation="op")
    assert strip_reserved(written) == letter.headers
    assert [name for name, _ in written if name.startswith(("__dlq.", "hookline-dlq-"))] == []


@given(headers)
def test_ordinary_records_are_none(any_headers: Headers) -> None:
    """A record that nobody republished has no redrive."""
    assert Redrive.from_headers(strip_reserved(any_headers)) is None


@pytest.mark.parametrize("hooks", [b"", b"{", b'"a"', b"[1]", b"\xff", b"[" * 100_000, None])
def test_unreadable_hooks_mean_all(hooks: bytes | None) -> None:
    """P1. A list of hooks that cannot be read runs all of them: hooks are idempotent, and silence would be loss."""
    redrive = Redrive.from_headers((("hookline-redrives", b"2"), ("hookline-redrive-hooks", hooks)))
    assert redrive == Redrive(redrives=2, hooks=None, operation=None, again=False, origin=None)


@pytest.mark.parametrize("hooks", [b"[]", b" [ ] "])
def test_an_empty_list_of_hooks_means_all(hooks: bytes) -> None:
    """P1. To run no hook would settle the event as done, and nobody republishes an event for that."""
    redrive = Redrive.from_headers((("hookline-redrives", b"2"), ("hookline-redrive-hooks", hooks)))
    assert redrive == Redrive(redrives=2, hooks=None, operation=None, again=False, origin=None)


def test_no_hooks_are_written_as_all() -> None:
    """P1, P14. A republication that names no hook carries no list, so that older readers run all of them too."""
    written = sample_letter().republished(hooks=(), operation="op-7")
    assert "hookline-redrive-hooks" not in dict(written)


@pytest.mark.parametrize("count", [b"", b"-1", b"x", b"\xff", b"1.5", b"9" * 5000, "\u0661".encode(), None])
def test_unreadable_count_is_one(count: bytes | None) -> None:
    """A count that cannot be read still says that the record was republished."""
    redrive = Redrive.from_headers((("hookline-redrives", count),))
    assert redrive is not None
    assert redrive.redrives == 1


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,30}", fullmatch=True), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_origin_round_trip(topic: str, partition: int, offset: int) -> None:
    """An origin is topic/partition/offset as text and back."""
    origin = Origin(topic, partition, offset)
    assert str(origin) == f"{topic}/{partition}/{offset}"
    assert Origin.parse(str(origin)) == origin


@pytest.mark.parametrize("text", ["", "t", "t/1", "/1/2", "t/-1/2", "t/1/x", "t/1/", "t/1/\u0662", "t/1/" + "9" * 30])
def test_origin_refuses(text: str) -> None:
    """What is no origin is refused."""
    with pytest.raises(ValueError):  # noqa: PT011  # no text is asserted on
        Origin.parse(text)
