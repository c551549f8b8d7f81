"""The samples of the Java SDK: an independent implementation's idea of the formats."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from hookline.contract import Event, decode_record, parse_time
from hookline.contract.v1.cloudevent_pb2 import CloudEvent
from tests.unit.contract.samples import VECTORS, code_of, labelled, load_json

FORMATS = VECTORS / "cloudevents-sdk-java" / "formats"
JSON, PROTOBUF = labelled("application/cloudevents+json"), labelled("application/cloudevents+protobuf")

REFUSED = {"fail_numeric_decimal", "fail_numeric_long", "json_data_with_ext_invalid", "json_data_with_ext_upper_case"}

MINIMAL: dict[str, Any] = {"id": "1", "source": "http://localhost/source", "type": "mock.test"}
SUBJECT: dict[str, Any] = MINIMAL | {"subject": "sub", "timestamp_ms": parse_time("2018-04-26T14:48:09+02:00")}
SCHEMA = {"dataschema": "http://localhost/schema", "datacontenttype": "application/json"}
EXTENSIONS = {"astring": "aaa", "aboolean": "true", "anumber": "10"}
XML, TEXT = {"datacontenttype": "application/xml"}, {"datacontenttype": "text/plain"}

EXPECTED = {
    "base64_json_data": Event(**SUBJECT, attributes=SCHEMA),
    "base64_json_data_with_ext": Event(**SUBJECT, attributes=SCHEMA | EXTENSIONS),
    "base64_text_data": Event(**SUBJECT, attributes=TEXT, payload={"data": "Hello World Lorena!"}),
    "base64_xml_data": Event(**SUBJECT, attributes=XML, payload={"data": "<stuff></stuff>"}),
    "binary_attr": Event(**MINIMAL, attributes={"binary": "4P8ARKo="}),
    "binary_ext": Event(**MINIMAL, attributes={"binary": "4P8ARKo="}),
    "json_data": Event(**SUBJECT, attributes=SCHEMA),
    "json_data_with_ext": Event(**SUBJECT, attributes=SCHEMA | EXTENSIONS),
    "json_data_with_fractional_time": Event(
        **SUBJECT | {"timestamp_ms": parse_time("2018-04-26T14:48:09.123Z")}, attributes=SCHEMA
    ),
    "min": Event(**MINIMAL),
    "min_subject_null": Event(**MINIMAL),
    "numeric_ext": Event(**MINIMAL, attributes={"integer": "42", "decimal": "42.42", "float": "4.2", "long": "4200"}),
    "text_data": Event(**SUBJECT, attributes=TEXT, payload={"data": "Hello World Lorena!"}),
    "xml_data": Event(**SUBJECT, attributes=XML, payload={"data": "<stuff></stuff>"}),
}


def samples(folder: str) -> list[Any]:
    """Return (path, name) of each sample."""
    paths = sorted((FORMATS / folder / "v1").iterdir())
    return [pytest.param(path, path.name.partition(".")[0], id=path.name) for path in paths]


@pytest.mark.parametrize(("path", "name"), samples("json-jackson"))
def test_json(path: Any, name: str) -> None:
    """What Java reads is read the same; what Java refuses is malformed."""
    if name in REFUSED:
        assert code_of(None, path.read_bytes(), JSON) == "invalid_event"
    else:
        assert decode_record(None, path.read_bytes(), JSON) == EXPECTED[name]


@pytest.mark.parametrize(("path", "name"), samples("protobuf"))
def test_protobuf(path: Any, name: str) -> None:
    """What Java writes as protobuf is read the same."""
    document = load_json(str(path.relative_to(VECTORS)))
    assert decode_record(None, ParseDict(document, CloudEvent()).SerializeToString(), PROTOBUF) == EXPECTED[name]
