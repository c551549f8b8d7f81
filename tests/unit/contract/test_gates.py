"""Gates on the control topic: keys without ambiguity, and a reader that nothing can stop."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import (
    MAX_REASON_CHARS,
    MAX_TIMESTAMP_MS,
    Gate,
    GateKey,
    InvalidGateError,
    decode_gate,
    encode_gate,
    encode_gate_key,
)

CLOSED = Gate("orders", "ci", "batch/4", "receiver is being moved", "ada", 1_796_032_800_000)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["a/b", "%2F", "/", "%", "é"])
domains = texts.filter(bool)
keys = st.builds(GateKey, domains, texts, texts)
gates = st.builds(Gate, domains, texts, texts, texts, texts, st.integers(0, MAX_TIMESTAMP_MS))
near_keys = (st.lists(st.text("ab/%2Fé.\0", max_size=4), max_size=5).map("/".join)).map(
    lambda tail: b"gate/" + tail.encode()
)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "reason", "closed_by", "closed_at", "x"]), inner, max_size=5)
    ),
    max_leaves=8,
)
values = st.none() | st.binary(max_size=60) | json_like.map(lambda document: json.dumps(document).encode())


@given(gates)
def test_round_trip(gate: Gate) -> None:
    """What is written is read again, whatever strings it is made of."""
    record = decode_gate(*encode_gate(gate))
    assert record is not None
    assert (record.key, record.gate, record.problem) == (gate.key, gate, "")


@given(keys, keys)
def test_keys_are_injective(one: GateKey, other: GateKey) -> None:
    """Two gates never share a key, so that opening one never opens another."""
    assert (encode_gate_key(one) == encode_gate_key(other)) == (one == other)


@given(keys)
def test_a_tombstone_opens(key: GateKey) -> None:
    """A key without a value says that the gate is open."""
    record = decode_gate(encode_gate_key(key), None)
    assert record is not None
    assert (record.key, record.gate, record.problem) == (key, None, "")


@given(st.none() | st.binary(max_size=40) | near_keys, values)
def test_any_bytes_are_read_or_refused(key: bytes | None, value: bytes | None) -> None:
    """Hostile bytes are refused as one kind of error or read, and a key that is read is the one way to write it."""
    try:
        record = decode_gate(key, value)
    except InvalidGateError:
        return
    if record is not None:
        assert encode_gate_key(record.key) == key
        assert (record.gate is None) == (value is None)


@given(keys, values.filter(lambda value: value is not None))
def test_any_value_closes(key: GateKey, value: bytes) -> None:
    """Only a tombstone opens: a value that cannot be read closes too, and says why it cannot; its texts can be printed."""
    record = decode_gate(encode_gate_key(key), value)
    assert record is not None
    assert record.gate is not None
    assert record.gate.key == key
    assert len(record.gate.reason) <= MAX_REASON_CHARS
    (record.gate.reason + record.gate.closed_by).encode()


def test_the_record_as_it_is() -> None:
    """The form that docs/wire.md shows, for writers in other languages."""
    key, value = encode_gate(CLOSED)
    assert key == b"gate/orders/ci/batch%2F4"
    assert json.loads(value) == {
        "version": 1, "reason": "receiver is being moved", "closed_by": "ada", "closed_at": "2026-11-30T10:00:00.000Z",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"version": 2, "until": "tomorrow"}, CLOSED),
        ({"reason": None}, Gate("orders", "ci", "batch/4", "", "ada", CLOSED.closed_at_ms)),
        ({"closed_by": 7}, Gate("orders", "ci", "batch/4", CLOSED.reason, "", CLOSED.closed_at_ms)),
        ({"closed_at": "yesterday"}, Gate("orders", "ci", "batch/4", CLOSED.reason, "ada")),
    ],
    ids=["a later version", "no reason", "a number for a name", "no time"],
)
def test_what_is_not_understood_is_left_out(more: dict[str, Any], expected: Gate) -> None:
    """Unknown keys are ignored, and one that is wrong costs itself alone."""
    key, value = encode_gate(CLOSED)
    record = decode_gate(key, json.dumps(json.loads(value) | more).encode())
    assert record is not None
    assert (record.gate, record.problem) == (expected, "")


@pytest.mark.parametrize(
    "value",
    [b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 60_000, b'"' + b"a" * 70_000 + b'"'],
    ids=["empty", "null", "list", "torn", "no UTF-8", "deep", "long"],
)
def test_an_unreadable_value_is_told(value: bytes) -> None:
    """A value that is no JSON object closes without a reason, and the record says that it could not be read."""
    record = decode_gate(encode_gate_key(CLOSED.key), value)
    assert record is not None
    assert record.gate == Gate("orders", "ci", "batch/4")
    assert record.problem


@pytest.mark.parametrize(
    "key",
    [None, b"", b"gate", b"gate/", b"gate/orders", b"gate/orders//a/b", b"gate///", b"gate/orders/%zz/", b"gate/orders/%2f/",
     b"gate/orders/%41/", b"gate/orders/%FF/", b"gate/orders/\xff/", b"\xff", b"orders"],
)  # fmt: skip
def test_a_key_that_names_no_gate_is_refused(key: bytes | None) -> None:
    """What is no key, or writes one in a second way, is refused: opening the one would leave the other closed."""
    with pytest.raises(InvalidGateError):
        decode_gate(key, b"{}")


@pytest.mark.parametrize("key", [b"pause/orders", b"rate-limit/x/y", b"a1_/"])
def test_other_kinds_of_records_are_left_alone(key: bytes) -> None:
    """The topic may carry other kinds one day; they are no gates, and no mistakes."""
    assert decode_gate(key, b"{}") is None


@pytest.mark.parametrize("key", [GateKey(""), GateKey("orders", "\ud800"), GateKey("orders", "", "\udfff")])
def test_what_cannot_be_a_key_is_not_written(key: GateKey) -> None:
    """Without a domain, or with text that is no Unicode, there is no key."""
    with pytest.raises(InvalidGateError):
        encode_gate_key(key)


def test_texts_are_made_fit() -> None:
    """A reason is never why a gate cannot be closed: what is no Unicode is replaced, what is too long is cut."""
    record = decode_gate(*encode_gate(Gate("orders", reason="\ud800" + "a" * 5_000)))
    assert record is not None
    assert record.gate is not None
    assert record.gate.reason == "?" + "a" * (MAX_REASON_CHARS - 1)


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        (GateKey("orders"), "domain"),
        (GateKey("orders", "ci"), "hook"),
        (GateKey("orders", "", "b"), "subject"),
        (GateKey("orders", "ci", "b"), "subject"),
    ],
)
def test_scopes(key: GateKey, scope: str) -> None:
    """A gate's scope is the narrowest thing that it names."""
    assert key.scope == scope
