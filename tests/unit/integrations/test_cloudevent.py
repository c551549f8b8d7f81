from __future__ import annotations

import json

from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from cloudevents.core.v1.event import CloudEvent

from hookline.contract import Event
from hookline.integrations._cloudevent import CONTENT_TYPE, cloudevent_json
from tests.unit.integrations.events import failed_batch


def read(event: Event) -> CloudEvent:
    message = HTTPMessage(headers={"content-type": CONTENT_TYPE}, body=cloudevent_json(event))
    made = from_structured_event(message)
    assert isinstance(made, CloudEvent)
    return made


def test_the_body_is_the_event_to_an_outside_reader() -> None:
    """The CloudEvents SDK reads every attribute and the payload, its numbers integral, from the webhook's body."""
    event = failed_batch()
    cloudevent = read(event)
    assert (cloudevent.get_id(), cloudevent.get_source(), cloudevent.get_type()) == (event.id, event.source, event.type)
    assert cloudevent.get_subject() == "batch-778"
    assert cloudevent.get_datacontenttype() == "application/json"
    assert cloudevent.get_data() == {"batch_id": "batch-778", "error": "merge conflict", "size": 3}
    assert cloudevent.get_extension("subjectversion") == 4


def test_the_time_has_three_decimals_and_an_unset_one_is_absent() -> None:
    """Milliseconds become RFC 3339 in UTC by integers; a timestamp of 0 is no time at all."""
    assert json.loads(cloudevent_json(failed_batch()))["time"] == "2026-11-30T10:00:00.123Z"
    unset = Event(id="1", source="s", type="t")
    assert json.loads(cloudevent_json(unset)) == {
        "specversion": "1.0",
        "id": "1",
        "source": "s",
        "type": "t",
        "datacontenttype": "application/json",
        "data": {},
    }


def test_other_attributes_travel_but_the_schema_of_other_bytes_does_not() -> None:
    """Attributes of a foreign event are carried; dataschema and datacontenttype spoke of the data as it was."""
    attributes = {"traceparent": "00-1", "dataschema": "https://x/y", "datacontenttype": "text/plain", "id": "forged"}
    document = json.loads(cloudevent_json(Event(id="1", source="s", type="t", attributes=attributes)))
    assert document["traceparent"] == "00-1"
    assert document["id"] == "1"
    assert document["datacontenttype"] == "application/json"
    assert "dataschema" not in document


def test_any_text_survives() -> None:
    """Line separators, emoji and lone surrogates leave as ASCII and come back as they were."""
    text = "a\u2028b\n\x00\ud800 ❤"
    body = cloudevent_json(Event(id="1", source="s", type="t", payload={"text": text}))
    assert body.isascii()
    assert json.loads(body)["data"] == {"text": text}
