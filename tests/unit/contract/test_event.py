"""The event that hooks see."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from hookline.contract import Event, InvalidEventError, ReadOnlyDict, ReadOnlyList, decode_record
from tests.unit.contract.samples import foreign_headers, labelled, reencode, sample_event, sample_value

if TYPE_CHECKING:
    from collections.abc import Callable

NESTED = {"k": 1, "list": [1, {"deep": [2]}], "object": {"a": "b"}}

CHANGES: list[Callable[[Any], object]] = [
    lambda payload: payload.pop("k"),
    lambda payload: payload.update(k=2),
    lambda payload: payload.__setitem__("k", 2),
    lambda payload: payload.__delitem__("k"),
    lambda payload: payload.__ior__({"k": 2}),
    lambda payload: payload.setdefault("new", 1),
    lambda payload: payload.popitem(),
    lambda payload: payload.clear(),
    lambda payload: payload["object"].clear(),
    lambda payload: payload["list"].append(3),
    lambda payload: payload["list"].extend([3]),
    lambda payload: payload["list"].insert(0, 3),
    lambda payload: payload["list"].pop(),
    lambda payload: payload["list"].remove(1),
    lambda payload: payload["list"].reverse(),
    lambda payload: payload["list"].sort(),
    lambda payload: payload["list"].clear(),
    lambda payload: payload["list"].__setitem__(0, 3),
    lambda payload: payload["list"].__delitem__(0),
    lambda payload: payload["list"].__iadd__([3]),
    lambda payload: payload["list"].__imul__(2),
    lambda payload: payload["list"][1]["deep"].append(3),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("event", [sample_event(payload=NESTED), reencode(sample_event(payload=NESTED))])
def test_payload_refuses_changes(event: Event, change: Callable[[Any], object]) -> None:
    """cases: hooks-share-one-event. One hook cannot change what another reads, at any level."""
    with pytest.raises(TypeError):
        change(event.payload)
    assert event.payload == NESTED


def test_payload_is_an_ordinary_value_to_readers() -> None:
    """A payload is equal to the plain one, and json.dumps takes it."""
    event = reencode(sample_event(payload=NESTED))
    assert event.payload == NESTED
    assert json.loads(json.dumps(event.payload)) == NESTED


def test_deepcopy_of_a_payload_may_be_changed() -> None:
    """copy.deepcopy of a payload gives plain dicts and lists at every level."""
    mine: Any = copy.deepcopy(sample_event(payload=NESTED).payload)
    mine["list"][1]["deep"].append(3)
    assert (mine.__class__, mine["list"].__class__) == (dict, list)
    assert mine["list"][1]["deep"] == [2, 3]


def test_copy_of_a_payload_is_plain_at_the_top() -> None:
    """copy.copy gives a plain dict or list whose members stay read-only."""
    payload: Any = sample_event(payload=NESTED).payload
    assert (copy.copy(payload).__class__, copy.copy(payload["list"]).__class__) == (dict, list)
    assert copy.copy(payload)["list"].__class__ is ReadOnlyList


def test_payload_is_decoded_once() -> None:
    """The payload is decoded at the first reading and the same object afterwards."""
    event = reencode(sample_event(payload=NESTED))
    assert event.payload is event.payload


def test_publisher_keeps_its_own_payload() -> None:
    """An event does not alias the dict that it was made of."""
    mine = {"list": [1]}
    event = sample_event(payload=mine)
    mine["list"].append(2)
    assert event.payload == {"list": [1]}


@pytest.mark.parametrize(
    "name", ["id", "source", "type", "subject", "version", "timestamp_ms", "payload", "attributes", "new"]
)
def test_event_is_immutable(name: str) -> None:
    """No attribute of an event can be set or deleted."""
    event = sample_event()
    with pytest.raises(AttributeError):
        setattr(event, name, "x")
    with pytest.raises(AttributeError):
        delattr(event, name)


def test_attributes_refuse_changes() -> None:
    """The attributes of an event are read-only too."""
    attributes: Any = sample_event(attributes={"expirytime": "2026-11-30T10:00:00Z"}).attributes
    with pytest.raises(TypeError):
        attributes["expirytime"] = "never"


def test_identity_and_hash() -> None:
    """The identity is (source, id); equal events have equal hashes."""
    event = sample_event()
    assert event.identity == ("submitqueue", "submitqueue/batch.failed/batch-778/4")
    assert {event: 1}[reencode(event)] == 1


def test_equality_sees_the_payload() -> None:
    """A repeat of one identity with another payload is not equal: somebody mints ids wrongly."""
    assert sample_event() != sample_event(payload={"batch_id": "other"})
    assert sample_event() != "event"


@pytest.mark.parametrize(
    "event", [sample_event(payload=NESTED), reencode(sample_event(payload=NESTED, attributes={"a": "b"}))]
)
def test_pickle(event: Event) -> None:
    """An event crosses to another process whole, still read-only."""
    again = pickle.loads(pickle.dumps(event))  # noqa: S301  # our own bytes
    assert again == event
    assert (again.payload.__class__, again.payload["list"].__class__) == (ReadOnlyDict, ReadOnlyList)


def test_copies_are_the_event_itself() -> None:
    """Copying what cannot change gives the same object."""
    event = sample_event()
    assert copy.copy(event) is event
    assert copy.deepcopy(event) is event


def test_repr_has_no_payload() -> None:
    """P15: the payload does not slip into a log line by way of repr."""
    assert "merge conflict" not in repr(sample_event())


def test_replay_is_equal() -> None:
    """A replay that takes the entity's own time makes an equal event, byte for byte (H8, H14)."""
    assert sample_event() == sample_event()


def test_timestamp_defaults_to_now() -> None:
    """Without a timestamp the event happens now, in milliseconds."""
    events = [
        Event.versioned(source="s", type="t", subject="k", version=1),
        Event.unversioned(source="s", type="t", subject="k", cause="c"),
    ]
    assert all(1_700_000_000_000 < event.timestamp_ms < 10_000_000_000_000 for event in events)


@pytest.mark.parametrize("subject", [b"s-1", "é ☃".encode()])
def test_subject_is_the_header_first(subject: bytes) -> None:
    """The subject is ce_subject, even where the key says otherwise."""
    headers = labelled("application/protobuf", ce_subject=subject)
    assert decode_record(b"key", sample_value(), headers).subject == subject.decode()


@pytest.mark.parametrize(("key", "subject"), [(b"k\xc3\xa9", "ké"), (b"a\xff\xfeb", "a%FF%FEb"), (b"", ""), (None, "")])
def test_subject_is_the_key_next(key: bytes | None, subject: str) -> None:
    """Without ce_subject the subject is the key as UTF-8, bad bytes percent-encoded, else empty."""
    assert decode_record(key, sample_value(), ()).subject == subject
    assert decode_record(key, b"{}", foreign_headers("application/json")).subject == subject


def test_attributes_of_headers() -> None:
    """Other ce_ headers are attributes; what the event has as fields, illegal names and null values are not."""
    headers = (
        *labelled("application/protobuf", ce_id=b"i", ce_expirytime=b"2026-11-30T10:00:00Z", ce_traceparent=b"00-1", ce_Bad=b"x"),
        ("ce_none", None), ("traceparent", b"00-2"), ("ce_data", b"x"),
    )  # fmt: skip  # pairs, one row
    event = decode_record(b"k", sample_value(), headers)
    assert event.attributes == {"expirytime": "2026-11-30T10:00:00Z", "traceparent": "00-1"}


def test_attributes_survive_the_record() -> None:
    """What a publisher gives as attributes, a hook reads."""
    event = sample_event(attributes={"expirytime": "2026-11-30T10:00:00Z", "dataschema": "https://example.com/s"})
    assert reencode(event).attributes == event.attributes


@pytest.mark.parametrize("payload", [{"k": b"x"}, {"k": {1}}, {"k": object()}, {1: "k"}, {"k": [{2: 1}]}, [1], "text"])
def test_payload_of_no_json(payload: Any) -> None:
    """cases: numbers. Bytes, sets, objects, keys that are no strings: refused when the event is made."""
    with pytest.raises(InvalidEventError) as caught:
        sample_event(payload=payload)
    assert caught.value.field.startswith("payload")


def test_payload_without_an_end() -> None:
    """A payload that holds itself is refused like one nested too deep."""
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(InvalidEventError):
        sample_event(payload=endless)
