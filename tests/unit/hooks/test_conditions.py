"""Conditions: refused at start, or answered for an event with yes, no, or an error that says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookline.contract import Event
from hookline.hooks import Condition, ConditionError, InvalidConditionError

PAYLOAD: dict[str, Any] = {
    "count": 3,
    "share": 1.5,
    "error": "merge conflict",
    "name": "größe 🎉",
    "score": "NaN",
    "exact": 2**53 - 1,
    "empty": None,
    "urgent": True,
    "steps": [{"reason": "a"}, {"reason": "b"}],
    "queue": {"name": "main", "depth": {"now": 7}},
}
EVENT = Event.versioned(
    source="submitqueue",
    type="batch.failed",
    subject="batch-778",
    version=4,
    payload=PAYLOAD,
    timestamp_ms=1_796_032_800_123,
    attributes={"traceparent": "00-1"},
)

TRUE = [
    'type == "batch.failed" && source == "submitqueue" && subject == "batch-778"',
    'id.startsWith("submitqueue/")',
    "version >= 4 && version < 5",
    'timestamp > timestamp("2026-11-30T09:00:00Z") && timestamp.getFullYear() == 2026',
    "payload.count == 3 && payload.count > 2.5 && payload.count == 3.0",
    "payload.share > 1",
    "payload.exact == 9007199254740991",
    'payload.error.contains("conflict")',
    'payload.error.matches("^merge .*$")',
    'payload.name == "größe 🎉" && payload.name.startsWith("grö")',
    'payload.score == "NaN"',
    "payload.empty == null",
    "payload.urgent",
    'payload.queue.name == "main" && payload.queue.depth.now == 7',
    'payload["queue"]["name"] == "main"',
    'payload.steps.exists(step, step.reason == "b") && payload.steps.all(step, has(step.reason))',
    'payload.steps.map(step, step.reason) == ["a", "b"]',
    'has(payload.count) && !has(payload.missing) && "count" in payload',
    "has(payload.missing) && payload.missing > 3 || version == 4",
    'attributes.traceparent == "00-1" && !has(attributes.dataschema)',
    "type(payload.count) == int",
    "payload.error != 3",
    r'payload.error == "merge\x20conflict" && has(payload.count)',
    'payload.error == "merge conflict" // only these',
]


@pytest.mark.parametrize("text", TRUE)
def test_a_condition_holds(text: str) -> None:
    """Every variable, integers and doubles, nested payloads, unicode, texts that look like numbers, has() and macros."""
    assert Condition(text).holds(EVENT)
    assert not Condition(f"!({text}\n)").holds(EVENT)


UNANSWERED = {
    "missing": "payload.missing == 1",
    "missing below": "payload.queue.missing.deep == 1",
    "below what is missing": "has(payload.missing.deep)",
    "index": 'payload.steps[7].reason == "a"',
    "order of types": "payload.error > 3",
    "order of NaN": "double(payload.score) > 1.0",
    "sum of types": "payload.error + 1 == 2",
    "no boolean": "payload.count && true",
    "negated text": "!payload.error",
    "division": "version / 0 == 1",
    "overflow": "9223372036854775807 + version > 0",
    "conversion": "int(payload.error) == 1",
    "pattern": 'payload.error.matches("(")',
    "number": "payload.count",
    "text": "payload.error",
    "null": "payload.empty",
    "list": "payload.steps",
}


@pytest.mark.parametrize("text", UNANSWERED.values(), ids=UNANSWERED)
def test_what_cannot_be_answered_is_an_error(text: str) -> None:
    """What is missing, of another type, or neither true nor false is neither yes nor no, and says so each time."""
    condition = Condition(text)
    for _ in range(2):
        with pytest.raises(ConditionError):
            condition.holds(EVENT)


def test_the_error_names_the_member_that_is_missing() -> None:
    """Whoever mends the condition has to know what the event lacks."""
    with pytest.raises(ConditionError, match="missing"):
        Condition("payload.missing == 1").holds(EVENT)


INVALID = {
    "empty": "",
    "torn": "payload.count >",
    "python": 'type is "batch.failed"',
    "unknown variable": "paylod.count == 1",
    "unknown variable behind a true one": "true || paylod.count == 1",
    "unknown function": "lower(type) == 1",
    "unknown method": 'type.lower() == "x"',
    "variable of a macro outside of it": "payload.steps == step",
    "too long": f'type == "{"x" * 5_000}"',
    "too deep": "(" * 1_000 + "true" + ")" * 1_000,
}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_what_is_no_condition_is_refused(text: str) -> None:
    """A slip is told at start, also where it would be asked for by few events only."""
    with pytest.raises(InvalidConditionError):
        Condition(text)


def test_where_a_text_is_wrong_is_told() -> None:
    """The place of a syntax error is named, by line and column, and the text is not repeated."""
    with pytest.raises(InvalidConditionError, match="line 2, column 1") as caught:
        Condition("version > 3 &&\n) c4n4ry")
    assert "c4n4ry" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('payload.error == "payload.count"', False),
        ('"payload" == payload.error', False),
        ('payload.error == "\\"" || has(payload.count)', True),
        ("has(payload.count) // 'payload", True),
        ("payload == payload && has(payload.share)", True),
        ("{'a': payload}.a.count == 3", True),
        ("payload.steps.exists(payload, payload.reason == 'a')", True),
        ("payload . count == 3", True),
        ('payload.error == r"\\" || has(payload.urgent)', True),
    ],
)
def test_no_member_of_the_payload_is_overlooked(text: str, holds: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Only what is asked for is handed over; quotes, comments, spaces and macros make no member seem missing."""
    assert Condition(text).holds(EVENT) is holds


def test_what_nobody_asks_for_cannot_spoil_an_answer() -> None:
    """A text that is no UTF-8 and a number beyond 64 bits elsewhere in the payload do no harm."""
    event = Event(id="1", source="s", type="t", payload={"odd": "\ud800", "vast": 2**80, "count": 3})
    assert Condition("payload.count == 3").holds(event)
    assert Condition("payload.vast > 3").holds(event)
    with pytest.raises(ConditionError):
        Condition('payload.odd == "x"').holds(event)


def test_an_event_without_a_timestamp_is_of_1970() -> None:
    """It has one for comparisons, as an unset timestamp has in protobuf."""
    assert Condition('timestamp == timestamp("1970-01-01T00:00:00Z")').holds(Event(id="1", source="s", type="t"))


def test_a_time_that_no_calendar_has_is_an_error() -> None:
    """Whatever an event says, the answer is yes, no, or an error of the condition."""
    with pytest.raises(ConditionError):
        Condition("timestamp.getFullYear() == 1").holds(Event(id="1", source="s", type="t", timestamp_ms=10**17))


_TEXT = st.text("aä🎉\ud800 0'", max_size=4)
_SCALAR = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | _TEXT
_JSON = _SCALAR | st.lists(_SCALAR, max_size=2) | st.dictionaries(_TEXT, _SCALAR, max_size=2)
_COMPILED = [
    Condition(text)
    for text in ("payload.a > payload.b", "payload.a == payload.b", "payload.a && payload.b", "payload == payload")
]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["a", "b"]), _JSON))
def test_a_condition_answers_or_raises_its_own_error(payload: dict[str, Any]) -> None:
    """Whatever a payload holds: true, false, or a ConditionError, and nothing else."""
    event = Event(id="1", source="s", type="t", payload=payload)
    for condition in _COMPILED:
        try:
            answer = condition.holds(event)
        except ConditionError:
            continue
        assert answer in {True, False}
