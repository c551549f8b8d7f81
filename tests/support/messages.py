"""Messages as the client gives them, for doubles of a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, Message

if TYPE_CHECKING:
    from hookline.kafka import Record


def message_of(record: Record) -> Message:
    """Make the message that `Record.from_message` reads as this record."""
    timestamp_ms = record.timestamp_ms
    timestamp = (TIMESTAMP_NOT_AVAILABLE, -1) if timestamp_ms is None else (TIMESTAMP_CREATE_TIME, timestamp_ms)
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=list(record.headers),
        timestamp=timestamp,
    )
