"""A record as it lay on the topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Message

    from hookline.contract import Headers

UnreadRecord: TypeAlias = "Message"
"""A record as the client holds it, to be read by `Record.from_message`; `len` tells the bytes of its value."""

_call_headers: Final = methodcaller("headers")


@dataclass(frozen=True, slots=True)
class Record:
    """One record: key, value and headers byte for byte, None and empty kept apart, headers in order with repeats.

    `unreadable_headers` is True when the client could not read the headers (a name that is not UTF-8); they are then
    empty, and cannot be had in another way. `size_bytes` tells about how much memory the data takes.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    unreadable_headers: bool = False
    size_bytes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size_bytes = len(self.key or b"") + len(self.value or b"") + _count_bytes(self.headers)
        object.__setattr__(self, "size_bytes", size_bytes)

    @classmethod
    def from_message(cls, message: UnreadRecord) -> Record:
        """Read a message of confluent_kafka, once.

        Raises ValueError for one that carries an error or no position: its value is the error's text, not data.
        """
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if message.error() is not None or topic is None or partition is None or offset is None:
            raise ValueError(f"not a record: {message.error()}")
        key, value = message.key(), message.value()
        headers, headers_bytes = _read_headers(message)
        draft = _Draft()
        draft.topic = topic
        draft.partition = partition
        draft.offset = offset
        draft.timestamp_ms = _timestamp_ms(message)
        draft.key = key
        draft.value = value
        draft.headers = headers or ()
        draft.unreadable_headers = headers is None
        draft.size_bytes = len(key or b"") + len(value or b"") + headers_bytes
        draft.__class__ = cls
        record: Record = draft
        return record

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


# A record that is not frozen yet: the constructor of a frozen dataclass takes six times as long.
_Draft: Final[Any] = type("_Draft", (), {"__slots__": Record.__slots__})


def _read_headers(message: Message) -> tuple[Headers | None, int]:
    """Return the headers, None when they cannot be read, and the bytes that they hold."""
    # For a name that is not UTF-8 the client returns a list with a hole in it and leaves the exception set. A plain call
    # lets both through once the interpreter has specialised it, and the hole crashes the process; methodcaller checks.
    try:
        found = _call_headers(message)
    except (UnicodeDecodeError, SystemError):
        return None, 0
    if isinstance(found, dict):
        return _encode_headers(found.items())
    count = 0
    for name, value in found or ():
        if value.__class__ is not bytes:
            return _encode_headers(found)
        count += len(name) + len(value)
    return tuple(found or ()), count


def _encode_headers(pairs: Iterable[tuple[str, str | bytes | None]]) -> tuple[Headers, int]:
    headers = tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
    return headers, _count_bytes(headers)


def _count_bytes(headers: Headers) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)


def _timestamp_ms(message: Message) -> int | None:
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds
