from __future__ import annotations

import asyncio
import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException

from hookline.kafka import (
    AcknowledgedProducer,
    Acknowledgement,
    DeliveryTimeoutError,
    FatalProducerError,
    InvalidClientConfigError,
    InvalidRecordError,
    NotAuthorizedError,
    ProduceError,
    ProducerClosedError,
    QueueFullError,
    RecordTooLargeError,
    UnconfirmedError,
)
from tests.support.waiting import eventually_async
from tests.unit.kafka.fakes import FakeClient, FakeCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CONFIG = {"bootstrap.servers": "h:1", "delivery.timeout.ms": 60_000}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
async def producer(cluster: FakeCluster) -> AsyncIterator[AcknowledgedProducer]:
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)
    yield producer
    await producer.close(0)


async def _first_client(cluster: FakeCluster) -> FakeClient:
    await eventually_async(lambda: cluster.clients)
    return cluster.clients[0]


async def _sending(
    producer: AcknowledgedProducer, cluster: FakeCluster, value: bytes = b"v"
) -> tuple[asyncio.Task[Acknowledgement], FakeClient]:
    task = asyncio.create_task(producer.send("t", b"k", value))
    client = await eventually_async(lambda: next((c for c in cluster.clients if c.waiting), None))
    return task, client


async def test_a_send_ends_with_its_report(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """A send is done when the broker has confirmed, not when the record was queued (P2)."""
    task, client = await _sending(producer, cluster)
    assert not task.done()
    client.confirm(offset=7)
    assert await task == Acknowledgement("t", 0, 7)


async def test_a_failed_report_is_raised(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """An error of the report reaches the sender as a typed error (P2)."""
    task, client = await _sending(producer, cluster)
    client.fail(KafkaError._MSG_TIMED_OUT)
    with pytest.raises(DeliveryTimeoutError) as failed:
        await task
    assert failed.value.retryable


async def test_an_error_of_the_client_itself_is_raised(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """produce() raises what never gets a report; it becomes a typed error too (P2)."""
    await producer.start()
    client = await _first_client(cluster)
    client.refusal = KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    with pytest.raises(RecordTooLargeError):
        await producer.send("t", b"k", b"v")
    assert len(cluster.clients) == 1


async def test_an_argument_of_the_wrong_type_is_a_typed_error(
    producer: AcknowledgedProducer, cluster: FakeCluster
) -> None:
    """Whatever the client says of an argument, the sender gets a ProduceError that is not retryable."""
    await producer.start()
    (await _first_client(cluster)).refusal = TypeError("a bytes-like object is required")
    with pytest.raises(InvalidRecordError) as refused:
        await producer.send("t", b"k", b"v")
    assert not refused.value.retryable


@pytest.mark.parametrize(
    "header", [("a\0b", b""), ("\ud800", b""), ("é\0", b""), ("a", bytearray(b"x")), ("a", 1), ("a", "text")]
)
async def test_a_header_that_would_change_on_the_way_is_refused(
    producer: AcknowledgedProducer, header: tuple[str, bytes]
) -> None:
    """The client cuts, converts or crashes on these, so they never reach it."""
    with pytest.raises(InvalidRecordError):
        await producer.send("t", b"k", b"v", [header])


async def test_a_full_queue_makes_senders_wait_in_order() -> None:
    """A full local queue is back-pressure: nothing is dropped, and nobody overtakes (P1, P3)."""
    cluster = FakeCluster(capacity=2)
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)
    values = [str(number).encode() for number in range(10)]
    tasks = [asyncio.create_task(producer.send("t", b"k", value)) for value in values]
    client = await _first_client(cluster)
    for _ in values:
        await eventually_async(lambda: client.waiting)
        client.confirm()
    await asyncio.gather(*tasks)
    assert client.seen == values
    await producer.close(0)


async def test_a_queue_that_stays_full_ends_in_a_typed_error() -> None:
    """Waiting for room is bounded by the delivery timeout; the record was then never sent."""
    cluster = FakeCluster(capacity=0)
    producer = AcknowledgedProducer({**_CONFIG, "delivery.timeout.ms": 50}, connect=cluster.connect)
    with pytest.raises(QueueFullError) as full:
        await producer.send("t", b"k", b"v")
    assert full.value.retryable
    await producer.close(0)


async def test_a_sender_that_waits_for_room_learns_of_the_close() -> None:
    """Closing does not leave anybody waiting for room in a queue that is gone."""
    cluster = FakeCluster(capacity=0)
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)
    tasks = [asyncio.create_task(producer.send("t", b"k", b"v")) for _ in range(3)]
    await _first_client(cluster)
    await producer.close(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results} == {ProducerClosedError}


async def test_a_cancelled_sender_does_not_disturb_the_others(
    producer: AcknowledgedProducer, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """A report for a sender that is gone is dropped silently; the next report arrives."""
    gone, client = await _sending(producer, cluster)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    client.confirm()
    task, _ = await _sending(producer, cluster)
    client.confirm(offset=8)
    assert (await task).offset == 8
    assert not caplog.records


def test_a_closed_loop_is_tolerated(cluster: FakeCluster) -> None:
    """Reports that outlive their loop are dropped, and the producer serves the next loop."""
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)

    async def leave() -> None:
        task, _ = await _sending(producer, cluster)
        task.cancel()

    async def go_on() -> int:
        task, _ = await _sending(producer, cluster)
        client.confirm(offset=9)
        offset = (await task).offset
        await producer.close(1)
        return offset

    asyncio.run(leave())
    (client,) = cluster.clients
    client.confirm()
    assert asyncio.run(go_on()) == 9


async def test_a_raising_callback_does_not_end_the_deliveries(
    producer: AcknowledgedProducer, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """What a callback raises inside poll() is logged, and reports still come."""

    def fail() -> None:
        raise RuntimeError("callback")

    task, client = await _sending(producer, cluster)
    with caplog.at_level(logging.ERROR):
        client.call_back(fail)
        client.confirm()
        await task
    assert len(caplog.records) == 1


async def test_a_fatal_error_fails_what_is_in_flight_and_the_client_is_replaced(
    producer: AcknowledgedProducer, cluster: FakeCluster
) -> None:
    """A broken client gives nobody a false answer, and the next send uses a new one."""
    flying, broken = await _sending(producer, cluster)
    broken.report_fault(KafkaError(KafkaError._FATAL, "epoch lost", True))
    with pytest.raises(FatalProducerError) as failed:
        await flying
    assert failed.value.retryable
    task, fresh = await _sending(producer, cluster)
    fresh.confirm(offset=3)
    assert (await task).offset == 3
    assert fresh is not broken
    assert cluster.clients == [broken, fresh]


async def test_a_fatal_report_replaces_the_client(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """The fatal state is also seen when a report is the first to tell."""
    task, broken = await _sending(producer, cluster)
    broken.fail(KafkaError.TOPIC_AUTHORIZATION_FAILED, fatal=True)
    with pytest.raises(FatalProducerError):
        await task
    again, fresh = await _sending(producer, cluster)
    fresh.confirm()
    await again
    assert fresh is not broken


async def test_a_refused_password_is_not_told_as_a_timeout(
    producer: AcknowledgedProducer, cluster: FakeCluster
) -> None:
    """Records time out when credentials are refused; the sender learns the reason."""
    task, client = await _sending(producer, cluster)
    client.report_fault(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication failed"))
    client.report_fault(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication failed"))
    client.fail(KafkaError._MSG_TIMED_OUT)
    with pytest.raises(NotAuthorizedError):
        await task


async def test_a_record_refused_with_its_batch_is_sent_again_alone(
    producer: AcknowledgedProducer, cluster: FakeCluster
) -> None:
    """The broker refuses a whole batch for its size: the innocent neighbour gets a second, lonely try."""
    task, client = await _sending(producer, cluster)
    client.fail(KafkaError.MSG_SIZE_TOO_LARGE)
    await eventually_async(lambda: len(cluster.clients) > 1 and cluster.clients[1].waiting)
    alone = cluster.clients[1]
    assert alone.options["batch.num.messages"] == 1
    alone.confirm(offset=5)
    assert (await task).offset == 5


async def test_a_record_refused_alone_is_too_large(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """Refused in a batch and alone, a record is too large itself."""
    task, client = await _sending(producer, cluster)
    client.fail(KafkaError.MSG_SIZE_TOO_LARGE)
    await eventually_async(lambda: len(cluster.clients) > 1 and cluster.clients[1].waiting)
    alone = cluster.clients[1]
    alone.fail(KafkaError.MSG_SIZE_TOO_LARGE)
    with pytest.raises(RecordTooLargeError):
        await task


async def test_close_counts_what_stays_unconfirmed(cluster: FakeCluster) -> None:
    """What nobody confirmed is counted, and its sender is told that it counts as not published."""
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)
    tasks = [asyncio.create_task(producer.send("t", b"k", b"v")) for _ in range(3)]
    client = await _first_client(cluster)
    await eventually_async(lambda: len(client.waiting) == 3)
    assert producer.outstanding == 3
    client.confirm()
    assert await producer.close(0) == 2
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [Acknowledgement, UnconfirmedError, UnconfirmedError]


async def test_close_is_idempotent_and_final(producer: AcknowledgedProducer) -> None:
    """Closing twice is closing once, and nothing is sent afterwards."""
    await producer.start()
    assert await producer.close(0) == 0
    assert await producer.close(0) == 0
    with pytest.raises(ProducerClosedError):
        await producer.send("t", b"k", b"v")


async def test_a_producer_that_never_sent_closes_at_once(producer: AcknowledgedProducer, cluster: FakeCluster) -> None:
    """The client is made by the first use, so that a producer may be made before a fork."""
    assert await producer.close(10) == 0
    assert cluster.clients == []


async def test_settings_that_make_no_client_are_told() -> None:
    """An option that librdkafka does not know is found at start, by a typed error."""
    cluster = FakeCluster(refusal=KafkaException(KafkaError(KafkaError._INVALID_ARG, "No such configuration property")))
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)
    with pytest.raises(InvalidClientConfigError):
        await producer.start()
    with pytest.raises(InvalidClientConfigError):
        await producer.send("t", b"k", b"v")
    assert await producer.close(0) == 0


async def test_whoever_stops_waiting_for_the_client_does_not_break_it(
    producer: AcknowledgedProducer, cluster: FakeCluster
) -> None:
    """A send that is cancelled while the client is being made leaves the client to the others."""
    impatient = asyncio.create_task(producer.start())
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    task, client = await _sending(producer, cluster)
    client.confirm(offset=4)
    assert (await task).offset == 4
    assert cluster.clients == [client]


def test_loops_on_several_threads_share_a_producer(cluster: FakeCluster) -> None:
    """Every loop gets the reports of its own sends, in the order that each queued them."""
    producer = AcknowledgedProducer(_CONFIG, connect=cluster.connect)

    async def send(name: str) -> list[Acknowledgement]:
        return [await producer.send(name, b"k", str(number).encode()) for number in range(20)]

    with ThreadPoolExecutor(2) as pool:
        loops = [pool.submit(asyncio.run, send(name)) for name in ("a", "b")]
        while not all(loop.done() for loop in loops):
            for client in cluster.clients:
                if client.waiting:
                    client.confirm()
        assert [{ack.topic for ack in loop.result()} for loop in loops] == [{"a"}, {"b"}]
    assert asyncio.run(producer.close(1)) == 0


async def test_many_failures_leave_nothing_unretrieved(
    producer: AcknowledgedProducer, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """An error for a sender that was cancelled is not reported as an exception nobody fetched."""
    tasks = [asyncio.create_task(producer.send("t", b"k", b"v")) for _ in range(5)]
    client = await _first_client(cluster)
    await eventually_async(lambda: len(client.waiting) == 5)
    for task in tasks[:4]:
        task.cancel()
    await asyncio.gather(*tasks[:4], return_exceptions=True)
    while client.waiting:
        client.fail(KafkaError._MSG_TIMED_OUT)
    with pytest.raises(ProduceError):
        await tasks[4]
    del tasks
    gc.collect()
    assert not caplog.records
