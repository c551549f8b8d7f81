"""The body of a webhook: one event in CloudEvents' structured JSON mode."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.contract import Event

CONTENT_TYPE = "application/cloudevents+json"

# `dataschema` named the schema of the data as it was published; the data is JSON now.
_NOT_CARRIED = frozenset({"data", "data_base64", "datacontenttype", "dataschema", "specversion"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        document["time"] = utc_text(event.timestamp_ms)
    document |= {"datacontenttype": "application/json", "data": event.payload}
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


def utc_text(timestamp_ms: int) -> str:
    """Return milliseconds since 1970 as RFC 3339 in UTC with three decimals; integer arithmetic only."""
    moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
