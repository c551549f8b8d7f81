"""pyrallel-consumer in its asyncio mode, ordered by key; in flight 1,000 where hooks do nothing, else the slots."""

from __future__ import annotations

import asyncio
import logging

# A peer: installed for the benchmarks only.
from pyrallel_consumer import (  # type: ignore[import-not-found]
    ExecutionConfig,
    ExecutionMode,
    KafkaConfig,
    OrderingMode,
    ParallelConsumerConfig,
    PyrallelConsumer,
    WorkItem,
)

from benchmarks.task import OrderCheck, Stopwatch, Task, say
from hookline.contract import HookEvent

_IN_FLIGHT = 1_000


async def _main() -> None:
    task = Task.from_arguments()
    logging.disable(logging.ERROR)
    watch, order, done = Stopwatch(task.stop_after_seconds), OrderCheck(), asyncio.Event()
    count = 0

    async def handle(item: WorkItem) -> None:
        nonlocal count
        if not watch.running:
            watch.start()
        event = HookEvent.FromString(item.payload)
        _ = event.id, event.source, event.type
        order.begin(item.key, event.version)
        if task.wait_seconds:
            await asyncio.sleep(task.wait_seconds)
        order.end(item.key, event.version)
        count += 1
        if not done.is_set() and (count == task.events or watch.is_over()):
            watch.stop()
            say(watch.result("pyrallel-consumer", count, order_faults=order.faults))
            done.set()

    in_flight = task.slots if task.wait_seconds else _IN_FLIGHT
    execution = ExecutionConfig(mode=ExecutionMode.ASYNC, max_in_flight=in_flight)
    parallel = ParallelConsumerConfig(ordering_mode=OrderingMode.KEY_HASH, execution=execution)
    config = KafkaConfig(
        BOOTSTRAP_SERVERS=[task.bootstrap],
        CONSUMER_GROUP=task.group,
        dlq_enabled=False,
        parallel_consumer=parallel,
    )
    consumer = PyrallelConsumer(config=config, worker=handle, topic=task.topic)
    await consumer.start()
    await done.wait()
    await consumer.stop()


if __name__ == "__main__":
    asyncio.run(_main())
