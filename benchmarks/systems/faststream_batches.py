"""FastStream in its fastest form that is at-least-once: batches of 500, NACK_ON_ERROR.

Message by message it commits each one without waiting for the answer, and stalls after ten seconds.
"""

from __future__ import annotations

import asyncio
import logging

# A peer: installed for the benchmarks only.
from faststream import AckPolicy  # type: ignore[import-not-found]
from faststream.kafka import KafkaBroker, KafkaMessage  # type: ignore[import-not-found]

from benchmarks.task import Stopwatch, Task, say
from hookline.contract import HookEvent

_BATCH = 500


async def _main() -> None:
    task = Task.from_arguments()
    watch, done = Stopwatch(task.stop_after_seconds), asyncio.Event()
    count = 0
    broker = KafkaBroker(task.bootstrap, log_level=logging.ERROR)

    async def handle(message: KafkaMessage) -> None:
        nonlocal count
        if not watch.running:
            watch.start()
        for record in message.raw_message:
            event = HookEvent.FromString(record.value)
            _ = event.id, event.source, event.type, record.headers, record.key
        count += len(message.raw_message)
        if count >= task.events or watch.is_over():
            watch.stop()
            done.set()

    broker.subscriber(
        task.topic,
        group_id=task.group,
        batch=True,
        max_records=_BATCH,
        auto_offset_reset="earliest",
        ack_policy=AckPolicy.NACK_ON_ERROR,
        decoder=_keep_raw,
    )(handle)
    await broker.start()
    await done.wait()
    say(watch.result("faststream", count))
    await broker.stop()


async def _keep_raw(message: object) -> list[object]:
    del message
    return []


if __name__ == "__main__":
    asyncio.run(_main())
