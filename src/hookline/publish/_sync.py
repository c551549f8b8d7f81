"""The thin synchronous front of the publisher."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from hookline.kafka import ForkedClientError

from ._publisher import HookPublisher

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from types import TracebackType

    from hookline.contract import Event
    from hookline.kafka import Acknowledgement, ClientConfig
    from hookline.telemetry import Metrics

    from ._publisher import Producer, PublisherSettings, PublishResult
    from ._registry import TopicRegistry

_T = TypeVar("_T")


class SyncHookPublisher:
    """`HookPublisher` for code without an event loop: the same arguments, methods and errors, but blocking.

    Safe for many threads; their events share batches. It runs a loop on a thread of its own from the first use until
    `close`. Not for use on an event loop, which it would block.
    """

    def __init__(
        self,
        client_config: ClientConfig,
        topic: str | TopicRegistry,
        *,
        metrics: Metrics | None = None,
        producer: Producer | None = None,
    ) -> None:
        self._publisher = HookPublisher(client_config, topic, metrics=metrics, producer=producer)
        self._thread: _LoopThread | None = None
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: PublisherSettings, *, metrics: Metrics | None = None) -> Self:
        """Make a publisher for the domain that the settings describe."""
        return cls(settings.client_config(), settings.hook_topic(), metrics=metrics)

    @property
    def topic(self) -> str:
        """The topic published to."""
        return self._publisher.topic

    def __enter__(self) -> Self:
        self._run(self._publisher.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check(self, timeout_seconds: float = 10.0) -> None:
        """Find out whether the broker answers and the topic exists, as `HookPublisher.check` does."""
        self._run(lambda: self._publisher.check(timeout_seconds))

    def publish(self, event: Event) -> Acknowledgement:
        """Publish an event; return where it lies, after the broker's confirmation, or raise PublishError."""
        return self._run(lambda: self._publisher.publish(event))

    def publish_many(self, events: Iterable[Event]) -> list[PublishResult]:
        """Publish events together; tell for each, in the order given, what became of it."""
        return self._run(lambda: self._publisher.publish_many(events))

    def close(self, timeout_seconds: float = 10.0) -> int:
        """Wait for what is outstanding and end. Tells how many events stayed unconfirmed. Safe to repeat."""
        unconfirmed = self._run(lambda: self._publisher.close(timeout_seconds))
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread is not None:
            thread.stop()
        return unconfirmed

    def _run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = _LoopThread()
            thread = self._thread
        # Once closed, the producer refuses at once: no thread is needed to say so.
        return asyncio.run(work()) if thread is None else thread.run(work)


class _LoopThread:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hookline-publisher", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        if self._pid != os.getpid():
            raise ForkedClientError("this publisher was used before the fork; make one in the child")
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
