"""hookline as `hookline run` wires it, with hooks in code: validation, dedupe, metrics, health and log are all on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from benchmarks.events import zipf_subjects
from benchmarks.faults import Faults, plan_faults
from benchmarks.journal import Seen, write_journal
from benchmarks.task import OrderCheck, Stopwatch, Task, say
from hookline import Event, Hook, Hooks
from hookline.consume import Done, Observer
from hookline.contract import HookEvent
from hookline.service import Service, Settings, configure_service_logging, run_service

if TYPE_CHECKING:
    from hookline.consume import Delivery, Outcome

_DOMAIN = "bench"
_GAUGES_SECONDS = 1.5
_LOOK_SECONDS = 0.02


class Idle:
    """Does nothing."""

    def __init__(self, name: str, watch: Stopwatch) -> None:
        self.name = name
        self._watch = watch

    async def handle(self, event: Event) -> None:
        """Start the watch at the first event."""
        del event
        if not self._watch.running:
            self._watch.start()


class Waiting:
    """Waits as for an answer of a service, and holds what it sees against the order of subjects."""

    name = "waiting"

    def __init__(self, watch: Stopwatch, order: OrderCheck, wait_seconds: float) -> None:
        self._watch = watch
        self._order = order
        self._wait_seconds = wait_seconds

    async def handle(self, event: Event) -> None:
        """Wait."""
        if not self._watch.running:
            self._watch.start()
        subject, version = event.subject, event.version
        self._order.begin(subject, version)
        await asyncio.sleep(self._wait_seconds)
        self._order.end(subject, version)


class Noting:
    """Notes when each event is in hand."""

    name = "noting"

    def __init__(self, watch: Stopwatch, seen: list[Seen]) -> None:
        self._watch = watch
        self._seen = seen

    async def handle(self, event: Event) -> None:
        """Note it."""
        if not self._watch.running:
            self._watch.start()
        self._seen.append((event.subject, event.version, time.monotonic()))


class Failing:
    """Waits, then fails as planned: some events twice, one subject for ever because what it depends on is away."""

    name = "failing"

    def __init__(self, watch: Stopwatch, wait_seconds: float, faults: Faults | None) -> None:
        self._watch = watch
        self._wait_seconds = wait_seconds
        self._for_ever = "" if faults is None else faults.for_ever
        self._left = {} if faults is None else dict.fromkeys(faults.twice, 2)

    async def handle(self, event: Event) -> None:
        """Wait, then fail or not."""
        if not self._watch.running:
            self._watch.start()
        await asyncio.sleep(self._wait_seconds)
        if event.subject == self._for_ever:
            raise ConnectionRefusedError("its service is away")
        this = event.subject, event.version
        if self._left.get(this):
            self._left[this] -= 1
            raise TimeoutError("not this time")


class Count(Observer):
    """An observer that counts what is done, and tells when that is all."""

    def __init__(self, events: int, watch: Stopwatch) -> None:
        self.left = events
        self.done = asyncio.Event()
        self._watch = watch

    def started(self, delivery: Delivery) -> None:
        """Say nothing."""

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count."""
        del delivery, error
        if outcome.__class__ is Done:
            self.left -= 1
            if not self.left:
                self._watch.stop()
                self.done.set()


class TimedCount(Count):
    """Notes besides when each event was settled."""

    def __init__(self, events: int, watch: Stopwatch, seen: list[Seen]) -> None:
        super().__init__(events, watch)
        self._seen = seen

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count, and note the time."""
        if isinstance(outcome, Done):
            record = delivery.record
            version = HookEvent.FromString(record.value or b"").version
            self._seen.append(((record.key or b"").decode(), version, time.monotonic()))
        super().ended(delivery, outcome, error)


class Run:
    """One run: what its task needs, wired together."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.watch = Stopwatch()
        self.order = OrderCheck()
        self.seen: list[Seen] = []
        self._faults = plan_faults(zipf_subjects(task.events, task.subjects)) if task.faulty else None
        self.count = self._make_count()
        settings = _settings(task)
        configure_service_logging(settings)
        self.service = Service(settings, Hooks({"*": self._make_hooks()}), observers=[self.count])

    async def measure(self) -> dict[str, Any]:
        """Serve until everything is done, and tell how it went."""
        await self.service.start()
        while not self.service.ready():  # noqa: ASYNC110 - nobody tells when it is
            await asyncio.sleep(_LOOK_SECONDS)
        say({"ready": True})
        broken = asyncio.create_task(self.service.wait())
        finished = asyncio.create_task(self.count.done.wait())
        await asyncio.wait((broken, finished), return_when=asyncio.FIRST_COMPLETED)
        if not finished.done():
            broken.result()
        more = await self._lanes() if self.task.tell_lanes else {}
        broken.cancel()
        await self.service.stop()
        if self.task.journal:
            write_journal(self.task.journal, self.seen)
        return self.watch.result("ours", self._expected(), wrong=self._wrong(), **more)

    async def _lanes(self) -> dict[str, float]:
        await asyncio.sleep(_GAUGES_SECONDS)  # they are written every second
        return {"lanes": self._metric("lanes", group=f"{_DOMAIN}-hook")}

    def _expected(self) -> int:
        """Tell how many events are done in the end."""
        if self._faults is None:
            return self.task.events
        named = zipf_subjects(self.task.events, self.task.subjects)
        return sum(subject_number(self._faults.for_ever) != subject for subject in named)

    def _make_count(self) -> Count:
        if self.task.journal and self.task.wait_seconds:
            return TimedCount(self._expected(), self.watch, self.seen)
        return Count(self._expected(), self.watch)

    def _make_hooks(self) -> list[Hook]:
        task = self.task
        if task.journal and task.wait_seconds:
            return [Failing(self.watch, task.wait_seconds, self._faults)]
        if task.journal:
            return [Noting(self.watch, self.seen)]
        if task.wait_seconds:
            return [Waiting(self.watch, self.order, task.wait_seconds)]
        return [Idle(f"idle-{number}", self.watch) for number in range(task.hooks)]

    def _wrong(self) -> list[str]:
        """Name what was not handled exactly once and in order."""
        outcomes = {name: self._metric("records_total", outcome=name) for name in ("done", "duplicate", "malformed")}
        right = {"done": float(self._expected()), "duplicate": 0.0, "malformed": 0.0}
        wrong = [f"{name}: {outcomes[name]:g}, not {right[name]:g}" for name in right if outcomes[name] != right[name]]
        if self.order.faults:
            wrong.append(f"{self.order.faults} events out of order or handled twice")
        return wrong

    def _metric(self, name: str, **labels: str) -> float:
        found = self.service.metrics.registry.get_sample_value(f"hookline_{name}", {"domain": _DOMAIN, **labels})
        return found or 0.0


def subject_number(name: str) -> int:
    """Tell the number of a subject from its name."""
    return int(name.rpartition("-")[2])


def _settings(task: Task) -> Settings:
    return Settings.model_validate(
        {
            "domain": _DOMAIN,
            "kafka": {"common": {"bootstrap.servers": task.bootstrap}},
            "topics": {"hook": task.topic, "dead_letters": task.dead_letter_topic},
            "groups": {"hook": task.group, "dead_letters": f"{task.group}-dlq"},
            "http": {"listen": "127.0.0.1:0"},
            "consume": {"concurrency": task.slots},
            "retry": {"initial_seconds": task.retry_seconds},
        }
    )


async def _main() -> None:
    say(await Run(Task.from_arguments()).measure())


if __name__ == "__main__":
    run_service(_main())
