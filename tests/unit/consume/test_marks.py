"""The text that a commit carries beside its offset."""

from __future__ import annotations

import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookline.consume._marks import (
    Marks,
    MarksError,
    RetryState,
    decode_marks,
    encode_marks,
    gather_marks,
    merge_marks,
)
from hookline.consume._marks_bytes import DEFLATED, LARGEST_BODY, LARGEST_TEXT, pack, pack_body, seal, unpack

VECTORS = Path(__file__).parents[2] / "vectors" / "commit-marks"
GOLDEN = [
    pytest.param(each, id=f"{path.stem}-{each['name']}")
    for path in sorted(VECTORS.glob("version-*.json"))
    for each in json.loads(path.read_text(encoding="utf-8"))["texts"]
]
UNBOUND = LARGEST_TEXT
SETTLED = "settled"
MINUTE = 29_700_000

STATES = st.builds(
    RetryState,
    st.integers(1, 300),
    st.none() | st.integers(MINUTE - 90, MINUTE) | st.integers(-(2**40), 2**40),
    st.binary(max_size=12),
)
FEW_STATES = st.lists(STATES, min_size=1, max_size=4)
POSITIONS = st.integers(0, 1000) | st.integers(0, 2**62)


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, dict[int, str | RetryState | None]]:
    """Draw a position, and for each offset delivered from there on, over holes, what became of it."""
    states = draw(FEW_STATES)
    kinds = st.just(SETTLED) | st.none() | st.sampled_from(states)
    steps = draw(st.lists(st.tuples(st.sampled_from([1, 1, 1, 2, 200]), kinds), max_size=120))
    position = offset = draw(POSITIONS)
    said: dict[int, str | RetryState | None] = {}
    for step, kind in steps:
        said[offset] = kind
        offset += step
    return position, said


@st.composite
def marked(draw: st.DrawFn) -> tuple[int, Marks, list[int]]:
    """Draw a position, marks and the offsets that they tell of."""
    position, said = draw(histories())
    some = st.sets(st.sampled_from(sorted(said)), max_size=8) if said else st.just(set[int]())
    crashed = {(offset, draw(st.integers(1, 3))) for offset in draw(some)}
    marks = gathered(position, said, clean=draw(st.booleans()), started=draw(some), crashes=crashed)
    return position, marks, list(said)


def gathered(position: int, said: dict[int, str | RetryState | None], **more: Any) -> Marks:
    unsettled = {offset for offset, kind in said.items() if kind != SETTLED}
    states = {offset: kind for offset, kind in said.items() if isinstance(kind, RetryState)}
    return gather_marks(position, max(said, default=position - 1) + 1, list(said), unsettled, states, **more)


def there_and_back(marks: Marks, position: int, limit: int = UNBOUND) -> Marks:
    return decode_marks(encode_marks(marks, position, limit).text, position)


def kind_of(text: str, position: int = 0) -> str:
    """Tell how decoding ended; any other error than the one passes through and fails the test."""
    try:
        decode_marks(text, position)
    except MarksError as error:
        return error.kind
    return "read"


@given(histories(), st.booleans())
def test_every_offset_is_remembered(history: tuple[int, dict[int, str | RetryState | None]], clean: bool) -> None:  # noqa: FBT001 - drawn
    """P5, P6: what decoding says of each delivered offset is what became of it, whatever the holes."""
    position, said = history
    marks = there_and_back(gathered(position, said, clean=clean), position)
    assert marks.clean == clean
    for offset, kind in said.items():
        assert marks.is_settled(offset) == (kind == SETTLED)
        assert kind == SETTLED or marks.state_of(offset) == kind


@given(marked())
def test_marks_come_back_whole(drawn: tuple[int, Marks, list[int]]) -> None:
    """P6: with room enough the text says all of the marks, and says so."""
    position, marks, _ = drawn
    encoded = encode_marks(marks, position, UNBOUND)
    assert decode_marks(encoded.text, position) == marks
    assert encoded.whole
    assert encoded.share <= 1


@given(marked(), st.integers(0, 400))
def test_too_little_room_only_forgets(drawn: tuple[int, Marks, list[int]], limit: int) -> None:
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
def test_states_go_before_settlement_and_the_near_end_stays(drawn: tuple[int, Marks, list[int]], limit: int) -> None:
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
def test_as_much_stays_as_fits(drawn: tuple[int, Marks, list[int]]) -> None:
    """P6: one character short of all, only states go while there are any, and the settled offsets stay."""
    position, marks, _ = drawn
    assume(marks.states)
    read = there_and_back(marks, position, len(encode_marks(marks, position, UNBOUND).text) - 1)
    assert read.frontier == marks.frontier
    assert read.open == marks.open


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
def test_what_was_not_delivered_again_is_kept(
    drawn: tuple[int, Marks, list[int]], before: tuple[int, Marks, list[int]], span: int
) -> None:
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


@given(marked(), st.data())
def test_a_cut_text_is_torn(drawn: tuple[int, Marks, list[int]], data: st.DataObject) -> None:
    """P5: a text that ends early, anywhere behind its prefix, says nothing."""
    position, marks, _ = drawn
    text = encode_marks(marks, position).text
    cut = data.draw(st.integers(len("hl1."), len(text) - 1))
    assert kind_of(text[:cut], position) == "torn"


@given(marked(), st.data(), st.characters())
def test_a_changed_text_is_torn(drawn: tuple[int, Marks, list[int]], data: st.DataObject, other: str) -> None:
    """P5: a text of which one character behind the prefix is another says nothing; nor does one with more behind it."""
    position, marks, _ = drawn
    text = encode_marks(marks, position).text
    at = data.draw(st.integers(len("hl1."), len(text) - 1))
    assume(text[at] != other)
    assert kind_of(text[:at] + other + text[at + 1 :], position) == "torn"
    assert kind_of(text + other, position) == "torn"


@given(st.text(min_size=1) | st.from_regex(r"hl[0-9]{0,6}\.?.*"))
def test_no_text_fails_otherwise(text: str) -> None:
    """P5: of whatever stands there, decoding says foreign, torn or newer, and raises nothing else."""
    digits = text[2 : text.find(".")] if text.startswith("hl") and "." in text else ""
    ours = digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) <= 4
    assert kind_of(text) == ("foreign" if not ours else "torn" if digits == "1" else "newer")


@pytest.mark.parametrize(
    "text", ["null", "{}", "hl", "hl1", "hl1x", "HL1.AA", "hl0.AA", "hl-1.", "hl\u0661.", " hl1.", "\ud800"]
)
def test_other_programs_texts_are_foreign(text: str) -> None:
    """P5: what does not begin as ours does is another program's."""
    assert kind_of(text) == "foreign"


@pytest.mark.parametrize("text", ["hl2.", "hl2.AAAA", "hl17.anything at all"])
def test_later_versions_are_told_apart(text: str) -> None:
    """P6: a version that this release cannot read is known as such, so that a roll back that loses marks is seen."""
    assert kind_of(text) == "newer"


@given(marked(), st.integers(0, 2**62))
def test_marks_hold_for_their_offset_only(drawn: tuple[int, Marks, list[int]], other: int) -> None:
    """P5: beside another offset than their own, as a mirror writes them, marks are foreign: their offsets mean others."""
    position, marks, _ = drawn
    assume(other != position)
    assert kind_of(encode_marks(marks, position).text, other) == "foreign"


SECTIONS = st.lists(st.tuples(st.integers(1, 8), st.binary(max_size=30)), max_size=8)


@given(st.integers(0, 255), st.binary(max_size=200) | st.builds(pack_body, st.integers(0, 2**62), SECTIONS))
def test_a_right_checksum_is_not_trusted(flags: int, body: bytes) -> None:
    """P5: whatever is sealed, decoding ends in marks or in its one error."""
    text = "hl1." + seal(flags & ~DEFLATED, body)
    assert kind_of(text) in {"read", "torn", "foreign"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80",
        b"\x05\x01",
        b"\x05\x01\x02\x01",
        pack_body(5, [(1, b"\1"), (1, b"\1")]),
        pack_body(5, [(1, b"\1\1")]),
        pack_body(5, [(2, b"\0")]),
        pack_body(5, [(3, b"\0\0\0\7saved"), (4, b"\0\0\0")]),
        pack_body(5, [(3, b"\0\0\0\0"), (4, b"\0\0\1")]),
        pack_body(5, [(4, b"\0\0\0")]),
        pack_body(5, [(6, b"\0")]),
        pack_body(5, [(5, b"\x80" * 9 + b"\1")]),
    ],
)
def test_a_body_that_contradicts_itself_is_torn(body: bytes) -> None:
    """P5: sections cut short, doubled, or pointing nowhere say nothing, with a right checksum too."""
    assert kind_of("hl1." + seal(0, body), 5) == "torn"


def test_a_small_text_cannot_become_large() -> None:
    """P10: a text that would inflate a thousandfold is refused before it has."""
    deflated = zlib.compress(bytes(20_000_000), 9, -zlib.MAX_WBITS)
    text = "hl1." + seal(DEFLATED, deflated)
    tracemalloc.start()
    kind = kind_of(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kind == "torn"
    assert peak < 20 * LARGEST_BODY


def test_a_text_that_kafka_could_not_have_kept_is_torn() -> None:
    """P10: a text longer than Kafka's protocol carries is not even looked at."""
    assert kind_of("hl1." + "A" * 40_000_000) == "torn"


def test_more_than_a_reader_takes_is_not_written() -> None:
    """P5, P6: marks that deflate well are shortened too when they would inflate to more than a reader takes."""
    offsets = range(100_000)
    marks = gather_marks(0, 100_000, offsets, set(offsets[::2]), {}, clean=False)
    encoded = encode_marks(marks, 0)
    read = decode_marks(encoded.text, 0)
    assert not encoded.whole
    assert encoded.share > 1
    assert 20_000 < read.frontier < 100_000


@given(marked(), st.integers(7, 2**40), st.binary(min_size=1, max_size=40), st.integers(0, 63))
def test_what_a_later_release_adds_is_skipped(
    drawn: tuple[int, Marks, list[int]], number: int, content: bytes, bits: int
) -> None:
    """P6: sections and flags that this release does not know change nothing in what it reads."""
    position, marks, _ = drawn
    flags = bits << 2 | marks.clean << 1
    sections = [(number, content), (1, pack([marks.frontier - position])), (number + 1, b"\x80")]
    read = decode_marks("hl1." + seal(flags, pack_body(position, sections)), position)
    assert read == Marks(marks.frontier, (), (), clean=marks.clean)


@pytest.mark.parametrize("golden", GOLDEN)
def test_texts_of_every_release_are_read(golden: dict[str, Any]) -> None:
    """P6: what a release has written means today what it meant then."""
    assert decode_marks(golden["text"], golden["position"]) == marks_of(golden["marks"])


@pytest.mark.parametrize("golden", GOLDEN)
def test_marks_of_every_release_can_be_written(golden: dict[str, Any]) -> None:
    """P6: what a release had to say can be said today; the bytes may be others."""
    marks = marks_of(golden["marks"])
    assert there_and_back(marks, golden["position"], limit=4000) == marks


def marks_of(kept: dict[str, Any]) -> Marks:
    return Marks(
        frontier=kept["frontier"],
        open=tuple((start, end) for start, end in kept["open"]),
        states=tuple((start, end, _state_of(state)) for start, end, state in kept["states"]),
        clean=kept["clean"],
        started=tuple(kept["started"]),
        crashes=tuple((offset, count) for offset, count in kept["crashes"]),
    )


def _state_of(kept: dict[str, Any]) -> RetryState:
    return RetryState(kept["attempt"], kept["first_failed_minute"], bytes.fromhex(kept["saved"]))


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


@given(st.lists(st.integers(0, 127) | st.integers(0, 2**63 - 1)))
def test_varints_come_back(values: list[int]) -> None:
    """P6: numbers up to the largest offset come back as they went."""
    assert unpack(pack(values)) == values


class MarksMachine(RuleBasedStateMachine):
    """P5, P6: after any deliveries, settlements and failures, every delivered offset is what the model says it is."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[int, str | RetryState | None] = {}
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
