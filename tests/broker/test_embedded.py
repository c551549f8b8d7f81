"""The embedded broker: what it is for, and where it ends."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookline.kafka import AcknowledgedProducer, ClientConfig, EmbeddedBroker, TopicReader, describe_topics
from tests.support.kafka import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def test_it_has_an_address_while_it_runs() -> None:
    """The address is there for other processes from start to stop; both may be repeated."""
    broker = EmbeddedBroker()
    assert broker.bootstrap == ""
    broker.start()
    address = broker.bootstrap
    broker.start()
    assert broker.bootstrap == address
    assert address.startswith("127.0.0.1:")
    broker.stop()
    broker.stop()
    assert broker.bootstrap == ""


def test_several_brokers_are_all_named() -> None:
    """A client that loses one broker can ask another."""
    with EmbeddedBroker(brokers=3) as broker:
        assert len(broker.bootstrap.split(",")) == 3


def test_topics_are_made_with_four_partitions_and_kept(embedded: EmbeddedBroker) -> None:
    """Making a topic that exists changes nothing, and its records stay."""
    embedded.create_topics("kept")
    Topics(embedded.bootstrap).send("kept", b"k", b"v")
    embedded.create_topics("kept", "other")
    found = describe_topics(embedded.client_config(), ["kept", "other"])
    assert [found[name].partitions for name in ("kept", "other")] == [4, 4]
    assert len(Topics(embedded.bootstrap).read("kept")) == 1


def test_topics_need_a_running_broker() -> None:
    """A broker that is not running says so."""
    with pytest.raises(RuntimeError):
        EmbeddedBroker().create_topics("t")


def test_describing_makes_no_topic(embedded: EmbeddedBroker) -> None:
    """Looking for a topic does not make it, although the clients of this broker may."""
    assert describe_topics(embedded.client_config(), ["looked-for"]) == {}
    assert "looked-for" not in Topics(embedded.bootstrap).partitions_by_topic()


async def test_its_clients_make_topics_by_producing(embedded: EmbeddedBroker) -> None:
    """A demo needs no topics first; any other client does."""
    producer = AcknowledgedProducer(embedded.client_config().producer())
    assert (await producer.send("made-by-producing", b"k", b"v")).topic == "made-by-producing"
    assert await producer.close(5) == 0


def test_another_process_joins_it(embedded: EmbeddedBroker) -> None:
    """A publisher in another process reaches it by its address."""
    embedded.create_topics("joined")
    program = f"""
import asyncio
from hookline.kafka import AcknowledgedProducer, ClientConfig
async def main():
    producer = AcknowledgedProducer(ClientConfig(common={{"bootstrap.servers": "{embedded.bootstrap}"}}).producer())
    await producer.send("joined", b"k", b"from outside")
    print(await producer.close(5))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "0"
    assert [record.value for record in Topics(embedded.bootstrap).read("joined")] == [b"from outside"]


def test_its_clients_refuse_what_all_clients_refuse(embedded: EmbeddedBroker) -> None:
    """The demo runs on the settings of the real thing."""
    options, plain = embedded.client_config().producer(), ClientConfig(common={"bootstrap.servers": "h:1"}).producer()
    assert {key for key in plain if key not in {"logger", "error_cb"} and options[key] != plain[key]} == {
        "bootstrap.servers",
        "allow.auto.create.topics",
    }


def test_a_topic_is_read_from_a_time(embedded: EmbeddedBroker) -> None:
    """This broker does not answer for times, so the reader looks at each record's own."""
    embedded.create_topics("timed")
    topics = Topics(embedded.bootstrap)
    topics.send("timed", b"k", b"v")
    (record,) = TopicReader(embedded.client_config()).read("timed")
    assert record.timestamp_ms is not None
    reader = TopicReader(embedded.client_config())
    assert [found.value for found in reader.read("timed", since_ms=record.timestamp_ms)] == [b"v"]
    assert list(reader.read("timed", since_ms=record.timestamp_ms + 1)) == []
