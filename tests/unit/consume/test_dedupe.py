"""The window of completed identities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.consume._dedupe import Completed, CompletedWindow

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
        assert window.find(identity) == (None if at is None else Completed(identity, at, f"said {at}"))


def test_a_window_of_no_size_knows_nothing() -> None:
    """Without a window every record runs."""
    window = CompletedWindow(0)
    window.add(("s", "i"), 0, b"")
    assert ("s", "i") not in window
