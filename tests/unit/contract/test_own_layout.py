"""Records laid out as encode_event lays them out are found by position; the rules are those of every other record."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.contract import (
    Event,
    Headers,
    MalformedRecordError,
    Redrive,
    decode_delivery,
    decode_record,
    encode_event,
)
from hookline.contract._codec import _read
from hookline.contract._headers import find_own_envelope
from tests.unit.contract.samples import headers, sample_event, sample_value

SAMPLE = encode_event(sample_event())
NAMES = [name for name, _ in SAMPLE.headers]
OTHER_NAMES = ["Content-Type", "ce_x", "hookline-redrives", "hookline-redrive-hooks", "hookline-redrive-again"]


@st.composite
def nearly_own(draw: st.DrawFn) -> Headers:
    """Draw our layout with some values, and sometimes some names, replaced, headers added and taken out."""
    found = list(SAMPLE.headers)
    for place in draw(st.sets(st.integers(0, len(found) - 1), max_size=3)):
        name, value = found[place]
        name = draw(st.just(name) | st.sampled_from(NAMES + OTHER_NAMES))
        found[place] = name, draw(st.just(value) | st.none() | st.binary(max_size=4))
    added = draw(
        st.lists(st.tuples(st.sampled_from(NAMES + OTHER_NAMES), st.none() | st.binary(max_size=4)), max_size=2)
    )
    for each in added:
        found.insert(draw(st.integers(0, len(found))), each)
    del found[len(found) - draw(st.integers(0, len(added))) :]
    return tuple(found)


def read(key: bytes | None, value: bytes | None, headers: Headers, *, by_position: bool) -> Event | str:
    """Return the event, or the code and reason of the refusal."""
    try:
        return _read(key, value, headers, find_own_envelope(headers) if by_position else None)
    except MalformedRecordError as error:
        return str(error)


@settings(max_examples=400)
@given(
    st.none() | st.binary(max_size=4),
    st.sampled_from([SAMPLE.value, sample_value(), sample_value(id=""), sample_value(timestamp_ms=2**62), b"\xff", b"", None]),
    nearly_own(),
)  # fmt: skip  # one strategy a line
@example(b"k", SAMPLE.value, SAMPLE.headers)
@example(b"k", sample_value(), SAMPLE.headers)
def test_what_is_found_by_position_is_what_a_search_finds(
    key: bytes | None, value: bytes | None, found: Headers
) -> None:
    """The shorter way reads and refuses what the longer one does, with the same words."""
    assert read(key, value, found, by_position=True) == read(key, value, found, by_position=False)


def test_what_we_write_is_found_by_position() -> None:
    """An event with a time and without further attributes, which is nearly every one, needs no search."""
    assert find_own_envelope(SAMPLE.headers) is not None


@given(nearly_own() | headers, st.lists(st.sampled_from(OTHER_NAMES), max_size=2))
def test_a_delivery_is_the_event_and_its_redrive(found: Headers, more: list[str]) -> None:
    """Reading both at once is reading one after the other."""
    record_headers = (*found, *((name, b"2") for name in more))
    try:
        event = decode_record(b"k", SAMPLE.value, record_headers)
    except MalformedRecordError:
        return
    both = event, Redrive.from_headers(record_headers)
    assert decode_delivery(b"k", SAMPLE.value, record_headers) == both
