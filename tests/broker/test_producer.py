"""The acknowledged producer against a broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from hookline.kafka import (
    AcknowledgedProducer,
    BrokerUnreachableError,
    ClientConfig,
    DeliveryTimeoutError,
    InvalidRecordError,
    ProducerClosedError,
    QueueFullError,
    RecordTooLargeError,
    UnconfirmedError,
    UnknownTopicError,
    describe_topics,
)
from tests.support.ports import free_port
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.contract import Headers
    from hookline.kafka import Options
    from tests.support.kafka import RealKafka, TestBroker


def _producer(bootstrap: str, **options: str | int) -> AcknowledgedProducer:
    named: Options = {name.replace("_", "."): value for name, value in options.items()}
    return AcknowledgedProducer(ClientConfig(common={"bootstrap.servers": bootstrap}, producer=named).producer())


@pytest.fixture
async def producer(broker: TestBroker) -> AsyncIterator[AcknowledgedProducer]:
    producer = _producer(broker.bootstrap)
    yield producer
    await producer.close(10)


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (b"", b"", ()),
        (None, None, (("a", None),)),
        (b"\xff\xfe", b"\x00\xff", (("a", b"1"), ("b", b""), ("a", None), ("a", b"\xff"), ("é", b"2"), ("", b"3"))),
    ],
)
async def test_a_record_arrives_byte_for_byte(
    producer: AcknowledgedProducer, broker: TestBroker, key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    """Key, value and headers arrive with order, repeats and null-ness, where the confirmation says (P2, P14)."""
    topic = broker.topic()
    acknowledgement = await producer.send(topic, key, value, headers)
    (record,) = broker.read(topic)
    assert (record.key, record.value, record.headers) == (key, value, headers)
    assert (record.topic, record.partition, record.offset) == (
        acknowledgement.topic,
        acknowledgement.partition,
        acknowledgement.offset,
    )


async def test_sends_of_one_key_lie_in_the_order_of_the_calls(
    producer: AcknowledgedProducer, broker: TestBroker
) -> None:
    """Many sends at once share batches and keep the order of each key (P3)."""
    topic = broker.topic()
    keys = [f"k{number % 7}".encode() for number in range(2000)]
    sends = [producer.send(topic, key, str(number).encode()) for number, key in enumerate(keys)]
    await asyncio.gather(*sends)
    records = broker.read(topic)
    for key in set(keys):
        mine = [int(record.value or b"") for record in records if record.key == key]
        assert mine == [number for number, other in enumerate(keys) if other == key]


async def test_a_small_queue_holds_senders_back_and_loses_nothing(broker: TestBroker) -> None:
    """More sends than the local queue holds are all confirmed, in order (P1, P3)."""
    topic = broker.topic()
    producer = _producer(broker.bootstrap, queue_buffering_max_messages=10)
    await asyncio.gather(*(producer.send(topic, b"k", str(number).encode()) for number in range(300)))
    assert [record.value for record in broker.read(topic)] == [str(number).encode() for number in range(300)]
    assert await producer.close(10) == 0


async def test_a_given_partition_is_used(producer: AcknowledgedProducer, broker: TestBroker) -> None:
    """A partition that is asked for wins over the key; one that does not exist is a typed error."""
    topic = broker.topic()
    assert (await producer.send(topic, b"k", b"v", partition=3)).partition == 3
    with pytest.raises(UnknownTopicError):
        await producer.send(topic, b"k", b"v", partition=99)


async def test_a_record_above_the_clients_limit_is_a_typed_error(
    producer: AcknowledgedProducer, broker: TestBroker
) -> None:
    """A record that the client itself refuses has no report, and still raises (P2)."""
    topic = broker.topic()
    with pytest.raises(RecordTooLargeError) as refused:
        await producer.send(topic, b"k", b"x" * 2_000_000)
    assert not refused.value.retryable
    assert broker.read(topic) == []


async def test_a_missing_topic_is_named(broker: TestBroker) -> None:
    """A topic that does not exist is told by name, by the delivery report, and not made (P2)."""
    producer = _producer(broker.bootstrap, topic_metadata_propagation_max_ms=1000)
    with pytest.raises(UnknownTopicError) as missing:
        await producer.send("no-such-topic", b"k", b"v")
    assert "no-such-topic" in str(missing.value)
    assert missing.value.retryable
    assert "no-such-topic" not in broker.partitions_by_topic()
    assert await producer.close(5) == 0


async def test_one_large_record_does_not_take_its_neighbours_with_it(real_kafka: RealKafka) -> None:
    """The broker refuses a batch for its largest record; the small ones beside it are confirmed, each once (P1, P2)."""
    topic = real_kafka.fresh_topic(partitions=1, max_message_bytes=100_000)
    producer = _producer(real_kafka.bootstrap, linger_ms=200)
    values = [str(number).encode() for number in range(50)]
    values.insert(25, b"x" * 150_000)
    results = await asyncio.gather(*(producer.send(topic, b"k", value) for value in values), return_exceptions=True)
    assert [type(result) for result in results].count(RecordTooLargeError) == 1
    assert isinstance(results[25], RecordTooLargeError)
    assert sorted(record.value or b"" for record in real_kafka.read(topic)) == sorted(values[:25] + values[26:])
    assert await producer.close(10) == 0


async def test_a_record_that_the_topic_refuses_is_permanent(real_kafka: RealKafka) -> None:
    """A compacted topic takes no null key: that record can never be published."""
    topic = real_kafka.fresh_topic(partitions=1, cleanup_policy="compact")
    producer = _producer(real_kafka.bootstrap)
    with pytest.raises(InvalidRecordError) as refused:
        await producer.send(topic, None, b"v")
    assert not refused.value.retryable
    await producer.close(10)


async def test_a_broker_that_is_away_is_named() -> None:
    """Without a broker every send ends, in bounded time, and the error names the address (P2)."""
    bootstrap = f"127.0.0.1:{free_port()}"
    producer = _producer(bootstrap, delivery_timeout_ms=1000, queue_buffering_max_messages=5)
    sends = (producer.send("t", b"k", b"v") for _ in range(20))
    results = await asyncio.gather(*sends, return_exceptions=True)
    assert {type(result) for result in results} == {DeliveryTimeoutError, QueueFullError}
    assert bootstrap in str(results[0])
    assert await producer.close(5) == 0


async def test_closing_tells_what_was_not_confirmed() -> None:
    """Closing is bounded: what no broker confirmed is counted, and counts as not published (P2)."""
    producer = _producer(f"127.0.0.1:{free_port()}")
    send = asyncio.create_task(producer.send("t", b"k", b"v"))
    await eventually_async(lambda: producer.outstanding)
    assert await producer.close(0.1) == 1
    with pytest.raises(UnconfirmedError):
        await send
    with pytest.raises(ProducerClosedError):
        await producer.send("t", b"k", b"v")


def test_looking_for_topics_without_a_broker_ends() -> None:
    """The broker that is missing is named, in the time that was given."""
    bootstrap = f"127.0.0.1:{free_port()}"
    with pytest.raises(BrokerUnreachableError) as away:
        describe_topics(ClientConfig(common={"bootstrap.servers": bootstrap}), ["t"], timeout_seconds=0.5)
    assert bootstrap in str(away.value)


_FORKS = """
    import asyncio, os, sys
    from hookline.kafka import AcknowledgedProducer, EmbeddedBroker, ForkedClientError

    def in_child(producer):
        try:
            asyncio.run(producer.send("t", b"k", b"v"))
        except ForkedClientError:
            sys.exit(7)
        sys.exit(1)

    async def main(producer):
        await producer.send("t", b"k", b"v")

    with EmbeddedBroker() as broker:
        used = AcknowledgedProducer(broker.client_config().producer())
        unused = AcknowledgedProducer(broker.client_config().producer())
        asyncio.run(main(used))
        if (child := os.fork()) == 0:
            in_child(used)
        refused = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if (child := os.fork()) == 0:
            asyncio.run(main(unused))
            sys.exit(0)
        served = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        asyncio.run(main(used))
        print(refused, served)
"""


def test_a_producer_is_refused_in_a_child_of_the_process_that_used_it() -> None:
    """After a fork the used one says so, the child ends cleanly, and one made but not yet used works in the child."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(_FORKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split(), done.returncode) == (["7", "0"], 0), done.stderr
