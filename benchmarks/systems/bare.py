"""The bare client: `consume` in batches, decode, read three fields, the headers and the key; tuned as hookline's consumer."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Message

from benchmarks.journal import write_journal
from benchmarks.task import Stopwatch, Task, say
from hookline.contract import HookEvent
from hookline.kafka import ClientConfig

_BATCH = 1_000


def main() -> None:
    """Read the backlog, or with a journal poll one by one and note when each event is in hand."""
    task = Task.from_arguments()
    options = ClientConfig(common={"bootstrap.servers": task.bootstrap}).consumer(task.group)
    consumer = Consumer(options)
    consumer.subscribe([task.topic], on_assign=lambda *_: say({"ready": True}))
    result = _timed(consumer, task) if task.journal else _backlog(consumer, task)
    consumer.close()
    say(result)


def _backlog(consumer: Consumer, task: Task) -> dict[str, object]:
    watch, left = Stopwatch(), task.events
    while left > 0:
        # Never waits for a batch to fill: consume(n, t) would, at the end for the whole of t.
        messages = consumer.consume(_BATCH, 0) or [each for each in (consumer.poll(0.1),) if each is not None]
        if messages and not watch.running:
            watch.start()
        for message in messages:
            _read(message)
        left -= len(messages)
    watch.stop()
    return watch.result("bare", task.events - left)


def _read(message: Message) -> tuple[object, ...]:
    event = HookEvent.FromString(_value(message))
    return event.id, event.source, event.type, message.headers(), message.key()


def _timed(consumer: Consumer, task: Task) -> dict[str, object]:
    watch, left = Stopwatch(), task.events
    seen: list[tuple[str, int, float]] = []
    while left > 0:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if not watch.running:
            watch.start()
        event = HookEvent.FromString(_value(message))
        _ = event.id, event.source, event.type, message.headers()
        key = message.key()
        seen.append(((key or b"").decode(), event.version, time.monotonic()))
        left -= 1
    watch.stop()
    write_journal(task.journal, seen)
    return watch.result("bare", task.events)


def _value(message: Message) -> bytes:
    error = message.error()
    if error is not None:
        raise RuntimeError(str(error))
    return message.value() or b""


if __name__ == "__main__":
    main()
