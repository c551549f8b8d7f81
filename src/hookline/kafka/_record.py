"""A record as it lay on the topic."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

if TYPE_CHECKING:
    from confluent_kafka import Message

    from hookline.contract import Headers

_call_headers: Final = methodcaller("headers")


@dataclass(frozen=True, slots=True)
class Record:
    """One record: key, value and headers byte for byte, None and empty kept apart, headers in order with repeats.

    `unreadable_headers` is True when the client could not read the headers (a name that is not UTF-8); they are then
    empty, and cannot be had in another way.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    unreadable_headers: bool = False

    @classmethod
    def from_message(cls, message: Message) -> Record:
        """Read a message of confluent_kafka, once.

        Raises ValueError for one that carries an error or no position: its value is the error's text, not data.
        """
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if message.error() is not None or topic is None or partition is None or offset is None:
            raise ValueError(f"not a record: {message.error()}")
        headers = _read_headers(message)
        return cls(
            topic=topic,
            partition=partition,
            offset=offset,
            timestamp_ms=_timestamp_ms(message),
            key=message.key(),
            value=message.value(),
            headers=headers or (),
            unreadable_headers=headers is None,
        )

    @property
    def size_bytes(self) -> int:
        """Tell about how much memory the data takes."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def _read_headers(message: Message) -> Headers | None:
    # For a name that is not UTF-8 the client returns a list with a hole in it and leaves the exception set. A plain call
    # lets both through once the interpreter has specialised it, and the hole crashes the process; methodcaller checks.
    try:
        headers = _call_headers(message)
    except (UnicodeDecodeError, SystemError):
        return None
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)


def _timestamp_ms(message: Message) -> int | None:
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds
