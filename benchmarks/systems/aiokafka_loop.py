"""aiokafka's `async for`, decoding as the bare client does: no order below the partition, no retries, no dead letters."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer  # type: ignore[import-not-found] # a peer: installed for the benchmarks only

from benchmarks.task import Stopwatch, Task, say
from hookline.contract import HookEvent


async def _main() -> None:
    task = Task.from_arguments()
    watch, count = Stopwatch(task.stop_after_seconds), 0
    consumer = AIOKafkaConsumer(
        task.topic,
        bootstrap_servers=task.bootstrap,
        group_id=task.group,
        auto_offset_reset="earliest",
        enable_auto_commit=True,
    )
    await consumer.start()
    async for message in consumer:
        if not watch.running:
            watch.start()
        event = HookEvent.FromString(message.value)
        _ = event.id, event.source, event.type, message.headers, message.key
        count += 1
        if count == task.events or watch.is_over():
            break
    watch.stop()
    say(watch.result("aiokafka", count))
    await consumer.stop()


if __name__ == "__main__":
    asyncio.run(_main())
