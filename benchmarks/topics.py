"""The topics of a run, filled before anything is measured."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message, Producer

from benchmarks.events import make_events
from benchmarks.workloads import PARTITIONS
from hookline.kafka import ClientConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.kafka import RealKafka

__all__ = ["fresh_group", "make_topic", "prefilled_topic"]

_FLUSH_SECONDS = 60.0
_ROOM_SECONDS = 0.05


def make_topic(kafka: RealKafka, name: str) -> str:
    """Make a topic of a name that nobody used, and the one for its dead letters."""
    topic = kafka.create_topic(f"bench-{name.lower()}-{uuid.uuid4().hex[:8]}", PARTITIONS)
    kafka.create_topic(f"{topic}_dlq", 1)
    return topic


def prefilled_topic(kafka: RealKafka, name: str, subjects: Sequence[int]) -> str:
    """Make a topic and write an event for each of the subjects, confirmed. Raises RuntimeError when one is refused."""
    topic = make_topic(kafka, name)
    refused: list[KafkaError] = []

    def report(error: KafkaError | None, message: Message) -> None:
        del message
        if error is not None:
            refused.append(error)

    tuned = {"linger.ms": 20, "log_level": 0}  # a broker that has just started makes it talk
    options = ClientConfig(common={"bootstrap.servers": kafka.bootstrap}, producer=tuned).producer()
    producer = Producer(options)
    for event in make_events(subjects):
        while True:
            try:
                producer.produce(topic, event.value, event.key, on_delivery=report, headers=list(event.headers))
                break
            except BufferError:
                producer.poll(_ROOM_SECONDS)
    left = producer.flush(_FLUSH_SECONDS)
    if left or refused:
        raise RuntimeError(f"{left + len(refused)} events were not written: {refused[:1]}")
    return topic


def fresh_group(topic: str) -> str:
    """Name a consumer group that nobody used."""
    return f"{topic}-{uuid.uuid4().hex[:8]}"
