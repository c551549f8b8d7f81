from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def embedded_bootstrap() -> Iterator[str]:
    """Run an embedded broker and give its address."""
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "", "log_level": 0})
    (broker,) = cluster.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del cluster
