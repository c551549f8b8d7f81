"""The watermark over delivered offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from hookline.consume import OffsetTracker

if TYPE_CHECKING:
    from collections.abc import Callable


class TrackerMachine(RuleBasedStateMachine):
    """P5: whatever the order of completions and the holes between offsets, the position is the lowest unsettled one."""

    unsettled = Bundle("unsettled")

    def __init__(self) -> None:
        super().__init__()
        self.tracker = OffsetTracker()
        self.start: int | None = None
        self.open: set[int] = set()
        self.delivered: list[int] = []

    @property
    def last(self) -> int:
        """The last offset that cannot be delivered any more."""
        return self.delivered[-1] if self.delivered else -1 if self.start is None else self.start - 1

    @initialize(start=st.none() | st.integers(0, 1000))
    def begin(self, start: int | None) -> None:
        """Begin at a committed offset, or without one."""
        self.tracker, self.start = OffsetTracker(start), start

    @rule(target=unsettled, hole=st.integers(0, 5))
    def deliver(self, hole: int) -> int:
        """Deliver the next offset, perhaps behind a hole."""
        offset = self.last + 1 + hole
        assert self.tracker.deliver(offset)
        self.delivered.append(offset)
        self.open.add(offset)
        return offset

    @rule(hole=st.integers(0, 5))
    def deliver_settled(self, hole: int) -> None:
        """Deliver the next offset as settled, perhaps behind a hole."""
        offset = self.last + 1 + hole
        self.tracker.deliver_settled(offset)
        self.delivered.append(offset)

    @rule(offset=consumes(unsettled))
    def settle(self, offset: int) -> None:
        """Settle any one of those that are open."""
        self.tracker.settle(offset)
        self.open.discard(offset)

    @rule(back=st.integers(0, 10))
    def deliver_again(self, back: int) -> None:
        """Deliver something that had been delivered before: it is not taken twice."""
        assert not self.tracker.deliver(self.last - back)

    @rule(back=st.integers(0, 10))
    def deliver_settled_again(self, back: int) -> None:
        """Settle unseen what had been delivered before: it is refused, for it may be open."""
        with pytest.raises(ValueError, match="delivered before"):
            self.tracker.deliver_settled(self.last - back)

    @rule(back=st.integers(0, 10))
    def settle_again(self, back: int) -> None:
        """Settle what is settled, or a hole: nothing changes."""
        if self.delivered and (offset := self.last - back) not in self.open and offset >= 0:
            before = self.tracker.position
            self.tracker.settle(offset)
            assert self.tracker.position == before

    @invariant()
    def position_is_the_lowest_unsettled(self) -> None:
        """Find the position at the lowest open offset, never beyond it and never behind."""
        behind = self.start if not self.delivered else self.last + 1
        assert self.tracker.position == (min(self.open) if self.open else behind)
        assert self.tracker.unsettled == self.open

    @invariant()
    def what_is_remembered_reaches_to_the_last(self) -> None:
        """Remember the delivered offsets from the lowest open one on, and none of those before it."""
        kept = [offset for offset in self.delivered if offset >= min(self.open)] if self.open else []
        assert list(self.tracker.delivered) == kept
        assert self.tracker.span == len(kept)
        assert self.tracker.last == self.last


TestTracker = TrackerMachine.TestCase


@given(
    st.integers(0, 1000), st.integers(1, 1000), st.sampled_from([OffsetTracker.deliver, OffsetTracker.deliver_settled])
)
def test_settling_the_undelivered_is_refused(
    last: int, beyond: int, deliver: Callable[[OffsetTracker, int], object]
) -> None:
    """P5: an offset that nobody has seen can never be settled."""
    tracker = OffsetTracker()
    deliver(tracker, last)
    with pytest.raises(ValueError, match="never delivered"):
        tracker.settle(last + beyond)


def test_a_blocked_offset_holds_the_position() -> None:
    """P5, cases: overtaken-failure. Offsets 0, 2, 3 and 4 settle while 1 is open: the position is 1."""
    tracker = OffsetTracker()
    for offset in range(5):
        tracker.deliver(offset)
    for offset in (0, 2, 3, 4):
        tracker.settle(offset)
    assert tracker.position == 1
    tracker.settle(1)
    assert tracker.position == 5


def test_an_offset_that_ended_at_once_passes_none_that_is_open() -> None:
    """P5, cases: overtaken-failure. Offset 1 is open while 2 and 3 are settled as they come: the position is 1."""
    tracker = OffsetTracker(0)
    tracker.deliver_settled(0)
    tracker.deliver(1)
    for offset in (2, 3):
        tracker.deliver_settled(offset)
    assert tracker.position == 1
    tracker.settle(1)
    assert tracker.position == 4


def test_a_position_that_is_known_stands_before_the_first_record() -> None:
    """P5: what was committed before is where the group stands until something is delivered."""
    assert OffsetTracker(7).position == 7
    assert OffsetTracker().position is None
