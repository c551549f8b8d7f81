"""What hookline adds to the bare client for each record: message to `Record`, and record to `Event`.

On messages that were consumed, from the embedded broker, since the client makes key, value and headers when they are
first asked for. All in one run, alternated, the median of the rounds in CPU time of this thread; the ratio is what
counts, the times depend on the machine.

    python -m benchmarks.codec
"""

from __future__ import annotations

import statistics
import time
import uuid
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import Consumer, Message, Producer

from benchmarks.events import make_events, uniform_subjects
from hookline.contract import HookEvent, Redrive, decode_delivery, decode_record
from hookline.kafka import EmbeddedBroker, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.contract import Event
    from hookline.kafka import ClientConfig

EVENTS = 10_000
SUBJECTS = 1_000
ROUNDS = 7
TOPIC = "orders-hook"
PATIENCE_SECONDS = 30.0

_Item = TypeVar("_Item")


def main() -> None:
    """Measure and print."""
    with EmbeddedBroker() as broker:
        config = broker.client_config()
        _write(broker.bootstrap)
        rounds = [_round(config) for _ in range(ROUNDS)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, micros in medians.items():
        print(f"{name:<24}{micros:>8.2f} us a record")
    print(f"{'bare / hookline':<24}{medians['bare'] / medians['hookline']:>8.2f}")


def _round(config: ClientConfig) -> dict[str, float]:
    bare = _micros(_read_bare, _consume(config))
    hookline = _micros(_read_ours, _consume(config))
    messages = _consume(config)
    from_message = _micros(Record.from_message, messages)
    records = [Record.from_message(message) for message in messages]
    return {
        "bare": bare,
        "hookline": hookline,
        "of it from_message": from_message,
        "decode_delivery": _micros(lambda record: decode_delivery(record.key, record.value, record.headers), records),
        "decode_record": _micros(lambda record: decode_record(record.key, record.value, record.headers), records),
        "Redrive.from_headers": _micros(lambda record: Redrive.from_headers(record.headers), records),
    }


def _read_bare(message: Message) -> tuple[object, ...]:
    assert message.error() is None
    event = HookEvent.FromString(message.value() or b"")
    return event.id, event.source, event.type, message.headers(), message.key()


def _read_ours(message: Message) -> tuple[Event, Redrive | None]:
    record = Record.from_message(message)
    return decode_delivery(record.key, record.value, record.headers)


def _micros(work: Callable[[_Item], object], items: Sequence[_Item]) -> float:
    began = time.thread_time()
    for item in items:
        work(item)
    return (time.thread_time() - began) / len(items) * 1e6


def _write(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for made in make_events(uniform_subjects(EVENTS, SUBJECTS)):
        producer.produce(TOPIC, made.value, made.key, headers=list(made.headers))
    assert producer.flush(PATIENCE_SECONDS) == 0


def _consume(config: ClientConfig) -> list[Message]:
    consumer = Consumer(config.consumer(uuid.uuid4().hex))
    consumer.subscribe([TOPIC])
    messages: list[Message] = []
    until = time.monotonic() + PATIENCE_SECONDS
    while len(messages) < EVENTS and time.monotonic() < until:
        messages += consumer.consume(EVENTS - len(messages), 0.2)
    consumer.close()
    assert len(messages) == EVENTS
    return messages


if __name__ == "__main__":
    main()
