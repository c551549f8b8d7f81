"""Notes of pages on the control topic: written and read again, and hostile bytes are no notes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import (
    MAX_TIMESTAMP_MS,
    InvalidGateError,
    ToldPage,
    decode_gate,
    decode_told_page,
    encode_told_page,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["a/b", "%2F", "/", "%", "é"])
pages = st.builds(ToldPage, texts, texts, texts, st.integers(0, MAX_TIMESTAMP_MS))
values = (
    st.none()
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            b"[]",
            b'{"closed_at":7}',
            b'{"closed_at":"yesterday"}',
            b"{}",
            b"[" * 70_000,
            json.dumps({"closed_at": "9" * 70_000}).encode(),
        ]
    )
)


@given(pages)
def test_round_trip(told: ToldPage) -> None:
    """What is written is read again, and is no gate."""
    key, value = encode_told_page(told)
    assert decode_told_page(key, value) == told
    assert decode_gate(key, value) is None


@given(pages, pages)
def test_keys_are_injective(one: ToldPage, other: ToldPage) -> None:
    """Two notes share a key only when they are of the same hook and pager."""
    same = (one.domain, one.hook, one.pager) == (other.domain, other.hook, other.pager)
    assert (encode_told_page(one)[0] == encode_told_page(other)[0]) == same


@given(
    st.none() | st.binary(max_size=20) | st.text("ab/%2Fé.\0", max_size=9).map(lambda tail: b"told/" + tail.encode()),
    values,
)
def test_hostile_bytes_are_no_note(key: bytes | None, value: bytes | None) -> None:
    """Whatever cannot be read is no note, and raises nothing."""
    assert decode_told_page(key, value) is None


def test_what_cannot_be_written_is_refused() -> None:
    """A lone surrogate or a time outside the calendar is an error, not a record that nobody can read."""
    for told in (ToldPage("orders", "\ud800", "desk", 1), ToldPage("orders", "ci", "desk", MAX_TIMESTAMP_MS + 1)):
        with pytest.raises(InvalidGateError):
            encode_told_page(told)
