from __future__ import annotations

import contextlib
import os
import uuid
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from tests.support.waiting import eventually

from ._answers import answers
from ._container import container_kafka
from ._errors import KafkaStartError, NoKafkaError
from ._local import local_kafka
from ._settings import KAFKA_VERSION
from ._topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ADMIN_SECONDS = 30


class RealKafka(Topics):
    """A real Kafka: where it is, how it was got, and what a test does to its topics from outside."""

    def __init__(self, bootstrap: str, *, version: str, how: str) -> None:
        super().__init__(bootstrap)
        self.version = version
        self.how = how
        self._created: list[str] = []

    def __str__(self) -> str:
        """Name the broker as the summary of a test run does."""
        return f"Apache Kafka {self.version} {self.how} at {self.bootstrap}"

    def create_topic(self, name: str, partitions: int = 4, **config: str | int) -> str:
        """Create a topic and wait until clients see it; config by names with _ for the dot (retention_ms=1000)."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        request = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        self.admin.create_topics([request])[name].result(_ADMIN_SECONDS)
        self._created.append(name)
        eventually(lambda: self._is_led(name, partitions), _ADMIN_SECONDS, what=f"topic {name} seen")
        return name

    def fresh_topic(self, partitions: int = 4, **config: str | int) -> str:
        """Create a topic of a name that nobody used."""
        return self.create_topic(f"test-{uuid.uuid4().hex[:12]}", partitions, **config)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until clients see it no more."""
        self.admin.delete_topics([name])[name].result(_ADMIN_SECONDS)
        self._created.remove(name)
        eventually(lambda: name not in self.partitions_by_topic(), _ADMIN_SECONDS, what=f"topic {name} gone")

    def delete_created_topics(self) -> None:
        """Delete what was created through this object, as far as it is still there."""
        if self._created:
            for future in self.admin.delete_topics(self._created).values():
                with contextlib.suppress(KafkaException):
                    future.result(_ADMIN_SECONDS)

    def _is_led(self, name: str, partitions: int) -> bool:
        topic = self.admin.list_topics(timeout=_ADMIN_SECONDS).topics.get(name)
        led = [] if topic is None else [p for p in topic.partitions.values() if p.leader >= 0]
        return len(led) == partitions


@contextlib.contextmanager
def real_kafka() -> Iterator[RealKafka]:
    """Find or start a real Kafka; what was started, or created through it on a found one, is gone afterwards."""
    with contextlib.ExitStack() as stack:
        yield _given(stack) or _started(stack)


def _given(stack: contextlib.ExitStack) -> RealKafka | None:
    bootstrap = os.environ.get("HOOKLINE_TEST_BOOTSTRAP")
    if not bootstrap:
        return None
    if not answers(bootstrap, seconds=20):
        raise KafkaStartError(f"HOOKLINE_TEST_BOOTSTRAP names {bootstrap}, where no Kafka answers")
    version = os.environ.get("HOOKLINE_TEST_KAFKA_VERSION", "of unknown version")
    kafka = RealKafka(bootstrap, version=version, how=os.environ.get("HOOKLINE_TEST_KAFKA_HOW", "given by name"))
    stack.callback(kafka.delete_created_topics)
    return kafka


def _started(stack: contextlib.ExitStack) -> RealKafka:
    ways: list[tuple[Callable[[], contextlib.AbstractContextManager[str]], str]] = [
        (container_kafka, "in a container"),
        (local_kafka, "from Maven Central"),
    ]
    missing = ["HOOKLINE_TEST_BOOTSTRAP is not set"]
    for start, how in ways:
        try:
            return RealKafka(stack.enter_context(start()), version=KAFKA_VERSION, how=how)
        except NoKafkaError as error:
            missing.append(str(error))
    raise NoKafkaError(f"no real Kafka: {'; '.join(missing)}")
