from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, Message
from hypothesis import given
from hypothesis import strategies as st

from hookline.kafka import Record

data = st.none() | st.binary(max_size=8)


def _message(
    *,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: list[tuple[str, str | bytes | None]] | dict[str, str | bytes | None] | None = None,
    timestamp: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1234),
    error: KafkaError | None = None,
) -> Message:
    return Message(
        topic="t", partition=1, offset=7, key=key, value=value, headers=headers, timestamp=timestamp, error=error
    )


def test_a_message_becomes_a_record() -> None:
    """Position, time, key and value are taken over."""
    assert Record.from_message(_message()) == Record("t", 1, 7, 1234, b"k", b"v")


def test_no_headers_are_an_empty_tuple() -> None:
    """The client says None for none; a record always has a tuple."""
    assert Record.from_message(_message(headers=None)).headers == ()


def test_headers_keep_order_repeats_and_null() -> None:
    """Headers are a sequence of pairs, not a mapping, and an empty value is not a missing one."""
    record = Record.from_message(_message(headers=[("a", None), ("b", b"\xff"), ("a", b""), ("é", b"1")]))
    assert record.headers == (("a", None), ("b", b"\xff"), ("a", b""), ("é", b"1"))


@pytest.mark.parametrize("data", [None, b""])
def test_null_and_empty_stay_apart(data: bytes | None) -> None:
    """A message has a length, so an empty one is falsy: nothing may be asked by truth."""
    record = Record.from_message(_message(key=data, value=data))
    assert (record.key, record.value) == (data, data)


def test_a_missing_timestamp_is_none() -> None:
    """A record without a time says so, instead of minus one."""
    assert Record.from_message(_message(timestamp=(0, -1))).timestamp_ms is None


@pytest.mark.parametrize("code", [KafkaError._PARTITION_EOF, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_an_error_never_becomes_a_record(code: int) -> None:
    """A message that carries an error has the error's text as its value; it is not data."""
    with pytest.raises(ValueError, match="not a record"):
        Record.from_message(_message(error=KafkaError(code)))


class _BadHeaders(Message):
    def headers(self) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def test_unreadable_headers_do_not_stop_the_reader() -> None:
    """A header name that is no UTF-8 is said, and the rest of the record is still there."""
    record = Record.from_message(_BadHeaders(topic="t", partition=0, offset=0, value=b"v"))
    assert record.unreadable_headers
    assert (record.headers, record.value) == ((), b"v")


def test_a_record_names_its_place() -> None:
    """As text a record is topic/partition/offset."""
    assert str(Record.from_message(_message())) == "t/1/7"


def test_the_size_counts_key_value_and_headers() -> None:
    """Bounds by bytes count what is kept in memory."""
    assert Record.from_message(_message(headers=[("ab", b"cde"), ("f", None)])).size_bytes == 1 + 1 + 5 + 1


@pytest.mark.parametrize("headers", [[("a", "é"), ("b", None), ("c", b"1")], {"a": "é", "b": None, "c": b"1"}])
def test_headers_as_a_producer_writes_them_become_bytes(headers: list[tuple[str, str | bytes | None]]) -> None:
    """The client also takes text and a dict for headers; a record has pairs with bytes."""
    record = Record.from_message(_message(headers=headers))
    assert record.headers == (("a", "é".encode()), ("b", None), ("c", b"1"))
    assert record.size_bytes == 1 + 1 + 3 + 2 + 1


@given(data, data, st.none() | st.lists(st.tuples(st.text(max_size=8), data), max_size=8))
def test_what_is_read_equals_what_is_made(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, str | bytes | None]] | None
) -> None:
    """Reading does not go through the constructor, and the record is the same to the last field."""
    read = Record.from_message(_message(key=key, value=value, headers=headers))
    made = Record("t", 1, 7, 1234, key, value, read.headers)
    assert (read, read.size_bytes, repr(read), hash(read)) == (made, made.size_bytes, repr(made), hash(made))
    assert list(read.headers) == (headers or [])


def test_a_record_that_was_read_is_an_ordinary_value() -> None:
    """It cannot be changed, and copies and pickles like one that was made."""
    record = Record.from_message(_message(headers=[("a", b"1")]))
    with pytest.raises(FrozenInstanceError):
        record.offset = 8  # type: ignore[misc]  # what is refused
    for again in (copy.copy(record), pickle.loads(pickle.dumps(record))):  # noqa: S301  # our own bytes
        assert (again, again.size_bytes) == (record, record.size_bytes)
