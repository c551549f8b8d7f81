"""A topic that consumers of the test follow, as far as a follower uses them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

TOPIC: Final = "control"
_END = KafkaError._PARTITION_EOF


@dataclass(slots=True)
class _Described:
    """What metadata says of a topic or of one of its partitions."""

    error: KafkaError | None = None
    partitions: dict[int, _Described] = field(default_factory=dict)
    topics: dict[str, _Described] = field(default_factory=dict)


class FakeTopic:
    """Partitions with records, and what goes wrong; changed by the test, read by the consumers. For any thread."""

    def __init__(self, partitions: int = 1) -> None:
        self.changed = threading.Condition()
        self.records: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
        self.first: dict[int, int] = dict.fromkeys(range(partitions), 0)
        self.error: KafkaError | None = None
        self.leader_error: KafkaError | None = None
        self.fetch_error: KafkaError | None = None
        self.refusal: Exception | None = None
        self.consumers: list[FakeConsumer] = []

    def connect(self, options: dict[str, object]) -> FakeConsumer:
        """Make a consumer, or refuse to."""
        if self.refusal is not None:
            raise self.refusal
        self.consumers.append(FakeConsumer(self, options))
        return self.consumers[-1]

    def write(self, *values: bytes, partition: int = 0) -> None:
        """Append records."""
        with self.changed:
            self.records[partition] += values
            self.changed.notify_all()

    def make_anew(self, *values: bytes) -> None:
        """Delete the topic, make it again and write to it, at once; who had read of it is put back to its beginning."""
        with self.changed:
            self.records = {number: [] for number in self.records} | {0: list(values)}
            for consumer in self.consumers:
                consumer.position = dict.fromkeys(consumer.position, 0)

    def end(self, partition: int) -> int:
        """Tell where a partition ends."""
        return self.first[partition] + len(self.records[partition])


class FakeConsumer:
    """One client; for one thread, as the real one is."""

    def __init__(self, topic: FakeTopic, options: dict[str, object]) -> None:
        self.options = options
        self.position: dict[int, int] = {}
        self.closed = False
        self._topic = topic
        self._told_end: set[int] = set()

    def list_topics(self, name: str, timeout: float) -> _Described:
        """Describe the topic."""
        assert timeout > 0
        if self._topic.error is not None:
            raise KafkaException(self._topic.error)
        partitions = {number: _Described(self._topic.leader_error) for number in self._topic.records}
        return _Described(topics={name: _Described(None, partitions)})

    def offsets_for_times(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Tell where partitions begin or end."""
        assert timeout > 0
        topic = self._topic
        return [
            TopicPartition(
                place.topic,
                place.partition,
                topic.first[place.partition] if place.offset == OFFSET_BEGINNING else topic.end(place.partition),
            )
            for place in places
        ]

    def assign(self, places: list[TopicPartition]) -> None:
        """Begin to read."""
        self.position = {place.partition: place.offset for place in places}

    def poll(self, timeout: float) -> Message | None:
        """Give the next record or the news of an end; wait for one."""
        with self._topic.changed:
            message = self._next()
            if message is None:
                self._topic.changed.wait(timeout)
                message = self._next()
            return message

    def consume(self, most: int, timeout: float) -> list[Message]:
        """Give what is there."""
        assert timeout == 0
        with self._topic.changed:
            return [message for _ in range(most) if (message := self._next()) is not None]

    def get_watermark_offsets(self, place: TopicPartition, *, cached: bool) -> tuple[int, int]:
        """Tell the ends as last heard."""
        assert cached
        return self._topic.first[place.partition], self._topic.end(place.partition)

    def close(self) -> None:
        """End it."""
        self.closed = True

    def _next(self) -> Message | None:
        topic = self._topic
        if topic.fetch_error is not None:
            error, topic.fetch_error = topic.fetch_error, None
            return Message(topic=TOPIC, partition=0, error=error)
        for partition, offset in self.position.items():
            if offset < topic.end(partition):
                self.position[partition] = offset + 1
                self._told_end.discard(partition)
                value = topic.records[partition][offset - topic.first[partition]]
                return Message(topic=TOPIC, partition=partition, offset=offset, key=b"k", value=value)
            if partition not in self._told_end:
                self._told_end.add(partition)
                return Message(topic=TOPIC, partition=partition, offset=offset, error=KafkaError(_END))
        return None
