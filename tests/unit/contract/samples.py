"""What several tests of the contract share: the vectors, sample events, strategies, Java's partitioner."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hookline.contract import (
    MAX_EXACT_INTEGER,
    MAX_TIMESTAMP_MS,
    MIN_TIMESTAMP_MS,
    Event,
    Headers,
    HookEvent,
    MalformedRecordError,
    decode_record,
    encode_event,
)

VECTORS = Path(__file__).resolve().parents[2] / "vectors"

MANDATORY = {"ce_specversion": b"1.0", "ce_id": b"f-1", "ce_source": b"/other", "ce_type": b"order.paid"}

printable = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=30)
sources = st.from_regex(r"[a-z][a-z0-9.-]{0,20}(/[a-z0-9._~-]{0,10}){0,3}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
payloads = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=4,
)
attributes = st.dictionaries(st.from_regex(r"x[a-z0-9]{0,10}", fullmatch=True), printable, max_size=3)
headers = st.lists(st.tuples(st.text(max_size=12), st.none() | st.binary(max_size=20)), max_size=6).map(tuple)


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Draw any event that may be published."""
    common: dict[str, Any] = {
        "source": draw(sources),
        "type": draw(printable),
        "subject": draw(printable),
        "payload": draw(payloads),
        "timestamp_ms": draw(st.integers(MIN_TIMESTAMP_MS, MAX_TIMESTAMP_MS)),
        "attributes": draw(attributes),
    }
    if draw(st.booleans()):
        return Event.versioned(version=draw(st.integers(1, 2**31 - 1)), **common)
    return Event.unversioned(cause=draw(texts), ordinal=draw(st.integers(0, 99)), **common)


def sample_event(**changes: Any) -> Event:
    """Return the seed's event, with changes."""
    fields: dict[str, Any] = {
        "source": "submitqueue",
        "type": "batch.failed",
        "subject": "batch-778",
        "version": 4,
        "timestamp_ms": 1722800012345,
        "payload": {"batch_id": "batch-778", "error": "merge conflict"},
    }
    return Event.versioned(**(fields | changes))


def sample_value(**changes: Any) -> bytes:
    """Return the value of a HookEvent that was not made by the codec, with changes."""
    fields: dict[str, Any] = {"id": "i", "source": "s", "type": "t", "timestamp_ms": 5, "version": 1}
    return HookEvent(**(fields | changes)).SerializeToString()


def labelled(content_type: str, **ce: bytes) -> Headers:
    """Return headers with a content-type and ce_ headers by their name."""
    return (*ce.items(), ("content-type", content_type.encode()))


def foreign_headers(content_type: str | None = None, **changes: bytes | None) -> Headers:
    """Return the headers of a foreign CloudEvent in binary mode."""
    described = () if content_type is None else (("content-type", content_type.encode()),)
    return (*(MANDATORY | changes).items(), *described)


def code_of(key: bytes | None, value: bytes | None, headers: Headers) -> str:
    """Return the code with which a record is refused; "" when it is read."""
    try:
        decode_record(key, value, headers)
    except MalformedRecordError as error:
        return error.code
    return ""


def reencode(event: Event) -> Event:
    """Return the event as a consumer reads it."""
    return decode_record(*encode_event(event))


def load_json(path: str) -> Any:
    """Read a vector file; some begin with a byte-order mark."""
    return json.loads((VECTORS / path).read_text(encoding="utf-8-sig"))


def golden() -> list[dict[str, Any]]:
    """Return the golden events."""
    events_of: list[dict[str, Any]] = load_json("hookevent-golden.json")["events"]
    return events_of


def golden_event(entry: dict[str, Any]) -> Event:
    """Build a golden event from its components."""
    build = Event.versioned if "version" in entry["components"] else Event.unversioned
    return build(**entry["components"], payload=entry["payload"], timestamp_ms=entry["timestamp_ms"])


def unbase64(text: str) -> bytes:
    """Decode base64."""
    return base64.b64decode(text)


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Choose the partition as Java's default partitioner does for a key."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    state = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for place in range(0, whole, 4):
        word = int.from_bytes(key[place : place + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        state = state * factor & mask ^ word
    if len(key) > whole:
        state = (state ^ int.from_bytes(key[whole:], "little")) * factor & mask
    state = (state ^ state >> 13) * factor & mask
    return ((state ^ state >> 15) & 0x7FFFFFFF) % partitions
