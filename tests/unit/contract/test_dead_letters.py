"""The dead-letter record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import (
    UNKNOWN_ORIGIN,
    DeadLetter,
    DeadLetterClass,
    Headers,
    HookFailure,
    Origin,
    Shrink,
    Subject,
    decode_record,
    encode_event,
)
from tests.unit.contract.samples import headers, load_json, reencode, sample_event

SOURCE = Origin("submitqueue-hook", 3, 42)
FAILURE = HookFailure(
    hook="comment", verdict="infra_dependency_retryable", exception="builtins.ConnectionError", message="refused", attempts=5,
    elapsed_seconds=12.5, code="connection", host="ci.example.com", http_status=503, causes=("builtins.OSError: refused",),
    location="app/comment.py:10 in handle", subjects=(Subject("hook", "comment"), Subject("batch", "batch-778")),
    detail={"step": "merge", "paths": ["foo/bar.go"], "build": {"number": 7}},
)  # fmt: skip  # one value
HUGE = HookFailure(
    hook="comment", verdict="infra", exception="a.B" * 1000, message="é" * 100_000, attempts=3, elapsed_seconds=1.0, code="hook_exception",
    causes=("x" * 10_000,) * 300, location="é" * 1000, subjects=(Subject("s" * 999, "é" * 999),) * 99,
    detail={f"key-{n}": "é" * 999 for n in range(99)},
)  # fmt: skip  # one value
ODD: Headers = (
    ("a", None),
    ("a", b""),
    ("a", b"\xff"),
    ("traceparent", b"00-1"),
    ("ce_id", b"i"),
    ("n\u00e9", b"x"),
    ("a", b"again"),
)


def sample_letter(**changes: Any) -> DeadLetter:
    """Return the letter of an odd record, with changes."""
    fields: dict[str, Any] = {
        "key": b"k", "value": b"v", "headers": ODD, "source": SOURCE, "group": "submitqueue-hook", "delivery_count": 5,
        "letter_class": DeadLetterClass.EXHAUSTED, "code": "attempts_exhausted", "message": "comment: refused",
        "failed_at_ms": 1796032800123, "first_failed_at_ms": 1796032700000, "failures": (FAILURE,),
    }  # fmt: skip  # one value
    fields |= changes
    key, value, own = fields.pop("key"), fields.pop("value"), fields.pop("headers")
    return DeadLetter.of_record(key, value, own, **fields)


def read_back(letter: DeadLetter, shrink: Shrink = Shrink.NONE) -> DeadLetter:
    """Return the letter as a reader of the dead-letter topic sees it."""
    return DeadLetter.from_record(letter.key, letter.value, letter.record_headers(shrink))


def size_of(record_headers: Headers) -> int:
    """Return the bytes of all names and values."""
    return sum(len(name.encode()) + len(value or b"") for name, value in record_headers)


def failed_again(letter: DeadLetter, offset: int) -> DeadLetter:
    """Return the letter after it was republished and failed in the same way once more."""
    republished = letter.republished(hooks=["comment"], operation="op-1")
    return sample_letter(key=letter.key, value=letter.value, headers=republished, source=Origin("submitqueue-hook", 0, offset), failures=letter.failures, message=letter.message)  # fmt: skip  # one call


@given(st.none() | st.binary(), st.none() | st.binary(), headers)
def test_round_trip_is_byte_for_byte(key: bytes | None, value: bytes | None, own: Headers) -> None:
    """P14, cases: header-fidelity. Key, value and the producer's headers survive: order, repeats, null against empty."""
    letter = read_back(sample_letter(key=key, value=value, headers=own))
    assert (letter.key, letter.value, letter.headers) == (key, value, own)
    assert letter.republished(hooks=None, operation="op")[: len(own)] == own


@pytest.mark.parametrize(("key", "value"), [(b"k", None), (None, None), (b"", b""), (b"\xff\xfe", b"\x00")])
def test_null_and_empty_stay_apart(key: bytes | None, value: bytes | None) -> None:
    """cases: tombstone-everywhere, header-fidelity. A null key or value stays null, an empty one empty."""
    letter = read_back(sample_letter(key=key, value=value))
    assert (letter.key, letter.value) == (key, value)


def test_whole_letter_round_trip() -> None:
    """P14. Everything that a letter says is read back."""
    assert read_back(sample_letter()) == sample_letter()


def test_a_location_is_bounded_and_left_out_where_there_is_none() -> None:
    """A failure says where it was raised in at most 256 bytes; documents without a location stay as they were."""
    letters = [read_back(sample_letter(failures=(HUGE,)), shrink) for shrink in (Shrink.NONE, Shrink.FAILURE)]
    assert all(0 < len((letter.failures[0].location or "").encode()) <= 256 for letter in letters)
    without = dict(sample_letter(failures=(replace(FAILURE, location=None),)).record_headers())
    assert "location" not in json.loads(without["hookline-dlq-failure"] or b"")["hooks"][0]


def test_names_on_the_wire() -> None:
    """The attribution stands in text headers: Kafka's own names of KIP-1191, then ours."""
    names = [name for name, _ in sample_letter().record_headers()[len(ODD) :]]
    kafkas = load_json("dlq-headers.json")["kafka_share_group_kip1191"]["headers"]
    assert names[: len(kafkas)] == kafkas
    assert names[len(kafkas) :] == [
        "hookline-dlq-code", "hookline-dlq-class", "hookline-dlq-failed-at", "hookline-dlq-first-failed-at", "hookline-dlq-origin",
        "hookline-dlq-redrives", "hookline-dlq-failure",
    ]  # fmt: skip  # a list


def test_values_on_the_wire() -> None:
    """Every value is UTF-8 text that any tool can show, numbers too."""
    found = {name: (value or b"").decode() for name, value in sample_letter().record_headers()[len(ODD) :]}
    assert found["__dlq.errors.partition"] == "3"
    assert found["hookline-dlq-class"] == "exhausted"
    assert found["hookline-dlq-failed-at"] == "2026-11-30T10:00:00.123Z"
    assert found["hookline-dlq-origin"] == "submitqueue-hook/3/42"
    assert json.loads(found["hookline-dlq-failure"])["hooks"][0]["http_status"] == 503


def test_reserved_headers_of_a_producer_are_replaced() -> None:
    """cases: header-growth. What claims to be ours on the way in is not kept beside what we write."""
    claimed = (
        ("hookline-dlq-code", b"old"),
        ("__dlq.errors.topic", b"elsewhere"),
        ("x", b"y"),
        ("hookline-anything", b"z"),
    )
    letter = sample_letter(headers=claimed)
    assert letter.headers == (("x", b"y"),)
    assert dict(letter.record_headers())["__dlq.errors.topic"] == b"submitqueue-hook"


def test_size_is_constant_over_rounds() -> None:
    """cases: header-growth. Twenty rounds of dead letter and republish add no header and no byte but a counter's digit."""
    letter = sample_letter(failures=(HUGE,), message="m" * 100_000)
    first = letter.record_headers()
    for round_number in range(1, 21):
        letter = failed_again(read_back(letter), offset=round_number + 10)
        written = letter.record_headers()
        assert [name for name, _ in written] == [name for name, _ in first]
        assert size_of(written) <= size_of(first) + len("20") - len("0")
        assert (letter.redrives, letter.headers) == (round_number, ODD)


def test_origin_is_write_once() -> None:
    """P14. However often a record fails, its origin is where it stood the first time; source says where it stands now."""
    letter = failed_again(failed_again(sample_letter(), offset=99), offset=100)
    assert (letter.origin, letter.source, letter.redrives) == (SOURCE, Origin("submitqueue-hook", 0, 100), 2)


def test_what_ran_again_is_republished_so() -> None:
    """P14. Its identity may have completed before: a republication without the mark would be dropped as a duplicate."""
    marked = sample_letter(headers=sample_letter().republished(hooks=("comment",), operation="op-1", again=True))
    for letter in (read_back(marked), failed_again(read_back(marked), offset=50)):
        assert letter.again
        assert ("hookline-redrive-again", b"true") in letter.republished(hooks=None, operation="op-2")
    assert "hookline-redrive-again" not in dict(sample_letter().republished(hooks=None, operation="op-3"))


@pytest.mark.parametrize("shrink", list(Shrink))
def test_attribution_is_bounded(shrink: Shrink) -> None:
    """A dead letter always fits: what we add stays far below 64 KiB, whatever the errors say."""
    letter = sample_letter(failures=(HUGE,) * 20, message="é" * 100_000, code="c" * 1000)
    assert size_of(letter.record_headers(shrink)) - size_of(ODD) < (24_000 if shrink is Shrink.NONE else 4_000)


def test_shrinking_never_loses_a_hook() -> None:
    """P14. Text is cut, at a character's boundary and marked; the hooks that failed are named at every step."""
    failures = tuple(
        HookFailure(f"hook-{n}", "infra", "E" * 500, "é" * 9000, 3, 1.0, "hook_exception") for n in range(40)
    )
    for shrink in Shrink:
        letter = read_back(sample_letter(failures=failures), shrink)
        assert [failure.hook for failure in letter.failures] == [failure.hook for failure in failures]
        assert letter.truncated


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_the_document_is_bounded_and_marked(count: int) -> None:
    """Of whatever many hooks at most 16 KiB are written, more of each the fewer they are; what is missing can be seen."""
    written = dict(sample_letter(failures=(HUGE,) * count).record_headers())["hookline-dlq-failure"] or b""
    assert 4096 < len(written) <= 16 * 1024
    assert json.loads(written)["truncated"] is True


def test_one_hook_keeps_all_that_it_may() -> None:
    """A message of 4 KiB, eight causes, a location and some attribution stand in one document together."""
    message, detail = "m" * 4096, {"log": "d" * 1000}
    failure = replace(FAILURE, message=message, causes=("c" * 256,) * 8, detail=detail, truncated=False)
    letter = read_back(sample_letter(failures=(failure,)))
    assert letter.failures == (failure,)
    assert not letter.truncated


def test_attribution_goes_before_messages() -> None:
    """A document that is too large gives up details and causes first; names, codes and the words of the error stay."""
    huge = replace(HUGE, exception="a.B", location=None, message="m" * 400, subjects=FAILURE.subjects * 9)
    failures = tuple(replace(huge, hook=f"hook-{n}") for n in range(12))
    letter = read_back(sample_letter(failures=failures))
    assert {failure.message for failure in letter.failures} == {"m" * 400}
    assert not any(failure.causes for failure in letter.failures)


class Odd(dict[str, object]):
    """A dict that cannot be written."""

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    items = keys = values = __iter__


CIRCLE: dict[str, Any] = {}
CIRCLE["self"] = CIRCLE


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"x", float("nan"), CIRCLE, {("a", "b"): 1}, Odd(a=1), "x" * 50_000_000]
)
def test_a_detail_that_is_no_json_costs_only_itself(value: object) -> None:
    """P1, case 29: whatever somebody put into a failure, the letter can be written, and says that something is missing."""
    letter = read_back(sample_letter(failures=(replace(FAILURE, detail={"bad": value, "good": 1}),)))
    assert letter.failures[0].detail == {"good": 1}
    assert letter.truncated


def test_what_a_letter_is_about() -> None:
    """The union over its hooks, each once: every hook that failed, also of a document that names no subject."""
    other = replace(FAILURE, hook="ci", subjects=(Subject("batch", "batch-778"),))
    old = replace(FAILURE, hook="old", subjects=(), detail={})
    letter = read_back(sample_letter(failures=(FAILURE, other, old)))
    assert [str(each) for each in letter.subjects] == ["hook:comment", "batch:batch-778", "hook:ci", "hook:old"]


@pytest.mark.parametrize(
    "vector", load_json("dlq-headers.json")["hookline"]["documents"], ids=lambda each: each["since"]
)
def test_documents_of_every_release(vector: dict[str, Any]) -> None:
    """A failure document of any release reads as it did then, byte for byte the same when it is written again."""
    header = ("hookline-dlq-failure", vector["document"].encode())
    letter = DeadLetter.from_record(b"k", b"v", (header,))
    assert [(each.hook, each.code, each.message) for each in letter.failures] == [
        tuple(each) for each in vector["hooks"]
    ]
    assert [str(each) for each in letter.subjects] == vector["subjects"]
    assert [dict(each.detail) for each in letter.failures] == vector["details"]
    assert dict(letter.record_headers())["hookline-dlq-failure"] == header[1]


def test_shrinking_keeps_what_fits() -> None:
    """A small document loses nothing by shrinking but the tail of long text."""
    letter = read_back(sample_letter(), Shrink.FAILURE)
    assert (letter.headers, letter.failures[0].message, letter.dropped_headers) == (ODD, "refused", False)


def test_bare_letter_says_so_and_can_be_read() -> None:
    """A letter without the producer's other headers is marked, and its value still reads as the event."""
    record = encode_event(sample_event())
    own = (("big", b"x" * 10_000), *record.headers)
    letter = read_back(sample_letter(key=record.key, value=record.value, headers=own), Shrink.BARE)
    assert letter.dropped_headers
    assert "big" not in dict(letter.headers)
    assert decode_record(letter.key, letter.value, letter.headers) == reencode(sample_event())
    assert read_back(letter).dropped_headers


def test_value_is_never_given_up() -> None:
    """P12, P14. No step of shrinking touches key or value."""
    letters = [read_back(sample_letter(value=b"v" * 1000), shrink) for shrink in Shrink]
    assert {(letter.key, letter.value) for letter in letters} == {(b"k", b"v" * 1000)}


def test_text_that_is_no_unicode() -> None:
    """cases: bytes-that-parse. An error text with half a character, or with bytes of any kind, never stops the letter."""
    failure = HookFailure("comment", "infra", "E\udcff", "half \ud800", 1, float("nan"), "c", causes=("\udfff",))
    letter = read_back(sample_letter(message="half \ud800", failures=(failure,)))
    assert (letter.message, letter.failures[0].elapsed_seconds) == ("half ?", 0.0)


def test_letter_of_another_program() -> None:
    """What Kafka writes for a share group is a letter too: its source is known, its code is not."""
    kafkas = (
        ("__dlq.errors.topic", b"t"),
        ("__dlq.errors.partition", b"1"),
        ("__dlq.errors.offset", b"2"),
        ("__dlq.errors.message", b"m"),
    )
    letter = DeadLetter.from_record(b"k", b"v", kafkas)
    assert (letter.code, letter.source, letter.origin, letter.message) == (
        "unknown",
        Origin("t", 1, 2),
        Origin("t", 1, 2),
        "m",
    )
    assert letter.letter_class is DeadLetterClass.PERMANENT


def test_letter_without_any_header() -> None:
    """A record without our headers is a dead letter of unknown origin, which names no topic to go back to."""
    letter = DeadLetter.from_record(None, None, ())
    assert (letter.code, letter.origin, letter.failures) == ("unknown", UNKNOWN_ORIGIN, ())
    assert "hookline-origin" not in dict(letter.republished(hooks=None, operation="op"))


@pytest.mark.parametrize(
    "document",
    [b"", b"[]", b"{", b"5", b'{"hooks": {}}', b'{"hooks": [5, {"hook": 5}, null]}', b"\xff", b"[" * 100_000, None],
)
def test_unreadable_document(document: bytes | None) -> None:
    """A failure document that cannot be read costs its members, never the letter."""
    assert DeadLetter.from_record(b"k", b"v", (("hookline-dlq-failure", document),)).failures == ()


def test_document_with_wrong_types() -> None:
    """Members of the wrong type are read as empty, the hook's name still stands."""
    text = b'{"hooks": [{"hook": "a", "attempts": true, "elapsed_seconds": "x", "message": 5, "http_status": "503", "causes": "no"}]}'
    [failure] = DeadLetter.from_record(b"k", b"v", (("hookline-dlq-failure", text),)).failures
    assert failure == HookFailure("a", "", "", "", 0, 0.0, "")


@pytest.mark.parametrize(
    ("members", "subjects", "detail"),
    [
        ('"subjects": 5, "detail": [1]', (), {}),
        (
            '"subjects": [5, {}, {"type": 1}, {"type": "a"}, {"id": "b", "more": 1}]',
            (Subject("a", ""), Subject("", "b")),
            {},
        ),
        ('"detail": {"a\\ud800": ["\\udfff", NaN, 1e999]}', (), {"a\ufffd": ["\ufffd", "NaN", "Infinity"]}),
        (f'"detail": {{"a": {"[" * 50}{"]" * 50}}}', (), {}),
        ('"truncated": 1', (), {}),
    ],
    ids=["wrong types", "half subjects", "no unicode, no numbers", "too deep", "no flag"],
)
def test_attribution_with_wrong_types(members: str, subjects: tuple[Subject, ...], detail: dict[str, Any]) -> None:
    """What somebody else wrote is read as far as it makes sense, and can be written again as JSON and UTF-8."""
    text = f'{{"hooks": [{{"hook": "a", {members}}}]}}'.encode()
    [failure] = DeadLetter.from_record(b"k", b"v", (("hookline-dlq-failure", text),)).failures
    assert (failure.subjects, failure.detail, failure.truncated) == (subjects, detail, False)
    json.dumps(failure.detail, allow_nan=False).encode()


def test_payload_is_not_in_the_headers() -> None:
    """P15, cases: secrets-in-errors. The attribution never copies the value."""
    attribution = sample_letter(value=b"ssn 078-05-1120").record_headers()
    assert not any(b"078-05" in (value or b"") for _, value in attribution)
