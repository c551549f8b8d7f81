"""The watermark over delivered offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from hookline.consume import OffsetTracker


class TrackerMachine(RuleBasedStateMachine):
    """P5: whatever the order of completions and the holes between offsets, the position is the lowest unsettled one."""

    unsettled = Bundle("unsettled")

    def __init__(self) -> None:
        super().__init__()
        self.tracker = OffsetTracker()
        self.open: set[int] = set()
        self.last: int | None = None

    @rule(target=unsettled, hole=st.integers(0, 5))
    def deliver(self, hole: int) -> int:
        """Deliver the next offset, perhaps behind a hole."""
        offset = hole if self.last is None else self.last + 1 + hole
        assert self.tracker.deliver(offset)
        self.open.add(offset)
        self.last = offset
        return offset

    @rule(offset=consumes(unsettled))
    def settle(self, offset: int) -> None:
        """Settle any one of those that are open."""
        self.tracker.settle(offset)
        self.open.discard(offset)

    @rule(back=st.integers(0, 10))
    def deliver_again(self, back: int) -> None:
        """Deliver something that had been delivered before: it is not taken twice."""
        if self.last is not None:
            assert not self.tracker.deliver(self.last - back)

    @rule(back=st.integers(0, 10))
    def settle_again(self, back: int) -> None:
        """Settle what is settled, or a hole: nothing changes."""
        if self.last is not None and (offset := self.last - back) not in self.open and offset >= 0:
            before = self.tracker.position
            self.tracker.settle(offset)
            assert self.tracker.position == before

    @invariant()
    def position_is_the_lowest_unsettled(self) -> None:
        """Find the position at the lowest open offset, never beyond it and never behind."""
        expected = min(self.open) if self.open else None if self.last is None else self.last + 1
        assert self.tracker.position == expected
        assert self.tracker.unsettled == len(self.open)


TestTracker = TrackerMachine.TestCase


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_settling_the_undelivered_is_refused(last: int, beyond: int) -> None:
    """P5: an offset that nobody has seen can never be settled."""
    tracker = OffsetTracker()
    tracker.deliver(last)
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
