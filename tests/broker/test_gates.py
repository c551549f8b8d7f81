"""Gates on a service: what is closed waits, everything else goes on, and what waited is delivered once."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.contract import GateKey, encode_event
from hookline.hooks import Hooks
from hookline.service import Gatekeeper, Service, Settings
from tests.support.engine import until_settled
from tests.support.hooks import event_of
from tests.support.kafka import TestBroker
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline import Event
    from tests.support.kafka import RealKafka

READY_SECONDS = 60


class Noting:
    """A hook that notes (subject, version) of what it handles."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.handled: list[tuple[str, int]] = []

    async def handle(self, event: Event) -> None:
        """Note it."""
        self.handled.append((event.subject, event.version))


class Domain:
    """A domain with two hooks, its service, and the one who closes and opens."""

    def __init__(self, broker: TestBroker, isolation: str = "shared") -> None:
        self.broker = broker
        self.name = broker.domain()
        self.ci, self.audit = Noting("ci"), Noting("audit")
        topics = {"control": broker.topic()}
        kafka = {"common": {"bootstrap.servers": broker.bootstrap}}
        document = {"domain": self.name, "topics": topics, "kafka": kafka, "http": {"listen": "127.0.0.1:0"}}
        if isolation != "shared":
            document |= {"isolation": isolation, "start": "earliest"}
        self.settings = Settings.model_validate(document | {"drain_seconds": 2.0})
        if broker.kind == "embedded":
            self.settings = self.settings.for_embedded(broker.bootstrap)
        self.keeper = Gatekeeper(self.settings)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Service]:
        """Run the service, from ready to stopped."""
        service = Service(self.settings, Hooks({"*": [self.ci, self.audit]}))
        await service.start()
        try:
            await eventually_async(service.ready, READY_SECONDS, what="ready")
            yield service
        finally:
            await service.stop()

    async def publish(self, subject: str, version: int = 1) -> None:
        """Publish an event."""
        record = encode_event(event_of(subject=subject, version=version))
        await asyncio.to_thread(self.broker.send, f"{self.name}-hook", record.key, record.value, record.headers)

    async def close(self, hook: str = "", subject: str = "") -> None:
        """Close a gate."""
        gate, was_open = await self.keeper.close(GateKey(self.name, hook, subject), "test", "ada")
        assert was_open
        assert gate.reason == "test"

    async def open(self, hook: str = "", subject: str = "") -> None:
        """Open a gate."""
        assert await self.keeper.open(GateKey(self.name, hook, subject)) is not None

    async def letters(self) -> int:
        """Count the dead letters."""
        return len(await asyncio.to_thread(self.broker.read, f"{self.name}-hook_dlq"))


async def closed(service: Service, count: int) -> None:
    """Wait until the service knows of so many closed gates."""

    def total() -> float:
        return sum(service.metrics.value("gates_closed", scope=scope) or 0 for scope in ("domain", "hook", "subject"))

    await eventually_async(lambda: total() == count, 30, what=f"{count} gates closed")


async def parked(service: Service, **expected: int) -> None:
    """Wait until so many events wait for each hook."""

    def found() -> dict[str, float | None]:
        return {name: service.metrics.value("parked_events", hook=name) for name in expected}

    await eventually_async(lambda: found() == expected, 30, what=f"parked: {expected}")


async def test_what_is_closed_waits_and_the_rest_goes_on(broker: TestBroker) -> None:
    """P1, P3: subject, hook and domain are closed one after another; over a restart nothing runs that should not; opened, everything is delivered once."""
    domain = Domain(broker)
    async with domain.running() as service:
        await domain.close(subject="s1")
        await closed(service, 1)
        for subject in ("s1", "s2"):
            await domain.publish(subject)
        await parked(service, ci=1, audit=1)
        await eventually_async(lambda: domain.ci.handled == domain.audit.handled == [("s2", 1)])
        await domain.close(hook="ci")
        await closed(service, 2)
        await domain.publish("s3")
        await parked(service, ci=2, audit=1)
        await eventually_async(lambda: domain.audit.handled == [("s2", 1), ("s3", 1)])
        await domain.close()
        await closed(service, 3)
        await domain.publish("s4")
        await domain.publish("s1", 2)
        await parked(service, ci=3, audit=2)
    async with domain.running() as service:
        await closed(service, 3)
        await parked(service, ci=3, audit=2)
        assert domain.ci.handled == [("s2", 1)]
        assert domain.audit.handled == [("s2", 1), ("s3", 1)]
        await domain.open()
        await eventually_async(lambda: domain.audit.handled[2:] == [("s4", 1)])
        await parked(service, ci=3, audit=1)
        await domain.open(hook="ci")
        await eventually_async(lambda: sorted(domain.ci.handled) == [("s2", 1), ("s3", 1), ("s4", 1)])
        await parked(service, ci=1, audit=1)
        await domain.open(subject="s1")
        await until_settled(broker, f"{domain.name}-hook", f"{domain.name}-hook")
        await parked(service, ci=0, audit=0)
    for hook in (domain.ci, domain.audit):
        assert sorted(hook.handled) == [("s1", 1), ("s1", 2), ("s2", 1), ("s3", 1), ("s4", 1)]
        assert [version for subject, version in hook.handled if subject == "s1"] == [1, 2]
    assert await domain.letters() == 0


async def test_a_closed_hook_with_a_group_of_its_own_keeps_nobody(real_kafka: RealKafka) -> None:
    """P9: in per-hook mode a closed hook keeps back its own group only; the other one's commits go on."""
    broker = TestBroker(real_kafka)
    domain = Domain(broker, "per-hook")
    async with domain.running() as service:
        await domain.close(hook="ci")
        await closed(service, 1)
        await domain.publish("s1")
        await parked(service, ci=1)
        await until_settled(broker, f"{domain.name}-hook.audit", f"{domain.name}-hook")
        assert (domain.ci.handled, domain.audit.handled) == ([], [("s1", 1)])
        await domain.open(hook="ci")
        await until_settled(broker, f"{domain.name}-hook.ci", f"{domain.name}-hook")
        assert domain.ci.handled == [("s1", 1)]
    assert await domain.letters() == 0


async def test_a_service_without_a_control_topic_runs(broker: TestBroker) -> None:
    """The topic is optional: where there is none the service says so by a gauge, and runs."""
    domain = Domain(broker)
    topics = domain.settings.topics.model_copy(update={"control": f"{domain.name}-nowhere"})
    domain.settings = domain.settings.model_copy(update={"topics": topics})
    async with domain.running() as service:
        await domain.publish("s1")
        await eventually_async(lambda: domain.audit.handled == [("s1", 1)])
        assert service.metrics.value("control_state", state="missing") == 1
