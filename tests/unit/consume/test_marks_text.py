"""The text of a commit's metadata: whose it is, whether it is whole, and what each release has written."""

from __future__ import annotations

import base64
import json
import string
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookline.consume._marks import Marks, MarksError, RetryState, decode_marks, encode_marks
from hookline.consume._marks_bytes import DEFLATED, LARGEST_BODY, LARGEST_TEXT, pack_body, pack_numbers, seal, unpack
from tests.unit.consume.marking import Marked, marked, there_and_back

VECTORS = Path(__file__).parents[2] / "vectors" / "commit-marks"
GOLDEN = [
    pytest.param(each, id=f"{path.stem}-{each['name']}")
    for path in sorted(VECTORS.glob("version-*.json"))
    for each in json.loads(path.read_text(encoding="utf-8"))["texts"]
]


def kind_of(text: str, position: int = 0) -> str:
    """Tell how decoding ended; any other error than the one passes through and fails the test."""
    try:
        decode_marks(text, position)
    except MarksError as error:
        return error.kind
    return "read"


def checked(flags: int, body: bytes) -> str:
    """Write flags and body as they are, with a right checksum."""
    data = bytes((flags,)) + body
    return "hl1." + base64.urlsafe_b64encode(data + zlib.crc32(data).to_bytes(4, "big")).rstrip(b"=").decode()


def deflated(body: bytes) -> bytes:
    return zlib.compress(body, 9, -zlib.MAX_WBITS)


def peak_bytes(text: str) -> int:
    """Tell how much memory decoding takes at most; the text is torn."""
    tracemalloc.start()
    kind = kind_of(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kind == "torn"
    return peak


@given(marked(), st.data())
def test_a_cut_text_is_torn(drawn: Marked, data: st.DataObject) -> None:
    """P5: a text that ends early, anywhere behind its prefix, says nothing."""
    position, marks, _ = drawn
    text = encode_marks(marks, position).text
    cut = data.draw(st.integers(len("hl1."), len(text) - 1))
    assert kind_of(text[:cut], position) == "torn"


@given(marked(), st.data(), st.characters())
def test_a_changed_text_is_torn(drawn: Marked, data: st.DataObject, other: str) -> None:
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
def test_marks_hold_for_their_offset_only(drawn: Marked, other: int) -> None:
    """P5: beside another offset than their own, as a mirror writes them, marks are foreign: their offsets mean others."""
    position, marks, _ = drawn
    assume(other != position)
    assert kind_of(encode_marks(marks, position).text, other) == "foreign"


SECTIONS = st.lists(st.tuples(st.integers(1, 8), st.binary(max_size=30)), max_size=8)


@given(st.integers(0, 255), st.binary(max_size=200) | st.builds(pack_body, st.integers(0, 2**62), SECTIONS))
def test_a_right_checksum_is_not_trusted(flags: int, body: bytes) -> None:
    """P5: whatever is sealed, decoding ends in marks or in its one error."""
    assert kind_of(checked(flags, body)) in {"read", "torn", "foreign"}
    assert kind_of("hl1." + seal(flags & ~DEFLATED, body)) in {"read", "torn", "foreign"}


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
    assert kind_of(checked(0, body), 5) == "torn"


def test_a_small_text_cannot_become_large() -> None:
    """P10: a text that would inflate a thousandfold is refused before it has."""
    text = checked(DEFLATED, deflated(pack_body(0, [(99, bytes(20_000_000))])))
    assert len(text) < LARGEST_TEXT
    assert peak_bytes(text) < 10 * LARGEST_BODY


def test_a_text_that_kafka_could_not_have_kept_is_torn() -> None:
    """P10: a text longer than Kafka's protocol carries is not even unpacked."""
    assert peak_bytes(checked(0, pack_body(0, [(99, bytes(2_000_000))]))) < 4_000_000


def test_a_stream_must_be_whole() -> None:
    """P5: deflated data that is none, ends early or has more behind it says nothing, with a right checksum too."""
    stream = deflated(pack_body(0, [(1, b"\1"), (99, bytes(100))]))
    assert kind_of(checked(DEFLATED, stream)) == "read"
    for damaged in (b"", b"\xff\xff", stream[:-1], stream + b"\0"):
        assert kind_of(checked(DEFLATED, damaged)) == "torn"


def test_bits_that_base64_does_not_use_are_none() -> None:
    """P5: a last character that differs only in bits that decoding drops is a damaged one too."""
    text = checked(2, pack_body(200, []))
    assert kind_of(text, 200) == "read"
    assert len(text) % 4
    for last in set(string.ascii_letters + string.digits + "-_+/=") - {text[-1]}:
        assert kind_of(text[:-1] + last, 200) == "torn"


@given(marked(), st.integers(8, 2**40), st.binary(min_size=1, max_size=40), st.integers(0, 63))
def test_what_a_later_release_adds_is_skipped(drawn: Marked, number: int, content: bytes, bits: int) -> None:
    """P6: sections and flags that this release does not know change nothing in what it reads."""
    position, marks, _ = drawn
    flags = bits << 2 | marks.clean << 1
    sections = [(number, content), (1, pack_numbers([marks.frontier - position])), (number + 1, b"\x80")]
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
        note=bytes.fromhex(kept.get("note", "")),
    )


def _state_of(kept: dict[str, Any]) -> RetryState:
    return RetryState(kept["attempt"], kept["first_failed_minute"], bytes.fromhex(kept["saved"]))


@given(st.lists(st.integers(0, 127) | st.integers(0, 2**63 - 1)))
def test_varints_come_back(values: list[int]) -> None:
    """P6: numbers up to the largest offset come back as they went."""
    assert unpack(pack_numbers(values)) == values
