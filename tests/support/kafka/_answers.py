from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ._errors import KafkaStartError

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_SECONDS = 90.0


def answers(bootstrap: str, seconds: float) -> bool:
    """Whether a broker there tells its metadata within so many seconds."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 250})
    try:
        return bool(client.list_topics(timeout=seconds).brokers)
    except KafkaException:
        return False


def wait_until_it_answers(bootstrap: str, ended: Callable[[], bool], log: Callable[[], str]) -> None:
    """Return when the broker answers; raise KafkaStartError with its log when it ended or takes too long."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not answers(bootstrap, seconds=1):
        if ended():
            raise KafkaStartError(f"Kafka ended while it started {log()}")
        if time.monotonic() > deadline:
            raise KafkaStartError(f"Kafka at {bootstrap} did not answer within {_PATIENCE_SECONDS:g} s {log()}")
