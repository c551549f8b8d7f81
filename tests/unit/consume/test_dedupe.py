"""The window of completed identities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.consume._dedupe import Completed, CompletedWindow, PartIdentity

IDENTITIES = st.lists(st.integers(0, 30).map(lambda n: ("source", str(n))))


@given(IDENTITIES, st.integers(1, 10))
def test_the_window_keeps_the_latest(identities: list[tuple[str, str]], size: int) -> None:
    """P4: exactly the identities of the last `size` records that completed are known, each by its latest record.

    One that completed twice lives as long as its later entry.
    """
    window = CompletedWindow(size)
    for offset, identity in enumerate(identities):
        window.add(identity, offset, f"said {offset}")
    latest = {identities[n]: n for n in range(max(len(identities) - size, 0), len(identities))}
    assert len(window) == len(latest)
    for identity in identities:
        assert (identity in window) is (identity in latest)
        at = latest.get(identity)
        assert window.find(identity, 99) == (None if at is None else Completed(identity, at, f"said {at}"))


def test_a_window_of_no_size_knows_nothing() -> None:
    """Without a window every record runs."""
    window = CompletedWindow(0)
    window.add(("s", "i"), 0, b"")
    assert ("s", "i") not in window


PARTS = st.none() | st.frozensets(st.sampled_from("abc"), min_size=1)
"""What a record asks for: all, or these."""


def asking(parts: frozenset[str] | None, offset: int) -> tuple[str, str]:
    """Make the identity of a record that asks for so much."""
    return ("s", "i") if parts is None else PartIdentity(("s", "i"), parts, offset)


@given(st.dictionaries(st.integers(0, 9), PARTS), PARTS, st.integers(0, 9))
def test_parts_complete_no_more_than_they_name(
    completed: dict[int, frozenset[str] | None], parts: frozenset[str] | None, offset: int
) -> None:
    """P1, P4: a record is a repeat when all has completed, when its parts have, or when it asks for all behind some that did.

    What stands before a record that completed in parts may still be open for others.
    """
    window = CompletedWindow(100)
    for at, of in completed.items():
        window.add(asking(of, at), at, "")
    named = [of for of in completed.values() if of is not None]
    is_repeat = None in completed.values() or (
        any(at < offset and of is not None for at, of in completed.items())
        if parts is None
        else bool(named) and parts <= frozenset().union(*named)
    )
    assert (window.find(asking(parts, offset), offset) is not None) == is_repeat


def test_parts_of_which_others_may_be_open_repeat_nothing_whole() -> None:
    """P1, P4: what is left out of a record that says so may have a dead letter; only the parts that it names are known."""
    window = CompletedWindow(10)
    window.add(PartIdentity(("s", "i"), frozenset("a"), None), 0, "")
    assert window.find(("s", "i"), 5) is None
    assert window.find(asking(frozenset("a"), 5), 5) is not None


def test_an_identity_lives_on_when_parts_of_it_complete_again() -> None:
    """P4: the whole stays known, and what is known of parts is kept together, as long as the latest of them."""
    window = CompletedWindow(2)
    window.add(("s", "i"), 0, "")
    for at in (1, 3):
        window.add(asking(frozenset("a"), at), at, "")
        window.add(("s", "other"), at + 1, "")
    assert window.find(("s", "i"), 5) is not None
    assert len(window) == 2
