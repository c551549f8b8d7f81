"""The format tests of cloudevents/conformance: every JSON and protobuf event, valid and invalid."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from hookline.contract import Event, decode_record, parse_time
from hookline.contract.v1.cloudevent_pb2 import CloudEvent
from tests.unit.contract.samples import code_of, labelled, load_json

FORMAT = "cloudevents-conformance/format"
JSON, PROTOBUF = labelled("application/cloudevents+json"), labelled("application/cloudevents+protobuf")

MINIMAL: dict[str, Any] = {"id": "minimal", "source": "https://cloudevents.io", "type": "io.cloudevents.test"}
WITH_TIME = {"timestamp_ms": parse_time("2018-04-05T17:31:00Z")}
TEXT = {"datacontenttype": "text/plain"}

# The golden samples, as format/README.md describes them.
SAMPLES = {
    "minimal": Event(**MINIMAL),
    "minimalWithTime": Event(**MINIMAL | {"id": "minimalWithTime"} | WITH_TIME),
    "minimalWithRelativeSource": Event(**MINIMAL | {"id": "minimalWithRelativeSource", "source": "#fragment"}),
    "allCore": Event(
        **MINIMAL | {"id": "allCore", "subject": "tests"} | WITH_TIME,
        attributes=TEXT | {"dataschema": "https://cloudevents.io/dataschema"},
    ),
    "simpleTextData": Event(**MINIMAL | {"id": "simpleTextData"}, attributes=TEXT, payload={"data": "Simple text"}),
    "allExtensionTypes": Event(
        **MINIMAL | {"id": "allExtensionTypes"},
        attributes={
            "extinteger": "10",
            "extboolean": "true",
            "extstring": "text",
            "extbinary": "TWE=",
            "exttimestamp": "2023-03-31T15:12:00Z",
            "exturi": "https://cloudevents.io",
            "exturiref": "//authority/path",
        },
    ),
}


def cases(path: str, member: str) -> list[Any]:
    """Return (document, sample id) of each test in a file."""
    tests = load_json(f"{FORMAT}/{path}")["tests"]
    return [pytest.param(test[member], test.get("sampleId"), id=test["id"]) for test in tests]


def pack(document: dict[str, Any]) -> bytes:
    """Write a CloudEvent in the protobuf format."""
    return ParseDict(document, CloudEvent()).SerializeToString()


@pytest.mark.parametrize(("document", "sample"), cases("json/valid-events.json", "event"))
def test_valid_json(document: dict[str, Any], sample: str) -> None:
    """A valid JSON event is read as its golden sample."""
    assert decode_record(None, json.dumps(document).encode(), JSON) == SAMPLES[sample]


@pytest.mark.parametrize(("document", "sample"), cases("json/invalid-events.json", "event"))
def test_invalid_json(document: dict[str, Any], sample: str | None) -> None:
    """P12. An invalid JSON event is malformed."""
    assert code_of(None, json.dumps(document).encode(), JSON) in {"invalid_event", "unsupported_specversion"}
    assert sample is None


@pytest.mark.parametrize(("document", "sample"), cases("protobuf/valid-events.json", "validSingle"))
def test_valid_protobuf(document: dict[str, Any], sample: str) -> None:
    """A valid protobuf event is read as its golden sample."""
    assert decode_record(None, pack(document), PROTOBUF) == SAMPLES[sample]


@pytest.mark.parametrize(("document", "sample"), cases("protobuf/invalid-events.json", "invalidSingle"))
def test_invalid_protobuf(document: dict[str, Any], sample: str | None) -> None:
    """P12. An invalid protobuf event is malformed."""
    assert code_of(None, pack(document), PROTOBUF) in {"invalid_event", "unsupported_specversion"}
    assert sample is None


@pytest.mark.parametrize("path", ["json/valid-batches.json", "json/invalid-batches.json"])
def test_json_batches(path: str) -> None:
    """Every batch, valid or not, is refused by name: Kafka has none."""
    headers = labelled("application/cloudevents-batch+json")
    codes = {
        code_of(None, json.dumps(test["batch"]).encode(), headers) for test in load_json(f"{FORMAT}/{path}")["tests"]
    }
    assert codes == {"batch_not_supported"}


@pytest.mark.parametrize("path", ["protobuf/valid-batches.json", "protobuf/invalid-batches.json"])
def test_protobuf_batches(path: str) -> None:
    """The same for batches in protobuf."""
    headers = labelled("application/cloudevents-batch+protobuf")
    codes = {code_of(None, b"\n\x00", headers) for _ in load_json(f"{FORMAT}/{path}")["tests"]}
    assert codes == {"batch_not_supported"}
