"""Reading a topic from end to end, without a group."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition

from hookline.kafka import AcknowledgedProducer, BrokerUnreachableError, ClientConfig, TopicMissingError, TopicReader
from tests.broker.raw_produce import produce_raw
from tests.support.ports import free_port
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from hookline.kafka import Record
    from tests.support.kafka import RealKafka, TestBroker


def _config(bootstrap: str, **consumer: str) -> ClientConfig:
    named = {name.replace("_", "."): value for name, value in consumer.items()}
    return ClientConfig(common={"bootstrap.servers": bootstrap}, consumer=named)


async def _write(broker: TestBroker | RealKafka, topic: str, count: int) -> None:
    producer = AcknowledgedProducer(_config(broker.bootstrap).producer())
    for number in range(count):
        await producer.send(topic, f"k{number % 10}".encode(), str(number).encode())
    await producer.close(10)


def _abort(kafka: RealKafka, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"aborted", b"k")
    producer.flush(30)
    producer.abort_transaction(30)


def _produce_foreign(broker: TestBroker, topic: str, headers: list[tuple[bytes, bytes]], value: bytes) -> None:
    eventually(lambda: produce_raw(broker.bootstrap, topic, headers, value) == 0, what="a leader")


def _by_partition(records: list[Record]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in records:
        found.setdefault(record.partition, []).append(record.offset)
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_topic_is_read_from_end_to_end(broker: TestBroker, protocol: str) -> None:
    """Every record comes once, each partition in order, under either group protocol."""
    topic = broker.topic()
    await _write(broker, topic, 200)
    reader = TopicReader(_config(broker.bootstrap, group_protocol=protocol))
    records = list(reader.read(topic))
    assert sorted(int(record.value or b"") for record in records) == list(range(200))
    assert all(offsets == list(range(len(offsets))) for offsets in _by_partition(records).values())


async def test_the_end_is_where_the_topic_ended_at_the_start(broker: TestBroker) -> None:
    """A topic that is being written to is not read for ever."""
    topic = broker.topic()
    await _write(broker, topic, 50)
    values: list[bytes | None] = []
    async with aclosing(TopicReader(_config(broker.bootstrap)).stream(topic)) as records:
        async for record in records:
            if not values:
                await _write(broker, topic, 20)
            values.append(record.value)
    assert len(values) == 50


async def test_reading_commits_nothing(broker: TestBroker) -> None:
    """Looking changes nothing: two readings see the same, and no group is left behind."""
    topic = broker.topic()
    await _write(broker, topic, 5)
    reader = TopicReader(_config(broker.bootstrap))
    first, again = set(reader.read(topic)), set(reader.read(topic))
    assert len(first) == 5
    assert first == again


async def test_an_empty_topic_ends_at_once(broker: TestBroker) -> None:
    """Nothing to read is not a reason to wait."""
    reader = TopicReader(_config(broker.bootstrap))
    topic = broker.topic()
    assert list(reader.read(topic)) == []
    assert [record async for record in reader.stream(topic)] == []


async def test_a_reading_may_be_left(broker: TestBroker) -> None:
    """Whoever has seen enough closes the stream, and the client ends with it."""
    topic = broker.topic()
    await _write(broker, topic, 20)
    async with aclosing(TopicReader(_config(broker.bootstrap)).stream(topic)) as records:
        async for record in records:
            assert record.topic == topic
            break


async def test_reading_from_a_time(real_kafka: RealKafka) -> None:
    """Only what is as young as the time is read; partitions without such records give none."""
    topic = real_kafka.fresh_topic()
    await _write(real_kafka, topic, 20)
    reader = TopicReader(_config(real_kafka.bootstrap))
    newest = max(record.timestamp_ms or 0 for record in reader.read(topic))
    assert list(reader.read(topic, since_ms=newest + 1)) == []
    young = [record async for record in reader.stream(topic, newest)]
    assert young
    assert all((record.timestamp_ms or 0) >= newest for record in young)
    assert len(list(reader.read(topic, since_ms=0))) == 20


async def test_ranges_are_read_and_nothing_else(broker: TestBroker) -> None:
    """Each partition gives what lies in its range, the end left out; one without a range gives nothing."""
    topic = broker.topic()
    for partition in (0, 1, 2, 3):
        for _ in range(6):
            broker.send(topic, None, b"v", partition=partition)
    reader = TopicReader(_config(broker.bootstrap))
    ranges = {0: (2, 4), 1: (4, 100), 2: (3, 3), 7: (0, 5)}
    records = [record async for record in reader.stream_ranges(topic, ranges)]
    assert _by_partition(records) == {0: [2, 3], 1: [4, 5]}
    assert [record async for record in reader.stream_ranges(topic, {})] == []


async def test_a_range_begins_where_the_partition_does(real_kafka: RealKafka) -> None:
    """What retention has deleted is left out, and the rest of the range is read."""
    topic = real_kafka.fresh_topic(partitions=1)
    for _ in range(6):
        real_kafka.send(topic, None, b"v")
    place = TopicPartition(topic, 0, 3)
    real_kafka.admin.delete_records([place])[place].result(10)
    reader = TopicReader(_config(real_kafka.bootstrap))
    records = [record async for record in reader.stream_ranges(topic, {0: (1, 5)})]
    assert [record.offset for record in records] == [3, 4]


async def test_a_hole_at_the_end_of_a_range_is_no_hang(real_kafka: RealKafka) -> None:
    """The last offset of a range may have no record (here one that was aborted), with and without others behind it."""
    topic = real_kafka.fresh_topic(partitions=1)
    real_kafka.send(topic, b"k", b"before")
    _abort(real_kafka, topic)
    reader = TopicReader(_config(real_kafka.bootstrap))
    assert [record.value async for record in reader.stream_ranges(topic, {0: (0, 2)})] == [b"before"]
    real_kafka.send(topic, b"k", b"behind")
    assert [record.value async for record in reader.stream_ranges(topic, {0: (0, 2)})] == [b"before"]


async def test_a_hole_at_the_end_is_no_hang(real_kafka: RealKafka) -> None:
    """The last offset may have no record (here a transaction's marker); the reading ends all the same."""
    topic = real_kafka.fresh_topic(partitions=1)
    _abort(real_kafka, topic)
    reader = TopicReader(_config(real_kafka.bootstrap))
    assert list(reader.read(topic)) == []
    real_kafka.send(topic, b"k", b"v")
    assert [record.value for record in reader.read(topic)] == [b"v"]


def test_foreign_header_names_do_not_stop_the_reader(broker: TestBroker) -> None:
    """A header name that is no UTF-8 reaches a topic from other clients; it is said, and the next record is read."""
    topic = broker.topic()
    _produce_foreign(broker, topic, [(b"ok", b"1"), (b"\xff\xfe", b"2")], b"foreign")
    _produce_foreign(broker, topic, [(b"ok", b"1")], b"next")
    foreign, record = sorted(TopicReader(_config(broker.bootstrap)).read(topic), key=lambda record: record.offset)
    assert (foreign.value, foreign.headers, foreign.unreadable_headers) == (b"foreign", (), True)
    assert (record.value, record.headers, record.unreadable_headers) == (b"next", (("ok", b"1"),), False)


async def test_a_missing_topic_is_named(broker: TestBroker) -> None:
    """Reading what does not exist is an error that names it, and makes no topic."""
    reader = TopicReader(_config(broker.bootstrap))
    with pytest.raises(TopicMissingError) as missing:
        list(reader.read("no-such-topic"))
    assert missing.value.topic == "no-such-topic"
    assert "no-such-topic" not in broker.partitions_by_topic()


async def test_a_broker_that_is_away_is_named() -> None:
    """Reading ends in the time that was given, and the error names the address."""
    bootstrap = f"127.0.0.1:{free_port()}"
    with pytest.raises(BrokerUnreachableError) as away:
        [record async for record in TopicReader(_config(bootstrap), timeout_seconds=0.5).stream("t")]
    assert away.value.bootstrap == bootstrap
