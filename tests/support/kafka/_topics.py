from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS = 30.0
_ANY_PARTITION = -1
_Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it stands in a topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: _Headers


class Topics:
    """Write and read topics as any other program would, on a real or an embedded broker; knows nothing of hookline."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @cached_property
    def admin(self) -> AdminClient:
        """The admin client; the embedded broker answers none of its requests but `list_topics`."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @cached_property
    def _producer(self) -> Producer:
        options = {"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random", "linger.ms": 0, "log_level": 0}
        return Producer(options)

    def partitions_by_topic(self) -> dict[str, int]:
        """Return the number of partitions of every topic."""
        return {name: len(topic.partitions) for name, topic in self.admin.list_topics(timeout=_SECONDS).topics.items()}

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions; clients hear of it in their own time."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_SECONDS)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        partition: int | None = None,
    ) -> StoredRecord:
        """Write one record and return it as the broker confirmed it."""
        reports: list[tuple[KafkaError | None, Message]] = []
        self._producer.produce(
            topic,
            value,
            key,
            _ANY_PARTITION if partition is None else partition,
            on_delivery=lambda error, message: reports.append((error, message)),
            headers=list(headers),
        )
        self._producer.flush(_SECONDS)
        (error, message) = reports[0]
        if error is not None:
            raise KafkaException(error)
        return StoredRecord(topic, _number(message.partition()), _number(message.offset()), key, value, tuple(headers))

    def read(self, topic: str) -> list[StoredRecord]:
        """Return every committed record of a topic, partition by partition in offset order."""
        with self._reader() as reader:
            partitions = list(reader.list_topics(topic, timeout=_SECONDS).topics[topic].partitions)
            reader.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            records = _read_to_the_ends(reader, set(partitions))
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def ends(self, topic: str) -> dict[int, int]:
        """Return the end offset of every partition."""
        with self._reader() as reader:
            partitions = reader.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
            return {p: reader.get_watermark_offsets(TopicPartition(topic, p), _SECONDS)[1] for p in partitions}

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the group's committed offset by partition; a partition without a commit is missing."""
        with self._reader(group) as reader:
            partitions = reader.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
            asked = [TopicPartition(topic, partition) for partition in partitions]
            return {tp.partition: tp.offset for tp in reader.committed(asked, _SECONDS) if tp.offset >= 0}

    def settled(self, group: str, topic: str) -> bool:
        """Whether the group has committed to the end of every partition that has records."""
        committed = self.committed(group, topic)
        return all(committed.get(partition, 0) >= end for partition, end in self.ends(topic).items() if end)

    def _reader(self, group: str | None = None) -> Consumer:
        """Return a consumer that joins no group and commits nothing."""
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group or f"reader-{uuid.uuid4()}",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )


def _read_to_the_ends(reader: Consumer, unread: set[int]) -> list[StoredRecord]:
    records = []
    while unread:
        message = reader.poll(_SECONDS)
        if message is None:
            raise KafkaException(f"partitions {sorted(unread)} gave nothing for {_SECONDS:g} s")
        if (error := message.error()) is None:
            records.append(_stored(message))
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(_number(message.partition()))
        else:
            raise KafkaException(error)
    return records


def _stored(message: Message) -> StoredRecord:
    topic, partition, offset = message.topic() or "", _number(message.partition()), _number(message.offset())
    return StoredRecord(topic, partition, offset, message.key(), message.value(), _headers(message))


def _headers(message: Message) -> _Headers:
    # The stubs allow what only produce() takes; a record that was read has a list of str and bytes.
    return tuple(cast("list[tuple[str, bytes | None]]", message.headers() or []))


def _number(value: int | None) -> int:
    assert value is not None
    return value
