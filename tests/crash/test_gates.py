"""What is closed while the broker goes down and comes back: nothing opens by it, and nothing is forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.contract import Gate, GateKey, decode_gate, encode_gate, encode_gate_key
from hookline.kafka import AcknowledgedProducer, ClientConfig
from hookline.service._control import Control
from hookline.telemetry import Metrics
from tests.support.kafka import Topics
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from tests.support.kafka._own import OwnKafka

TOPIC = "hookline-control"
SUBJECT = Gate("orders", "", "batch-4", "being repaired", "ada", 1_796_032_800_000)
LONG_SECONDS = 90


async def test_a_broker_that_dies_opens_nothing(own_kafka: OwnKafka) -> None:
    """P1: what is closed stays closed through an outage, what hookline closes in it is written down after it, and both are opened then."""
    own_kafka.create_topic(TOPIC, 1, cleanup_policy="compact")
    own_kafka.send(TOPIC, *encode_gate(SUBJECT))
    client, metrics = ClientConfig(common={"bootstrap.servers": own_kafka.bootstrap}), Metrics(domain="orders")
    producer = AcknowledgedProducer(client.producer())

    async def comes_to(state: str) -> None:
        await eventually_async(lambda: metrics.value("control_state", state=state) == 1, LONG_SECONDS, what=state)

    async with Control("orders", TOPIC, client, producer, metrics) as control:
        await control.wait(LONG_SECONDS)
        assert control.gates.closed == (SUBJECT,)
        await asyncio.to_thread(own_kafka.kill)
        await comes_to("unreachable")
        control.close_gate("ci", "410 Gone")
        assert {gate.key for gate in control.gates.closed} == {SUBJECT.key, GateKey("orders", "ci")}
        await asyncio.to_thread(own_kafka.start_again)
        await comes_to("following")
        assert {gate.key for gate in control.gates.closed} == {SUBJECT.key, GateKey("orders", "ci")}
        await eventually_async(lambda: not control._writes, LONG_SECONDS, what="written down")
        topic = Topics(own_kafka.bootstrap)
        for key in (SUBJECT.key, GateKey("orders", "ci")):
            topic.send(TOPIC, encode_gate_key(key), None)
        await eventually_async(lambda: control.gates.is_open, LONG_SECONDS, what="all is open")
    assert await producer.close(5) == 0
    records = [decode_gate(record.key, record.value) for record in Topics(own_kafka.bootstrap).read(TOPIC)]
    assert [record.gate.closed_by for record in records if record and record.gate] == ["ada", "hookline"]
