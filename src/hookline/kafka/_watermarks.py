"""Where partitions begin and end, asked of the broker for all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaException, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Consumer


def ask_watermarks(
    consumer: Consumer, topic: str, partitions: Iterable[int], timeout_seconds: float
) -> dict[int, tuple[int, int]]:
    """Ask for (low, high) of partitions: two requests to each leader, however many they are.

    `high` is where a consumer of committed records ends. Raises KafkaException. May be called in a rebalance callback.
    """
    numbers = list(partitions)
    # The low ones first: what retention moves in between must not push them past the high ones.
    lows, highs = (_ask(consumer, topic, numbers, what, timeout_seconds) for what in (OFFSET_BEGINNING, OFFSET_END))
    return {number: (lows[number], highs[number]) for number in numbers}


def _ask(consumer: Consumer, topic: str, numbers: list[int], what: int, timeout_seconds: float) -> dict[int, int]:
    # For the protocol the two ends are times, so that the request for times takes them; the other one of the client
    # asks partition by partition.
    if not numbers:
        return {}
    asked = [TopicPartition(topic, number, what) for number in numbers]
    found = consumer.offsets_for_times(asked, timeout=timeout_seconds)
    for place in found:
        if place.error is not None:
            raise KafkaException(place.error)
    return {place.partition: place.offset for place in found}
