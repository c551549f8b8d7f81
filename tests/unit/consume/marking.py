"""Marks of a commit, drawn and made."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st

from hookline.consume._marks import Marks, RetryState, decode_marks, encode_marks, gather_marks
from hookline.consume._marks_bytes import LARGEST_TEXT

UNBOUND = LARGEST_TEXT
SETTLED = "settled"
Said: TypeAlias = dict[int, str | RetryState | None]
MINUTE = 29_700_000

Marked: TypeAlias = tuple[int, Marks, list[int]]

STATES = st.builds(
    RetryState,
    st.integers(1, 300),
    st.none() | st.integers(MINUTE - 90, MINUTE) | st.integers(-(2**40), 2**40),
    st.binary(max_size=12),
)
FEW_STATES = st.lists(STATES, min_size=1, max_size=4)
POSITIONS = st.integers(0, 1000) | st.integers(0, 2**62)


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, Said]:
    """Draw a position, and for each offset delivered from there on, over holes, what became of it."""
    states = draw(FEW_STATES)
    kinds = st.just(SETTLED) | st.none() | st.sampled_from(states)
    steps = draw(st.lists(st.tuples(st.sampled_from([1, 1, 1, 2, 200]), kinds), max_size=120))
    position = offset = draw(POSITIONS)
    said: Said = {}
    for step, kind in steps:
        said[offset] = kind
        offset += step
    return position, said


@st.composite
def marked(draw: st.DrawFn) -> Marked:
    """Draw a position, marks and the offsets that they tell of."""
    position, said = draw(histories())
    some = st.sets(st.sampled_from(sorted(said)), max_size=8) if said else st.just(set[int]())
    crashed = {(offset, draw(st.integers(1, 3))) for offset in draw(some)}
    marks = gathered(position, said, clean=draw(st.booleans()), started=draw(some), crashes=crashed)
    return position, marks, list(said)


def gathered(position: int, said: Said, **more: Any) -> Marks:
    """Gather marks of what became of the offsets."""
    unsettled = {offset for offset, kind in said.items() if kind != SETTLED}
    states = {offset: kind for offset, kind in said.items() if isinstance(kind, RetryState)}
    return gather_marks(position, max(said, default=position - 1) + 1, list(said), unsettled, states, **more)


def there_and_back(marks: Marks, position: int, limit: int = UNBOUND) -> Marks:
    """Write marks and read them."""
    return decode_marks(encode_marks(marks, position, limit).text, position)
