"""Topics in memory, and their records as a client would give them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from hookline.kafka import Record, UnreadRecord

_NO_TIMESTAMP = 0
_CREATE_TIME = 1


class Log:
    """The records of one topic."""

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.records: list[list[Record]] = [[] for _ in range(partitions)]
        self.ends = [0] * partitions

    def append(self, record: Record, hole: int = 0, tail: int = 0) -> Record:
        """Put a record at the end, some offsets later, and leave a hole behind it, as the end of a transaction does."""
        placed = replace(record, offset=self.ends[record.partition] + hole)
        self.records[record.partition].append(placed)
        self.ends[record.partition] = placed.offset + 1 + tail
        return placed

    def after(self, number: int, offset: int, most: int) -> list[Record]:
        """Give records from an offset on."""
        return [record for record in self.records[number] if record.offset >= offset][:most]


class StoredMessage:
    """A record as the client holds it: what `Record.from_message` reads."""

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        self._record = record

    def __len__(self) -> int:
        return len(self._record.value or b"")

    def error(self) -> None:
        """Tell that it is a record."""

    def topic(self) -> str:
        """Tell its topic."""
        return self._record.topic

    def partition(self) -> int:
        """Tell its partition."""
        return self._record.partition

    def offset(self) -> int:
        """Tell its offset."""
        return self._record.offset

    def key(self) -> bytes | None:
        """Give its key."""
        return self._record.key

    def value(self) -> bytes | None:
        """Give its value."""
        return self._record.value

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Give its headers."""
        return list(self._record.headers)

    def timestamp(self) -> tuple[int, int]:
        """Tell what its time is, and the time."""
        milliseconds = self._record.timestamp_ms
        return (_NO_TIMESTAMP, -1) if milliseconds is None else (_CREATE_TIME, milliseconds)


def message_of(record: Record) -> UnreadRecord:
    """Make the message that `Record.from_message` reads as this record."""
    return cast("UnreadRecord", StoredMessage(record))
