"""What waits for room in its partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume._ahead import FetchedAhead
from hookline.kafka import Record, UnreadRecord
from tests.support.messages import message_of

sizes = st.lists(st.integers(0, 50), max_size=20)
asked = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 120)), max_size=40)


def unread(offset: int, size_bytes: int) -> UnreadRecord:
    """Make a message whose value has so many bytes."""
    return message_of(Record("t", 0, offset, 0, b"k", b"v" * size_bytes))


@given(sizes, asked)
def test_everything_comes_out_in_order_and_within_what_was_asked(
    sizes: list[int], asked: list[tuple[int, int]]
) -> None:
    """P1, P3: nothing is lost or overtaken, the bytes are those of what is left, and one message always passes."""
    ahead, out = FetchedAhead(-1), []
    assert ahead.add([unread(offset, size) for offset, size in enumerate(sizes)]) == len(sizes)
    for most, most_bytes in asked:
        taken = ahead.take(most, most_bytes)
        assert len(taken) <= most
        assert sum(map(len, taken)) <= most_bytes or len(taken) == 1
        assert bool(taken) or not ahead
        out += [message.offset() for message in taken]
        assert len(ahead) == len(sizes) - len(out)
        assert ahead.size_bytes == sum(sizes[len(out) :])
    assert out == list(range(len(out)))


@pytest.mark.parametrize(
    ("last", "offsets", "kept"),
    [
        (-1, [], 0),
        (-1, [0, 1], 2),
        (4, [5, 9], 2),
        (4, [4], 0),
        (4, [0, 1], 0),
        (4, [5, 5, 6], 1),
        (4, [5, 8, 2, 3], 2),
    ],
)
def test_nothing_is_kept_from_an_offset_that_goes_back(last: int, offsets: list[int], kept: int) -> None:
    """P1: a topic that was made anew is not taken for the one before; holes are no matter."""
    ahead = FetchedAhead(last)
    assert ahead.add([unread(offset, 1) for offset in offsets]) == kept
    assert [message.offset() for message in ahead.take(100, 100)] == offsets[:kept]
