"""The JSON document of an event: logs, --output json, publish --file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from hookline.contract import Event, InvalidEventError, decode_record, event_from_json, event_to_json
from tests.unit.contract.samples import events, foreign_headers, reencode, sample_event

SEED = {
    "id": "submitqueue/batch.failed/batch-778/4",
    "source": "submitqueue",
    "type": "batch.failed",
    "subject": "batch-778",
    "timestamp_ms": "1722800012345",
    "version": 4,
    "payload": {"batch_id": "batch-778", "error": "merge conflict"},
}


def without(*names: str, **changes: Any) -> dict[str, Any]:
    """Return the seed's document less some members, with changes."""
    return {name: member for name, member in SEED.items() if name not in names} | changes


def test_shape() -> None:
    """The document has the seed's shape plus the subject: snake_case, int64 as string, empty members left out."""
    assert event_to_json(reencode(sample_event())) == SEED
    assert event_to_json(Event(id="i", source="s", type="t")) == {"id": "i", "source": "s", "type": "t"}


def test_document_is_ordinary() -> None:
    """The document may be changed without the event noticing."""
    event = sample_event()
    event_to_json(event)["payload"]["batch_id"] = "other"
    assert event.payload["batch_id"] == "batch-778"


@given(events())
def test_round_trip(event: Event) -> None:
    """P14. From the document in a log the event can be published again, equal."""
    document = json.loads(json.dumps({"timestamp_ms": "0"} | event_to_json(event)))
    assert event_from_json(document) == event


def test_id_is_minted() -> None:
    """Without an id the versioned one is minted."""
    assert event_from_json(without("id")) == sample_event()


@pytest.mark.parametrize("timestamp_ms", ["1722800012345", 1722800012345, 1722800012345.0])
@pytest.mark.parametrize("name", ["timestamp_ms", "timestampMs"])
def test_spellings_of_a_timestamp(name: str, timestamp_ms: object) -> None:
    """The timestamp is a string or a number, under either spelling of its name."""
    assert event_from_json(without("timestamp_ms", **{name: timestamp_ms})) == sample_event()


def test_missing_timestamp_is_now() -> None:
    """An event written by hand happens now."""
    assert event_from_json(without("timestamp_ms")).timestamp_ms > 1_700_000_000_000


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (without("source"), "source"), (without("type"), "type"), (without("subject"), "subject"), (without("id", "version"), "id"),
        (without(id=5), "id"), (without(subject=""), "subject"), (without(version="x"), "version"), (without(version=True), "version"),
        (without(version=1.5), "version"), (without(timestamp_ms="soon"), "timestamp_ms"), (without(timestamp_ms=[]), "timestamp_ms"),
        (without(payload=[1]), "payload"), (without(verison=4), "verison"), (without("id", version=-1), "version"),
        (without(attributes=[]), "attributes"), (without(attributes={"a": 1}), "attributes"), ([], "event"), ("text", "event"),
    ],
)  # fmt: skip  # a table
def test_refused(document: Any, field: str) -> None:
    """What cannot be an event is refused by the member that is wrong; a slip in a name is no silence."""
    with pytest.raises(InvalidEventError) as caught:
        event_from_json(document)
    assert caught.value.field == field


def test_foreign_event_has_a_document() -> None:
    """cases: numbers. A foreign event with integers beyond 2**53 is written whole."""
    event = decode_record(b"k", b'{"n": 123456789012345678901234567890}', foreign_headers("application/json"))
    document = event_to_json(event)
    assert document["payload"] == {"n": 123456789012345678901234567890}
    assert document["attributes"] == {"datacontenttype": "application/json"}
