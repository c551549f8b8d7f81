"""The body of a webhook: one event in CloudEvents' structured JSON mode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookline.contract import format_time

if TYPE_CHECKING:
    from hookline.contract import Event

CONTENT_TYPE = "application/cloudevents+json"

# `dataschema` named the schema of the data as it was published; the data is JSON now.
_NOT_CARRIED = frozenset({"data", "data_base64", "datacontenttype", "dataschema", "specversion"})


def cloudevent_json(event: Event) -> bytes:
    """Return the event as `application/cloudevents+json`: attributes flat, the payload as JSON under `data`.

    ASCII only, so that any text survives; equal events give equal bytes.
    """
    document: dict[str, object] = {name: value for name, value in event.attributes.items() if name not in _NOT_CARRIED}
    document |= {"specversion": "1.0", "id": event.id, "source": event.source, "type": event.type}
    if event.subject:
        document["subject"] = event.subject
    if event.version:
        document["subjectversion"] = event.version
    if event.timestamp_ms:
        document["time"] = format_time(event.timestamp_ms)
    document |= {"datacontenttype": "application/json", "data": event.payload}
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")
