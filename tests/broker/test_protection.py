"""A whole service whose hooks hang: what is named, what goes on, and what turns red."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

import httpx2
import pytest

from hookline import Event, Hooks
from hookline.consume import Watchdog
from hookline.contract import encode_event
from hookline.kafka import GroupConsumer
from hookline.service import Service, Settings
from tests.support.hooks import Acting, Deaf
from tests.support.kafka import TestBroker
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from hookline.consume import Standing
    from hookline.hooks import Hook
    from hookline.kafka import UnreadRecord
    from tests.support.kafka import RealKafka

_STUCK_SECONDS = 4.0
"""Well above the second and a half in which a run is found to be stuck: until then /livez has to be green."""


class Blocked:
    """A plain function that blocks its thread until it is let go."""

    name = "blocked"
    timeout_seconds = 0.05

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.began: list[tuple[str | None, int | None]] = []

    def handle(self, event: Event) -> None:
        """Hang."""
        self.began.append((event.subject, event.version))
        self.let_go.wait(60)


class Stalling(GroupConsumer):
    """A consumer that can stop fetching as a broken client does: behind its engine's back, and without an error."""

    topic: ClassVar[str] = ""
    """The topic whose consumer is to stall."""
    _is_paused = False

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Pause or resume first, on the thread that polls."""
        wanted = self._topic == self.topic
        if wanted is not self._is_paused:
            self._is_paused = wanted
            places = self._consumer.assignment()
            (self._consumer.pause if wanted else self._consumer.resume)(places)
        return super().poll(most, timeout_seconds)


class Shop:
    """A service of a domain of its own, asked from outside."""

    def __init__(self, broker: TestBroker, hooks: Hooks) -> None:
        self._broker = broker
        self.domain = broker.domain()
        settings = Settings.model_validate(
            {
                "domain": self.domain,
                "drain_seconds": 0.2,
                "stuck_seconds": _STUCK_SECONDS,
                "kafka": {"common": {"bootstrap.servers": broker.bootstrap}},
                "retry": {"initial_seconds": 0.01, "max_seconds": 0.02},
                "http": {"listen": "127.0.0.1:0"},
            }
        )
        self.service = Service(
            settings.for_embedded(broker.bootstrap) if broker.kind == "embedded" else settings, hooks
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Run it, and give what asks it over HTTP."""
        threshold = gc.get_threshold()
        await self.service.start()
        try:
            async with httpx2.AsyncClient(base_url=f"http://{self.service._health.address}") as client:
                await eventually_async(self.service.ready, 40, what="ready")
                yield client
        finally:
            await self.service.stop()
            gc.unfreeze()
            gc.set_threshold(*threshold)

    def publish(self, type: str, subjects: Iterable[str], version: int = 1) -> None:
        """Publish an event of each subject."""
        for subject in subjects:
            event = Event.versioned(source="s", type=type, subject=subject, version=version)
            record = encode_event(event)
            self._broker.send(f"{self.domain}-hook", record.key, record.value, record.headers)

    def value(self, name: str, **labels: str) -> float:
        """Read a metric."""
        return self.service.metrics.value(name, **labels) or 0

    async def until_done(self, count: int) -> None:
        """Wait until so many records are done."""
        await eventually_async(lambda: self.value("records_total", outcome="done") >= count, 30, what=f"{count} done")


async def _pass(_: Event) -> None:
    return


async def test_a_deaf_hook_ends_the_liveness_by_its_name_until_it_ends(broker: TestBroker) -> None:
    """P10, case 22: its subject waits, others go on, the gauge names it; after stuck_seconds /livez is red and says who."""
    deaf = Deaf(0.05)
    shop = Shop(broker, Hooks({"deaf": [deaf], "fine": [Acting("fine", _pass)]}))
    async with shop.running() as client:
        try:
            shop.publish("deaf", ["s"])
            await eventually_async(lambda: shop.value("stuck_hooks", hook="deaf") == 1, what="it is stuck")
            assert (await client.get("/livez")).status_code == 200
            shop.publish("fine", [f"free{number}" for number in range(20)])
            await shop.until_done(20)
            await eventually_async(lambda: not all(check.ok for check in shop.service._live()), what="/livez is red")
            answer = await client.get("/livez")
            assert answer.status_code == 503
            assert "deaf" in answer.text
            assert shop.service.ready()
        finally:
            deaf.let_go.set()
        await eventually_async(lambda: shop.value("stuck_hooks", hook="deaf") == 0, what="it has ended")
        assert (await client.get("/livez")).status_code == 200
        await shop.until_done(21)


async def test_forty_blocked_threads_take_nothing_from_other_subjects(broker: TestBroker) -> None:
    """P10, case 22: each holds its subject, whose next event does not overlap it, and no slot of the 64."""
    blocked = Blocked()
    fine = Acting("fine", _pass)
    shop = Shop(broker, Hooks({"blocked": [cast("Hook", blocked)], "fine": [fine]}))
    async with shop.running():
        subjects = [f"s{number}" for number in range(40)]
        try:
            shop.publish("blocked", subjects)
            shop.publish("blocked", subjects, version=2)
            await eventually_async(lambda: shop.value("stuck_hooks", hook="blocked") == 40, 30, what="all are stuck")
            shop.publish("fine", [f"free{number}" for number in range(200)])
            await shop.until_done(200)
            assert sorted(blocked.began) == sorted((subject, 1) for subject in subjects)
        finally:
            blocked.let_go.set()
        await shop.until_done(280)


@pytest.mark.may_leak("threads that hang, which is what it is about, end after it")
async def test_a_stop_does_not_wait_for_blocked_threads(broker: TestBroker) -> None:
    """P5, P10, case 22: stopped within its drain with forty threads stuck, and nothing of theirs is committed."""
    blocked = Blocked()
    shop = Shop(broker, Hooks({"*": [cast("Hook", blocked)]}))
    try:
        async with asyncio.timeout(30), shop.running():
            shop.publish("blocked", [f"s{number}" for number in range(40)])
            await eventually_async(lambda: len(blocked.began) == 40, 30, what="all run")
        done = [shop.value("records_total", outcome=outcome) for outcome in ("done", "dead_lettered")]
        assert done == [0, 0]
        committed = await asyncio.to_thread(broker.committed, f"{shop.domain}-hook", f"{shop.domain}-hook")
        assert not any(committed.values())
    finally:
        blocked.let_go.set()


class Counting(Watchdog):
    """A quick watchdog that counts its looks."""

    looks: ClassVar[int] = 0

    def observe(self, standings: Iterable[Standing], ends: Mapping[int, int]) -> None:
        """Count."""
        super().observe(standings, ends)
        type(self).looks += 1


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Look five times a second, and take a second without progress for a stall."""
    monkeypatch.setattr("hookline.service._watch._WHILE_GOOD_SECONDS", 0.2)
    monkeypatch.setattr("hookline.service._stalls.Watchdog", partial(Counting, stalled_seconds=1))
    return monkeypatch


async def test_a_partition_that_is_not_fetched_turns_readiness_red(
    real_kafka: RealKafka, quick: pytest.MonkeyPatch
) -> None:
    """Cases: minor (a consumer that never fetches again). Red while its topic grows, with the place, then green again."""
    quick.setattr("hookline.service._parts.GroupConsumer", Stalling)
    shop = Shop(TestBroker(real_kafka), Hooks({"*": [Acting("fine", _pass)]}))
    async with shop.running() as client:
        shop.publish("fine", ["s"])
        await shop.until_done(1)
        quick.setattr(Stalling, "topic", f"{shop.domain}-hook")
        await _publish_until(shop, lambda: not shop.service.ready())
        answer = await client.get("/readyz")
        assert answer.status_code == 503
        assert "stage progress: partition" in answer.text
        assert (await client.get("/livez")).status_code == 200
        await eventually_async(lambda: shop.value("stalled_partitions") == 1)
        quick.setattr(Stalling, "topic", "")
        await eventually_async(shop.service.ready, 20, what="ready again")
        await eventually_async(lambda: shop.value("stalled_partitions") == 0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("act", ["wait", "fail"])
async def test_a_partition_at_work_is_not_called_stalled(broker: TestBroker, act: str) -> None:
    """While an event runs long, or is tried again and again, readiness stays green, however much comes behind it."""
    let_go = asyncio.Event()

    async def wait_or_fail(event: Event) -> None:
        if event.type == "fail" and not let_go.is_set():
            raise ConnectionRefusedError
        await let_go.wait()

    shop = Shop(broker, Hooks({"*": [Acting("slow", wait_or_fail)]}))
    async with shop.running():
        shop.publish(act, ["s"])
        looks = Counting.looks + 40
        await _publish_until(shop, lambda: not shop.service.ready() or Counting.looks >= looks)
        assert shop.service.ready()
        let_go.set()
        await eventually_async(lambda: shop.value("lanes", group=f"{shop.domain}-hook") == 0, what="all is done")


async def _publish_until(shop: Shop, condition: Callable[[], bool]) -> None:
    def again() -> bool:
        shop.publish("fine", ["s"])
        return condition()

    await eventually_async(again, 30)
