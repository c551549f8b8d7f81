"""Arroyo: RunTask for hooks that do nothing; for those that wait its threads, which keep no order of subjects."""

from __future__ import annotations

import threading
import time
from typing import Any

# A peer: installed for the benchmarks only.
from arroyo.backends.kafka import (  # type: ignore[import-not-found]
    KafkaConsumer,
    KafkaPayload,
    build_kafka_consumer_configuration,
)
from arroyo.processing import StreamProcessor  # type: ignore[import-not-found]
from arroyo.processing.strategies import (  # type: ignore[import-not-found]
    CommitOffsets,
    ProcessingStrategyFactory,
    RunTask,
    RunTaskInThreads,
)
from arroyo.types import Message, Topic  # type: ignore[import-not-found]

from benchmarks.task import OrderCheck, Stopwatch, Task, say
from hookline.contract import HookEvent

_PENDING = 2_000


class Work:
    """Handles every message, from one thread or from many."""

    def __init__(self, task: Task) -> None:
        self.count = 0
        self.order = OrderCheck()
        self.watch = Stopwatch(task.stop_after_seconds)
        self.finish: Any = None
        self._task = task
        self._lock = threading.Lock()

    def handle(self, message: Message[KafkaPayload]) -> None:
        """Decode as the bare client does, wait, count."""
        if not self.watch.running:
            self.watch.start()
        payload = message.payload
        event = HookEvent.FromString(payload.value)
        _ = event.id, event.source, event.type, payload.headers, payload.key
        if self._task.wait_seconds:
            with self._lock:
                self.order.begin(payload.key, event.version)
            time.sleep(self._task.wait_seconds)
            with self._lock:
                self.order.end(payload.key, event.version)
                self._counted()
        else:
            self._counted()

    def _counted(self) -> None:
        self.count += 1
        if self.count == self._task.events or self.watch.is_over():
            self.watch.stop()
            self.finish()


class Factory(ProcessingStrategyFactory[KafkaPayload]):  # type: ignore[misc] # untyped: see above
    """Makes the steps."""

    def __init__(self, task: Task, work: Work) -> None:
        self._task = task
        self._work = work

    def create_with_partitions(self, commit: Any, partitions: Any) -> Any:
        """Handle, then commit."""
        del partitions
        if not self._task.wait_seconds:
            return RunTask(self._work.handle, CommitOffsets(commit))
        return RunTaskInThreads(self._work.handle, self._task.slots, _PENDING, CommitOffsets(commit))


def main() -> None:
    """Run until all is handled or the time is over."""
    task = Task.from_arguments()
    work = Work(task)
    options = build_kafka_consumer_configuration({}, task.group, "earliest", bootstrap_servers=[task.bootstrap])
    processor = StreamProcessor(KafkaConsumer(options), Topic(task.topic), Factory(task, work), join_timeout=5.0)
    told = threading.Event()

    def finish() -> None:
        if not told.is_set():
            told.set()
            say(work.watch.result("arroyo", work.count, order_faults=work.order.faults))
            processor.signal_shutdown()

    work.finish = finish
    processor.run()


if __name__ == "__main__":
    main()
