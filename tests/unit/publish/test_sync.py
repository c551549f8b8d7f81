from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hookline.contract import Event
from hookline.kafka import ClientConfig, DeliveryTimeoutError, ErrorKind
from hookline.publish import EventNotPublishedError, PublishError, SyncHookPublisher
from tests.unit.publish.fakes import FakeProducer

_CONFIG = ClientConfig(common={"bootstrap.servers": "127.0.0.1:1"})


def _event(subject: str) -> Event:
    return Event.versioned(source="s", type="t", subject=subject, version=1)


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("hookline-")}


def test_a_publish_blocks_until_it_is_confirmed() -> None:
    """The synchronous front returns what the asynchronous one returns (P2)."""
    producer = FakeProducer()
    with SyncHookPublisher(_CONFIG, "q", producer=producer) as publisher:
        assert publisher.publish(_event("a")).offset == 0
        assert [result.acknowledgement is not None for result in publisher.publish_many([_event("b")])] == [True]
    assert (producer.started, producer.closed) == (1, 1)


def test_errors_are_those_of_the_asynchronous_front() -> None:
    """A failed publish raises the same typed error, with its cause (P2)."""
    error = DeliveryTimeoutError("late", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)
    with SyncHookPublisher(_CONFIG, "q", producer=FakeProducer({b"a": error})) as publisher:
        with pytest.raises(EventNotPublishedError) as failed:
            publisher.publish(_event("a"))
        assert failed.value.__cause__ is error


def test_many_threads_share_a_publisher() -> None:
    """Every thread gets the confirmation of its own event."""
    producer = FakeProducer()
    with SyncHookPublisher(_CONFIG, "q", producer=producer) as publisher, ThreadPoolExecutor(4) as pool:
        offsets = list(pool.map(lambda number: publisher.publish(_event(f"s{number}")).offset, range(40)))
    assert sorted(offsets) == list(range(40))


def test_closing_leaves_no_thread() -> None:
    """The loop's thread ends with the publisher; one that was never used has none."""
    publisher = SyncHookPublisher(_CONFIG, "q", producer=FakeProducer())
    assert not _threads()
    publisher.publish(_event("a"))
    assert _threads()
    publisher.close()
    publisher.close()
    assert not _threads()


def test_nothing_is_published_after_close() -> None:
    """A publisher that was closed raises, without a thread of its own."""
    publisher = SyncHookPublisher(_CONFIG, "q")
    publisher.close()
    with pytest.raises(PublishError):
        publisher.publish(_event("a"))
    assert not _threads()
