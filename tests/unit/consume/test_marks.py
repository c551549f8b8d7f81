"""What a commit says beyond its offset: gathered, merged, and shortened when there is no room."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookline.consume._marks import Marks, RetryState, decode_marks, encode_marks, gather_marks, merge_marks
from tests.unit.consume.marking import (
    MINUTE,
    SETTLED,
    UNBOUND,
    Marked,
    Said,
    gathered,
    histories,
    marked,
    there_and_back,
)


@given(histories(), st.booleans())
def test_every_offset_is_remembered(history: tuple[int, Said], clean: bool) -> None:  # noqa: FBT001 - drawn
    """P5, P6: what decoding says of each delivered offset is what became of it, whatever the holes."""
    position, said = history
    marks = there_and_back(gathered(position, said, clean=clean), position)
    assert marks.clean == clean
    for offset, kind in said.items():
        assert marks.is_settled(offset) == (kind == SETTLED)
        assert kind == SETTLED or marks.state_of(offset) == kind


@given(marked())
def test_marks_come_back_whole(drawn: Marked) -> None:
    """P6: with room enough the text says all of the marks, and says so."""
    position, marks, _ = drawn
    encoded = encode_marks(marks, position, UNBOUND)
    assert decode_marks(encoded.text, position) == marks
    assert encoded.whole
    assert encoded.share <= 1


@given(marked(), st.integers(0, 400))
def test_too_little_room_only_forgets(drawn: Marked, limit: int) -> None:
    """P5, P6: a shortened text never calls settled what was not, and gives no record a state that it did not have."""
    position, marks, offsets = drawn
    encoded = encode_marks(marks, position, limit)
    read = decode_marks(encoded.text, position)
    assert len(encoded.text) <= limit
    assert encoded.whole == (read == marks and encoded.text != "") == (encoded.share <= 1)
    for offset in (*offsets, marks.frontier, marks.frontier + 1):
        assert marks.is_settled(offset) or not read.is_settled(offset)
        assert read.state_of(offset) in {None, marks.state_of(offset)}


@given(marked(), st.integers(0, 400))
def test_states_go_before_settlement_and_the_near_end_stays(drawn: Marked, limit: int) -> None:
    """P6, P11: too long, states go from the far end; then settled offsets from the far end; who was running never goes."""
    position, marks, _ = drawn
    encoded = encode_marks(marks, position, limit)
    assume(encoded.text)
    read = decode_marks(encoded.text, position)
    assert (read.clean, read.started, read.crashes) == (marks.clean, marks.started, marks.crashes)
    assert read.states == marks.states[: len(read.states)]
    assert read.open == marks.open[: len(read.open)]
    if read.frontier < marks.frontier:
        assert not read.states
        assert read.frontier == marks.open[len(read.open)][0]


@given(marked())
def test_as_much_stays_as_fits(drawn: Marked) -> None:
    """P6: one character short of all, only states go while there are any, and the settled offsets stay."""
    position, marks, _ = drawn
    assume(marks.states)
    read = there_and_back(marks, position, len(encode_marks(marks, position, UNBOUND).text) - 1)
    assert read.frontier == marks.frontier
    assert read.open == marks.open


def test_one_more_would_not_fit() -> None:
    """P6: as many states stay as there is room for, and then as many ranges: with one more the text is too long."""
    chance = random.Random(4)  # noqa: S311 - a fixed pattern that does not deflate
    offsets = range(1000)
    unsettled = set(chance.sample(offsets, 500))
    states = {offset: RetryState(chance.randrange(1, 9), MINUTE, b"") for offset in unsettled}
    whole = gather_marks(0, 1000, offsets, unsettled, states, clean=False)
    some = there_and_back(whole, 0, limit=600)
    assert 0 < len(some.states) < len(whole.states)
    more = replace(whole, states=whole.states[: len(some.states) + 1])
    assert len(encode_marks(more, 0).text) > 600
    few = there_and_back(whole, 0, limit=150)
    assert 0 < len(few.open) < len(whole.open)
    more = replace(few, open=whole.open[: len(few.open) + 1], frontier=whole.open[len(few.open) + 1][0])
    assert len(encode_marks(more, 0).text) > 150


def test_shortening_never_raises_the_frontier() -> None:
    """P5: where open ranges lie beyond the frontier, a shortened text claims no more than the whole one."""
    marks = Marks(3, ((1, 2), *((offset, offset + 1) for offset in range(10, 3000, 7))), (), clean=False)
    assert there_and_back(marks, 1, limit=40).frontier <= 3


def test_nothing_is_said_when_not_even_the_start_fits() -> None:
    """P5: without room for what was running the text is empty: nothing counts as settled."""
    marks = gather_marks(5, 9, [5, 7, 8], {5, 8}, {}, clean=False, started=[5, 8])
    encoded = encode_marks(marks, 5, limit=10)
    assert encoded.text == ""
    assert not encoded.whole
    assert encoded.share > 1


def test_no_text_suspects_nobody() -> None:
    """P5, P11: an offset that a tool set, or an engine without marks, has no text: nothing is known, all run."""
    assert decode_marks("", 7) == Marks(frontier=7, open=(), states=(), clean=True)


def test_ranges_go_over_holes() -> None:
    """P5: two neighbouring delivered offsets that are open are one range, though offsets between were never delivered."""
    marks = gather_marks(10, 1000, [10, 500, 501, 700, 999], {10, 500, 700, 999}, {}, clean=True)
    assert marks.open == ((10, 501), (700, 1000))
    assert marks.is_settled(501)


def test_equal_states_go_over_settled_offsets() -> None:
    """P6: successive unsettled records in one state are one range; a record without a state ends it."""
    state, other = RetryState(2, MINUTE, b"x"), RetryState(3, MINUTE, b"x")
    states = {0: state, 2: RetryState(2, MINUTE, b"x"), 6: state, 7: other}
    marks = gather_marks(0, 8, range(8), {0, 2, 4, 6, 7}, states, clean=True)
    assert marks.states == ((0, 3, state), (6, 7, state), (7, 8, other))


def test_what_has_settled_is_no_suspect() -> None:
    """P11: of the batch and the crashes, what lies below the position is left out, in whatever order they come."""
    marks = gather_marks(7, 9, [7, 8], {7, 8}, {}, clean=False, started={8, 3, 7}, crashes=[(8, 1), (7, 2), (3, 2)])
    assert marks.started == (7, 8)
    assert marks.crashes == ((7, 2), (8, 1))


@given(marked(), marked(), st.integers(0, 150))
def test_what_was_not_delivered_again_is_kept(drawn: Marked, before: Marked, span: int) -> None:
    """P6: merged marks say of offsets below the frontier what is known now, and from there on what was left."""
    (position, marks, _), (start, left, _) = drawn, before
    merged = merge_marks(marks, left)
    assert (merged.clean, merged.started) == (marks.clean, marks.started)
    for offset in {*range(position, position + span), *range(start, start + span), marks.frontier, left.frontier}:
        source = marks if offset < marks.frontier else left
        assert merged.is_settled(offset) == source.is_settled(offset)
        assert merged.state_of(offset) == source.state_of(offset)
    assert there_and_back(merged, position) == merged


def test_crashes_of_what_is_to_come_are_kept() -> None:
    """P11: merged marks keep the count of a record that was not delivered again; of the others today's counts hold."""
    found = Marks(50, ((10, 50),), (), clean=False, crashes=((12, 1), (30, 2), (40, 1)))
    merged = merge_marks(Marks(20, ((10, 20),), (), clean=False, crashes=((15, 1), (40, 2))), found)
    assert merged.crashes == ((15, 1), (30, 2), (40, 2))


def test_more_than_a_reader_takes_is_not_written() -> None:
    """P5, P6: marks that deflate well are shortened too when they would inflate to more than a reader takes."""
    offsets = range(100_000)
    marks = gather_marks(0, 100_000, offsets, set(offsets[::2]), {}, clean=False)
    encoded = encode_marks(marks, 0)
    read = decode_marks(encoded.text, 0)
    assert not encoded.whole
    assert encoded.share > 1
    assert 20_000 < read.frontier < 100_000


@pytest.mark.parametrize(
    "marks",
    [
        Marks(9, (), (), clean=True),
        Marks(20, ((9, 12),), (), clean=True),
        Marks(20, ((15, 15),), (), clean=True),
        Marks(20, ((15, 16), (12, 13)), (), clean=True),
        Marks(20, (), ((15, 16, RetryState(0, None, b"")),), clean=True),
        Marks(20, (), (), clean=True, started=(12, 12)),
        Marks(20, (), (), clean=True, crashes=((12, -1),)),
    ],
)
def test_marks_that_contradict_themselves_are_not_written(marks: Marks) -> None:
    """P5: ranges out of order or below the position are a mistake of the caller's, never a text."""
    with pytest.raises(ValueError, match="no varint"):
        encode_marks(marks, 10)


def test_an_outage_is_a_few_bytes() -> None:
    """P9: two thousand records in retry with three states take a fortieth of the room."""
    offsets = range(1_000_000, 1_002_000)
    states = {
        offset: RetryState(4 - offset // 700 % 3, MINUTE + offset // 700 % 3, b"\x9a\x31\0" * 4) for offset in offsets
    }
    marks = gather_marks(offsets[0], offsets[-1] + 1, offsets, set(offsets), states, clean=False)
    assert encode_marks(marks, offsets[0]).share < 0.025


def test_every_other_offset_settled_is_a_few_bytes() -> None:
    """P6: two thousand offsets, settled and open by turns, take little."""
    offsets = range(1_000_000, 1_002_000)
    marks = gather_marks(offsets[0], offsets[-1] + 1, offsets, set(offsets[::2]), {}, clean=False)
    assert encode_marks(marks, offsets[0]).share < 0.05


class MarksMachine(RuleBasedStateMachine):
    """P5, P6: after any deliveries, settlements and failures, every delivered offset is what the model says it is."""

    def __init__(self) -> None:
        super().__init__()
        self.said: Said = {}
        self.next = 0

    def _pick(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from([offset for offset, kind in self.said.items() if kind != SETTLED]))

    @property
    def _position(self) -> int:
        return next((offset for offset, kind in self.said.items() if kind != SETTLED), self.next)

    def _has_unsettled(self) -> bool:
        return any(kind != SETTLED for kind in self.said.values())

    @rule(hole=st.sampled_from([0, 0, 0, 1, 300]), count=st.integers(1, 20))
    def deliver(self, hole: int, count: int) -> None:
        """Deliver some, perhaps behind a hole."""
        start = self.next + hole
        self.said.update(dict.fromkeys(range(start, start + count)))
        self.next = start + count

    @precondition(_has_unsettled)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Settle one that is not."""
        self.said[self._pick(data)] = SETTLED

    @precondition(_has_unsettled)
    @rule(data=st.data(), minute=st.integers(MINUTE, MINUTE + 3), saved=st.sampled_from([b"", b"\1", b"\1\2"]))
    def fail(self, data: st.DataObject, minute: int, saved: bytes) -> None:
        """Let an attempt fail: the next one has a higher number, the first failure stays."""
        offset = self._pick(data)
        match self.said[offset]:
            case RetryState(attempt, first, _):
                self.said[offset] = RetryState(attempt + 1, first, saved)
            case _:
                self.said[offset] = RetryState(2, minute, saved)

    def _kept(self, position: int) -> Marks:
        return gathered(
            position, {offset: kind for offset, kind in self.said.items() if offset >= position}, clean=False
        )

    @precondition(_has_unsettled)
    @rule(share=st.floats(0, 1))
    def move(self, share: float) -> None:
        """Let the partition move, be delivered again in part, and move again: nothing of the rest is forgotten."""
        position = self._position
        left = there_and_back(self._kept(position), position)
        again = [offset for offset in self.said if offset >= position]
        again = again[: int(len(again) * share)]
        frontier = again[-1] + 1 if again else position
        states = {offset: state for offset in again if (state := left.state_of(offset))}
        unsettled = {offset for offset in again if not left.is_settled(offset)}
        marks = gather_marks(position, frontier, again, unsettled, states, clean=False)
        self._check(there_and_back(merge_marks(marks, left), position))

    @invariant()
    def every_offset_is_what_it_is(self) -> None:
        """Compare what comes back with the model."""
        position = self._position
        self._check(there_and_back(self._kept(position), position))

    def _check(self, marks: Marks) -> None:
        for offset, kind in self.said.items():
            assert marks.is_settled(offset) == (kind == SETTLED)
            assert kind == SETTLED or marks.state_of(offset) == kind
        assert not marks.is_settled(self.next)


TestMarks = MarksMachine.TestCase


@given(marked(), st.binary(max_size=40))
def test_a_note_stands_beside_all_else(drawn: Marked, note: bytes) -> None:
    """P6: the handler's own bytes come back, change nothing of the rest, and are those of the newer marks when merged."""
    position, marks, _ = drawn
    noted = replace(marks, note=note)
    assert there_and_back(noted, position) == noted
    assert merge_marks(noted, replace(marks, note=b"older")).note == note


def test_a_note_goes_before_what_was_running() -> None:
    """P11: without room for both, the note is forgotten, and who was running is not."""
    marks = Marks(9, ((5, 9),), (), clean=False, started=(5, 8), note=bytes(range(60)))
    alone = encode_marks(replace(marks, note=b""), 5)
    encoded = encode_marks(marks, 5, len(alone.text))
    assert (encoded.text, encoded.whole) == (alone.text, False)
