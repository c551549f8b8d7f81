from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from hookline import Event
from hookline.testing import EventType, assert_catalogue, events, lint_catalogue, lint_event

TYPE = EventType(
    source="ci",
    type="run.failed",
    subject="run_id",
    versioned=True,
    payload={"run_id": "string", "error": "string"},
    optional={"attempt": "number"},
)


def _event(payload: dict[str, Any], **changed: Any) -> Event:
    fields = {"source": "ci", "type": "run.failed", "subject": "r-1", "version": 2, **changed}
    return Event.versioned(payload=payload, **fields)


def _codes(event: Event, declared: EventType | None = TYPE) -> set[str]:
    return {finding.code for finding in lint_event(event, declared)}


GOOD = {"run_id": "r-1", "error": "it broke"}
ROW = {"id": "r-1", "state": "failed", "version": 2, "created_at": "2026-11-30T10:00:00Z"}


def test_what_keeps_the_rules_is_quiet() -> None:
    """A declared type and an event of it break no rule, also with an optional field."""
    assert lint_catalogue([TYPE], [_event(GOOD), _event({**GOOD, "attempt": 2})]) == []
    assert lint_event(_event(GOOD)) == []


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (_event({"run_id": "r-2", "error": ""}), "no_subject"),
        (_event({"error": ""}), "no_subject"),
        (_event({"run_id": "r-1"}), "missing_field"),
        (_event({**GOOD, "extra": True}), "undeclared_field"),
        (_event({**GOOD, "attempt": "2"}), "kind"),
        (_event({**GOOD, "run": ROW}), "snapshot"),
        (_event({**GOOD, "deep": [{"run": {**ROW, "updated_at": ""}}]}), "snapshot"),
        (_event({**GOOD, **{f"field_{number}": "" for number in range(20)}}), "snapshot"),
        (_event({**GOOD, "attempt": 2**53 + 1}), "big_integer"),
        (_event({**GOOD, "deep": [{"nanoseconds": -(2**60)}]}), "big_integer"),
        (_event({**GOOD, "error": "x" * 70_000}), "too_large"),
        (_event(GOOD, type="RunFailed"), "type_name"),
        (_event(GOOD, type="failed"), "type_name"),
        (Event(id="a1b2c3", source="ci", type="run.failed", subject="r-1", version=2, payload=GOOD), "id"),
        (Event(id="ci/run.failed/r-1/x", source="ci", type="run.failed", subject="r-1", payload=GOOD), "id"),
        (Event.unversioned(source="ci", type="run.failed", subject="r-1", cause="m", payload=GOOD), "version"),
        (_event({**GOOD, "error": float("nan")}), "not_publishable"),
    ],
)
def test_a_broken_rule_is_found(event: Event, code: str) -> None:
    """Each rule of docs/testing.md is found by its code in an event that breaks it."""
    assert code in _codes(event)


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        (replace(TYPE, subject="id"), "no_subject"),
        (replace(TYPE, type="Run.Failed"), "type_name"),
        (replace(TYPE, optional={"change_id": "number"}), "number_as_id"),
        (replace(TYPE, optional={"log": cast("Any", "strng")}), "kind"),
        (replace(TYPE, optional={"state": "string", "version": "number", "created_at": "string"}), "snapshot"),
        (replace(TYPE, optional={f"field_{number}": "string" for number in range(20)}), "snapshot"),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_found(declared: EventType, code: str) -> None:
    """A rule is broken by a declaration too, before there is any event."""
    assert code in {finding.code for finding in lint_catalogue([declared])}


def test_an_unversioned_event_has_a_minted_id() -> None:
    """An id that was minted from the cause is known as such, whatever the cause holds."""
    event = Event.unversioned(source="ci", type="run.failed", subject="a/b", cause="c/d", payload={"run_id": "a/b"})
    assert lint_event(event) == []


def test_the_catalogue_is_complete() -> None:
    """A type that is declared twice and an event of no declared type are found."""
    assert [each.code for each in lint_catalogue([TYPE, TYPE])] == ["declared_twice"]
    assert "undeclared_type" in {each.code for each in lint_catalogue([TYPE], [events.batch_failed()])}


def test_all_findings_are_told_at_once() -> None:
    """The assertion says where, what and what to do, a line for each finding."""
    with pytest.raises(AssertionError) as caught:
        assert_catalogue([replace(TYPE, type="Run")], [_event({"run_id": "r-2"}, type="Run")])
    first, *lines = str(caught.value).splitlines()
    assert first
    assert {line.rpartition("[")[2].rstrip("]") for line in lines} == {"type_name", "no_subject", "missing_field"}
