"""The window of completed identities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.consume._dedupe import CompletedWindow


@given(st.lists(st.integers(0, 30).map(lambda n: ("source", str(n)))), st.integers(1, 10))
def test_the_window_keeps_the_latest(identities: list[tuple[str, str]], size: int) -> None:
    """P4: exactly the last `size` distinct identities that completed are known."""
    window = CompletedWindow(size)
    for identity in identities:
        window.add(identity)
    latest = list(dict.fromkeys(reversed(identities)))[:size]
    assert len(window) == len(latest)
    assert all(identity in window for identity in latest)
