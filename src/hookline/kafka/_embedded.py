"""librdkafka's mock cluster as a broker for the demo and for fast tests. It is not a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from confluent_kafka import Producer

from ._settings import ClientConfig

if TYPE_CHECKING:
    from types import TracebackType

_START_SECONDS = 10.0
_CLUSTER_ID = "mockCluster"


class EmbeddedBroker:
    """A broker inside this process, on a loopback port, gone with it. A context manager.

    Other processes can join it by `bootstrap`. Topics have 4 partitions and come to be by `create_topics`, or when a
    client that asks for it (as those of `client_config` do) produces to them. Data stays in memory, about 5 MB a
    partition, the oldest dropped. CreateTopics and DescribeConfigs are never answered: do not call them here.
    """

    def __init__(self, brokers: int = 1) -> None:
        self._brokers = brokers
        self._cluster: Producer | None = None
        self._bootstrap = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`; empty unless running."""
        return self._bootstrap

    def start(self) -> None:
        """Start the broker, once."""
        if self._cluster is not None:
            return
        self._cluster = Producer({"bootstrap.servers": "", "test.mock.num.brokers": self._brokers, "log_level": 0})
        found = self._cluster.list_topics(timeout=_START_SECONDS).brokers.values()
        self._bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def stop(self) -> None:
        """Stop the broker and forget its data. Safe to repeat."""
        self._cluster = None
        self._bootstrap = ""

    def create_topics(self, *names: str) -> None:
        """Make topics of 4 partitions; those that exist stay as they are."""
        if self._cluster is None:
            raise RuntimeError("the embedded broker is not running")
        for name in names:
            self._cluster.list_topics(name, timeout=_START_SECONDS)

    def client_config(self) -> ClientConfig:
        """Make settings for clients of this broker."""
        return ClientConfig(common={"bootstrap.servers": self._bootstrap, "allow.auto.create.topics": True})


def is_embedded(cluster_id: str | None) -> bool:
    """Tell by its cluster's id whether a broker is embedded in some process."""
    return cluster_id is not None and cluster_id.startswith(_CLUSTER_ID)
