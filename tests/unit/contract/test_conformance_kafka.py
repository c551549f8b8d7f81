"""The Kafka features of cloudevents/conformance, run on our reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bdd import given, scenarios, then, when

from hookline.contract import Event, decode_record, parse_time
from tests.unit.contract.samples import VECTORS

if TYPE_CHECKING:
    from hookline.contract import Headers

scenarios(str(VECTORS / "cloudevents-conformance" / "features" / "kafka-protocol-binding.feature"))


@dataclass
class World:
    """What one scenario builds up."""

    value: bytes = b""
    headers: Headers = ()
    events: list[Event] = field(default_factory=list)


@given("Kafka Protocol Binding is supported", target_fixture="world")
def supported() -> World:
    """Begin a scenario."""
    return World()


@given("a Kafka message with payload:")
def message(world: World, docstring: str) -> None:
    """Take the value."""
    world.value = docstring.encode()


@given("Kafka headers:")
def kafka_headers(world: World, datatable: list[list[str]]) -> None:
    """Take the headers."""
    world.headers = tuple((name, value.encode()) for name, value in datatable[1:])


@when("parsed as Kafka message")
def parsed(world: World) -> None:
    """Read the record."""
    world.events.append(decode_record(None, world.value, world.headers))


@then("the attributes are:")
def attributes_are(world: World, datatable: list[list[str]]) -> None:
    """Compare every attribute, the time as an instant."""
    attributes = world.events[0].to_cloudevent().get_attributes()
    attributes["time"] = world.events[0].timestamp_ms
    expected: dict[str, Any] = dict(row for row in datatable[1:])
    assert attributes == expected | {"time": parse_time(expected["time"])}


@then("the data is equal to the following JSON:")
def data_is(world: World, docstring: str) -> None:
    """Compare the data."""
    assert world.events[0].payload == json.loads(docstring)
