from __future__ import annotations

import pytest

from hookline.kafka import Record
from hookline.testing._topic import message_of
from tests.support import messages


@pytest.mark.parametrize("timestamp_ms", [None, 0, 1_796_032_800_000])
@pytest.mark.parametrize(("key", "value"), [(b"k", b"v"), (None, None), (b"", b"")])
def test_a_record_is_read_as_the_client_would_give_it(
    key: bytes | None, value: bytes | None, timestamp_ms: int | None
) -> None:
    """What the kit hands to the engine is read as the record that it stands for, and as the client's own message of it."""
    headers = (("a", b"1"), ("a", None), ("b", b""))
    record = Record("t", 3, 7, timestamp_ms, key, value, headers)
    message = message_of(record)
    assert Record.from_message(message) == record == Record.from_message(messages.message_of(record))
    assert len(message) == len(value or b"")
