"""Recorded webhooks, one JSON document a line: {"event", "example", "payload"}."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from examples.github.mapping import Webhook

if TYPE_CHECKING:
    from pathlib import Path


class WebhookFileError(ValueError):
    """A line is no recorded webhook."""


def read_webhooks(path: Path) -> list[Webhook]:
    """Read a file of recorded webhooks. Raises OSError, or WebhookFileError naming the line."""
    with path.open(encoding="utf-8") as lines:
        return [_webhook_of(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _webhook_of(line: str, place: str) -> Webhook:
    """Read one line; the event's name and the example's number stand for the id that GitHub gives a delivery."""
    try:
        document = json.loads(line)
        event, example, payload = document["event"], document["example"], document["payload"]
    except (ValueError, KeyError, TypeError) as error:
        raise WebhookFileError(f"{place}: is no webhook: expected JSON with event, example and payload") from error
    if not (isinstance(event, str) and isinstance(payload, dict)):
        raise WebhookFileError(f"{place}: is no webhook: event must be a text and payload an object")
    return Webhook(event, f"{event}/{example}", payload)
