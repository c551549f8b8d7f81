"""Which lane is next when lanes compete."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookline.consume import Delivery
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._partition import Lane, Partition
from hookline.consume._ready import ReadyLanes
from hookline.kafka import Record

RECORD = Record("t", 0, 0, 0, b"k", b"v")


class ReadyMachine(RuleBasedStateMachine):
    """P3, P8: the longest lane goes first, and of equals the one that came to its length first."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition(0, CompletedWindow(0))
        self.ready = ReadyLanes()
        self.model: list[tuple[int, Lane]] = []
        """(length, lane) in the order in which they came to that length."""
        self.resting: list[Lane] = []

    @rule(length=st.integers(1, 6))
    def add(self, length: int) -> None:
        """Let a new lane wait."""
        lane = Lane(self.partition, len(self.model))
        lane.queue.extend(Delivery(RECORD) for _ in range(length))
        self._wait(lane)

    @rule(data=st.data())
    @precondition(lambda self: self.resting)
    def add_again(self, data: st.DataObject) -> None:
        """Let a lane wait that had been taken out."""
        lane = data.draw(st.sampled_from(self.resting))
        self.resting.remove(lane)
        self._wait(lane)

    @rule(data=st.data(), more=st.integers(1, 3))
    @precondition(lambda self: self.model)
    def grow(self, data: st.DataObject, more: int) -> None:
        """Give a waiting lane more records."""
        lane = data.draw(st.sampled_from([lane for _, lane in self.model]))
        lane.queue.extend(Delivery(RECORD) for _ in range(more))
        self.ready.grew(lane)
        self._forget(lane)
        self.model.append((len(lane.queue), lane))

    @rule(data=st.data())
    @precondition(lambda self: self.model or self.resting)
    def discard(self, data: st.DataObject) -> None:
        """Take a lane out, whether it waits or not."""
        lane = data.draw(st.sampled_from([lane for _, lane in self.model] + self.resting))
        self.ready.discard(lane)
        if lane not in self.resting:
            self._forget(lane)
            self.resting.append(lane)

    @rule()
    def take(self) -> None:
        """Take the longest; None when none waits."""
        expected = max(self.model, key=lambda each: each[0])[1] if self.model else None
        assert self.ready.take() is expected
        if expected is not None:
            self._forget(expected)
            self.resting.append(expected)

    @invariant()
    def each_is_counted_once(self) -> None:
        """Tell how many wait, and of each lane whether it does."""
        assert self.ready.count == len(self.model)
        assert all(lane.ready_length == length for length, lane in self.model)
        assert not any(lane.ready_length for lane in self.resting)

    def _wait(self, lane: Lane) -> None:
        self.ready.add(lane)
        self.model.append((len(lane.queue), lane))

    def _forget(self, lane: Lane) -> None:
        self.model = [each for each in self.model if each[1] is not lane]


TestReady = ReadyMachine.TestCase
