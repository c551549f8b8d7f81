"""A producer of librdkafka as far as it is used; the test decides when and how each record ends."""

from __future__ import annotations

import queue
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.kafka._client import WrittenHeaders


@dataclass(frozen=True, slots=True)
class Queued:
    """A record on its way."""

    topic: str
    value: bytes | None
    key: bytes | None
    on_delivery: Callable[[KafkaError | None, Message], None]


class FakeClient:
    """Reports happen inside poll() and flush(), as librdkafka's do."""

    def __init__(self, options: dict[str, object], capacity: int | None = None) -> None:
        self.options = options
        self.capacity = capacity
        self.waiting: deque[Queued] = deque()
        self.seen: list[bytes | None] = []
        self.refusal: BaseException | None = None
        self._calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        *,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
        headers: WrittenHeaders | None = None,
    ) -> None:
        """Take a record, unless told otherwise."""
        if self.refusal is not None:
            raise self.refusal
        if self.capacity is not None and len(self.waiting) >= self.capacity:
            raise BufferError("full")
        assert on_delivery is not None
        assert headers is not None
        assert partition >= -1
        self.seen.append(value)
        self.waiting.append(Queued(topic, value, key, on_delivery))

    def poll(self, timeout: float) -> int:
        """Make at most one report."""
        try:
            self._calls.get(timeout=timeout)()
        except queue.Empty:
            return 0
        return 1

    def flush(self, timeout: float) -> int:
        """Make every report that is ready."""
        assert timeout >= 0
        while not self._calls.empty():
            self._calls.get()()
        return len(self.waiting)

    def purge(self, *, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Give up what is waiting."""
        assert in_queue
        assert in_flight
        assert blocking
        while self.waiting:
            self.fail(KafkaError._PURGE_QUEUE)

    def __len__(self) -> int:
        return len(self.waiting)

    def confirm(self, offset: int = 0) -> None:
        """Let the oldest record be confirmed."""
        record = self.waiting.popleft()
        message = Message(topic=record.topic, partition=0, offset=offset)
        self._calls.put(lambda: record.on_delivery(None, message))

    def fail(self, code: int, *, fatal: bool = False) -> None:
        """Let the oldest record fail."""
        record = self.waiting.popleft()
        message = Message(topic=record.topic)
        self._calls.put(lambda: record.on_delivery(KafkaError(code, "reported", fatal), message))

    def report_fault(self, error: KafkaError) -> None:
        """Let the client report a fault of itself."""
        error_cb = self.options["error_cb"]
        assert callable(error_cb)
        self._calls.put(lambda: error_cb(error))

    def call_back(self, callback: Callable[[], object]) -> None:
        """Let the next poll call this."""
        self._calls.put(callback)


class FakeCluster:
    """Makes clients, and remembers them in order."""

    def __init__(self, capacity: int | None = None, refusal: Exception | None = None) -> None:
        self.clients: list[FakeClient] = []
        self._capacity = capacity
        self._refusal = refusal

    def connect(self, options: dict[str, object]) -> FakeClient:
        """Make a client, or refuse to."""
        if self._refusal is not None:
            raise self._refusal
        self.clients.append(FakeClient(options, self._capacity))
        return self.clients[-1]
