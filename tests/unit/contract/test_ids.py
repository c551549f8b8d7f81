"""Minting identities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import InvalidEventError, mint_unversioned_id, mint_versioned_id

components = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["a/b", "a%2Fb", "/", "%", ""]
)
versioned = st.tuples(components, components, components, st.integers(1, 30))
unversioned = st.tuples(components, components, components, components, st.integers(0, 30))


@given(versioned, versioned)
def test_versioned_is_injective(one: tuple[str, str, str, int], other: tuple[str, str, str, int]) -> None:
    """Different components never mint one versioned id, whatever strings they are."""
    assert (mint_versioned_id(*one) == mint_versioned_id(*other)) == (one == other)


@given(unversioned, unversioned)
def test_unversioned_is_injective(one: tuple[str, str, str, str, int], other: tuple[str, str, str, str, int]) -> None:
    """Different components never mint one unversioned id, whatever strings they are."""
    assert (mint_unversioned_id(*one) == mint_unversioned_id(*other)) == (one == other)


@given(versioned, unversioned)
def test_forms_never_meet(one: tuple[str, str, str, int], other: tuple[str, str, str, str, int]) -> None:
    """A versioned and an unversioned id differ by their number of parts, so that they are never equal."""
    ids = mint_versioned_id(*one), mint_unversioned_id(*other)
    assert [id.count("/") for id in ids] == [3, 4]


@given(components)
def test_alphabet(component: str) -> None:
    """A component is written in A-Za-z0-9-._~ and upper-case %XX only, equal in every language."""
    kept = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    expected = "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in component.encode())
    assert mint_versioned_id(component, "t", "k", 1) == f"{expected}/t/k/1"


def test_raw_joining_would_collide() -> None:
    """The collision of plain joining (subject q/batch/4 against cause batch/4) does not happen (H9)."""
    assert mint_versioned_id("s", "t", "q/batch/4", 1) != mint_unversioned_id("s", "t", "q", "batch/4", 0)


@pytest.mark.parametrize("version", [0, -1])
def test_version_below_one(version: int) -> None:
    """A versioned id needs a version of at least 1."""
    with pytest.raises(InvalidEventError) as caught:
        mint_versioned_id("s", "t", "k", version)
    assert caught.value.field == "version"


def test_negative_ordinal() -> None:
    """An ordinal is never negative."""
    with pytest.raises(InvalidEventError) as caught:
        mint_unversioned_id("s", "t", "k", "c", -1)
    assert caught.value.field == "ordinal"


@pytest.mark.parametrize("number", [True, "1", 1.0, None])
def test_number_of_another_type(number: object) -> None:
    """A version that is no integer is refused, not spelled into the id."""
    with pytest.raises(InvalidEventError):
        mint_versioned_id("s", "t", "k", number)  # type: ignore[arg-type]  # what an untyped caller may pass


@pytest.mark.parametrize("component", ["\ud800", None, 7, b"k"])
def test_component_that_is_no_text(component: object) -> None:
    """A lone surrogate, or what is no string, is refused by the component's name."""
    with pytest.raises(InvalidEventError) as caught:
        mint_versioned_id("s", "t", component, 1)  # type: ignore[arg-type]  # what an untyped caller may pass
    assert caught.value.field == "subject"
