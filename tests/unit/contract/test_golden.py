"""The golden records: what every language must write and read."""

from __future__ import annotations

from typing import Any

import pytest

from hookline.contract import HookEvent, decode_record, encode_event, event_to_json
from tests.unit.contract.samples import golden, golden_event, murmur2_partition, unbase64

each = pytest.mark.parametrize("entry", golden(), ids=lambda entry: entry["name"])


@each
def test_id(entry: dict[str, Any]) -> None:
    """The id is minted from the components exactly as the rule of design section 3 says."""
    assert golden_event(entry).id == entry["id"]


@each
def test_key_and_headers(entry: dict[str, Any]) -> None:
    """Key and headers of the record are the golden ones, in order."""
    record = encode_event(golden_event(entry))
    assert record.key == unbase64(entry["key_base64"])
    assert [[name, value and value.decode()] for name, value in record.headers] == entry["headers_utf8"]


@each
def test_value(entry: dict[str, Any]) -> None:
    """The value is the golden HookEvent, compared decoded, for map order differs between languages."""
    golden_message = HookEvent.FromString(unbase64(entry["value_base64"]))
    assert HookEvent.FromString(encode_event(golden_event(entry)).value) == golden_message


@each
def test_partition(entry: dict[str, Any]) -> None:
    """The key lands in the partition that murmur2 chooses, as Java's does."""
    key = encode_event(golden_event(entry)).key
    chosen = {count: murmur2_partition(key, int(count)) for count in entry["partition"]}
    assert chosen == entry["partition"]


@each
def test_reading(entry: dict[str, Any]) -> None:
    """The golden record is read as the event that was published."""
    headers = tuple((name, value.encode()) for name, value in entry["headers_utf8"])
    event = decode_record(unbase64(entry["key_base64"]), unbase64(entry["value_base64"]), headers)
    assert event == golden_event(entry)


@each
def test_protojson(entry: dict[str, Any]) -> None:
    """The document of an event is its protojson plus the subject."""
    subject = {"subject": entry["components"]["subject"]}
    assert event_to_json(golden_event(entry)) == entry["protojson"] | subject
