"""The most that any engine could reach: the waits of the hooks alone, in bare asyncio tasks, without Kafka."""

from __future__ import annotations

import asyncio

from benchmarks.task import Stopwatch, Task, say


async def _main() -> None:
    task = Task.from_arguments()
    watch = Stopwatch()
    watch.start()
    if task.hottest:
        await _wait(task.hottest, task.wait_seconds)
    else:
        await asyncio.gather(*(_wait(task.events // task.subjects, task.wait_seconds) for _ in range(task.subjects)))
    watch.stop()
    say(watch.result("ceiling", task.events))


async def _wait(times: int, seconds: float) -> None:
    for _ in range(times):
        await asyncio.sleep(seconds)


if __name__ == "__main__":
    asyncio.run(_main())
