"""What is played: an outage under a steady load, and one before a backlog with a restart in the middle."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hookline import Event, HookPublisher

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.outage._receivers import Receiver
    from examples.outage._stage import Domain, Stage

DOWN: Final = "notify"
"""The hook whose receiver goes away; the others stay."""
_SUBJECTS: Final = 200
_LOOK_SECONDS: Final = 0.5
_ALL_SECONDS: Final = 300.0
_QUANTILE: Final = 0.99


@dataclass
class Watch:
    """What is looked at all the time: the most events that waited for each hook, and memory."""

    held: dict[str, float] = field(default_factory=dict)
    memory_mib: list[float] = field(default_factory=list)

    async def run(self, stage: Stage) -> None:
        """Look until cancelled."""
        while True:
            self.memory_mib.append(stage.memory_mib())
            for hook, count in (await stage.waiting()).items():
                self.held[hook] = max(self.held.get(hook, 0.0), count)
            await asyncio.sleep(_LOOK_SECONDS)


@dataclass
class Play:
    """A stage, its receivers, and when each event was published."""

    domain: Domain
    stage: Stage
    receivers: Mapping[str, Receiver]
    watch: Watch = field(default_factory=Watch)
    published_at: dict[str, float] = field(default_factory=dict)
    _versions: int = 0

    async def publish_steadily(self, publisher: HookPublisher, seconds: float, rate: float) -> list[str]:
        """Publish at a rate, each event at its own time; gives their ids."""
        began, ids, sent = time.monotonic(), list[str](), list[asyncio.Task[object]]()
        for number in range(int(seconds * rate)):
            await asyncio.sleep(max(began + number / rate - time.monotonic(), 0.0))
            event = self._event()
            ids.append(event.id)
            sent.append(asyncio.create_task(publisher.publish(event)))
        await asyncio.gather(*sent)
        return ids

    async def publish_at_once(self, publisher: HookPublisher, count: int) -> list[str]:
        """Publish a backlog; gives the ids."""
        events = [self._event() for _ in range(count)]
        results = await publisher.publish_many(events)
        for result in results:
            if result.error is not None:
                raise result.error
        return [event.id for event in events]

    async def wait_until_all_are_taken(self) -> None:
        """Wait until every receiver has every event, or until nothing moves any more."""
        taken, moved_at = -1, time.monotonic()
        while taken < len(self.published_at) * len(self.receivers) and time.monotonic() - moved_at < _ALL_SECONDS:
            now_taken = sum(len(receiver.taken_at) for receiver in self.receivers.values())
            if now_taken != taken:
                taken, moved_at = now_taken, time.monotonic()
            await asyncio.sleep(_LOOK_SECONDS)

    def p99_seconds(self, hook: str, ids: list[str]) -> float:
        """Tell the p99 of the time from publishing to the receiver."""
        taken_at = self.receivers[hook].taken_at
        times = sorted(taken_at[id] - self.published_at[id] for id in ids if id in taken_at)
        return times[min(int(len(times) * _QUANTILE), len(times) - 1)] if times else float("nan")

    def _event(self) -> Event:
        number = len(self.published_at)
        subject = f"batch-{number % _SUBJECTS}"
        version = 1 + number // _SUBJECTS
        payload = {"batch_id": subject, "error": "merge conflict"}
        event = Event.versioned(
            source="submitqueue", type="batch.failed", subject=subject, version=version, payload=payload
        )
        self.published_at[event.id] = time.time()
        return event
