"""Domains whose hooks may have groups of their own, run as services on a broker."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline import Event
from hookline.contract import DeadLetter, Redrive, encode_event
from hookline.contract._redrives import redrive_headers
from hookline.deadletters import Filter
from hookline.hooks import Hooks
from hookline.kafka import AcknowledgedProducer
from hookline.service import Selection, Service, Settings, dead_letters_of
from tests.support.waiting import NotInTimeError, eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from hookline.deadletters import Report
    from hookline.hooks import Resolver
    from tests.support.kafka import TestBroker

SECONDS = 60.0
SUBJECTS = [f"{kind}-{number}" for kind in ("bad", "fine") for number in range(8)]


class Probe:
    """A hook that notes what it is done with; it fails for subjects that begin with `bad` while it is `down`."""

    def __init__(self, name: str, **attributes: Any) -> None:
        self.name = name
        self.done: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.down: BaseException | None = None
        for attribute, value in attributes.items():
            setattr(self, attribute, value)

    async def handle(self, event: Event) -> None:
        """Handle."""
        self.tried[event.id] += 1
        if self.down is not None and event.subject.startswith("bad"):
            raise self.down
        await asyncio.sleep(0)
        self.done[event.id] += 1


class Domain:
    """A domain on a broker, whose settings change from one service to the next."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.name = broker.domain()
        self.topic = f"{self.name}-hook"
        self.protocol = "classic"
        self.sent: list[str] = []

    def settings(self, **more: Any) -> Settings:
        """Make settings for these brokers."""
        common = {
            "domain": self.name,
            "kafka": {
                "common": {"bootstrap.servers": self.broker.bootstrap},
                "consumer": {"group.protocol": self.protocol},
            },
            "retry": {"initial_seconds": 0.2, "max_seconds": 0.4, "dependency_seconds": 600},
            "breaker": {"enabled": False},
            "guard": {"enabled": False},
            "http": {"listen": "127.0.0.1:0"},
        }
        settings = Settings.model_validate({**common, **more})
        return settings.for_embedded(self.broker.bootstrap) if self.broker.kind == "embedded" else settings

    @asynccontextmanager
    async def running(
        self, *hooks: Probe, selection: Selection | None = None, resolver: Resolver | None = None, **settings: Any
    ) -> AsyncIterator[Service]:
        """Run a service, ready at once, and stop it."""
        threshold = gc.get_threshold()
        service = Service(self.settings(**settings), resolver or Hooks({"*": hooks}), selection=selection)
        await service.start()
        broken = asyncio.create_task(service.wait())
        try:
            await eventually_async(lambda: broken.done() or service.ready(), SECONDS, what="ready")
            if broken.done():
                broken.result()
            yield service
        finally:
            broken.cancel()
            await asyncio.wait([broken])
            await service.stop()
            gc.unfreeze()
            gc.set_threshold(*threshold)

    def publish(self, subjects: Iterable[str], version: int) -> list[str]:
        """Publish an event of each subject, and tell their ids."""
        ids = []
        for subject in subjects:
            event = Event.versioned(source="s", type=f"t.{subject[:3]}", subject=subject, version=version)
            record = encode_event(event)
            self.broker.send(self.topic, record.key, record.value, record.headers)
            ids.append(event.id)
        self.sent += ids
        return ids

    def publish_again(self, subject: str, version: int, *hooks: str) -> str:
        """Publish an event as a republication that names hooks does, and tell its id."""
        event = Event.versioned(source="s", type=f"t.{subject[:3]}", subject=subject, version=version)
        record = encode_event(event)
        redrive = Redrive(redrives=1, hooks=hooks, operation="op", again=False, origin=None)
        self.broker.send(self.topic, record.key, record.value, (*record.headers, *redrive_headers(redrive)))
        return event.id

    def publish_malformed(self) -> None:
        """Publish what nobody can read."""
        self.broker.send(self.topic, b"k", b"no event")

    async def settled(self, *hooks: str) -> None:
        """Wait until the shared group, or these hooks' own, have committed to the end."""
        for group in [f"{self.topic}.{hook}" for hook in hooks] or [self.topic]:
            await _until_settled(self.broker, group, self.topic)

    async def letters(self) -> list[DeadLetter]:
        """Read the dead letters."""
        records = await asyncio.to_thread(self.broker.read, f"{self.topic}_dlq")
        return [DeadLetter.from_record(record.key, record.value, record.headers) for record in records]

    async def republish(self) -> Report:
        """Send back all dead letters."""
        letters = dead_letters_of(self.settings())
        producer = AcknowledgedProducer(self.settings().client_config().producer())
        try:
            return await letters.execute(await letters.plan(Filter()), producer, reason="mended", operator="kim")
        finally:
            await producer.close(5)


async def _until_settled(broker: TestBroker, group: str, topic: str) -> None:
    """Wait until the group has committed to the end, for longer than a hook may rest."""
    for _ in range(600):
        if await asyncio.to_thread(broker.settled, group, topic):
            return
        await asyncio.sleep(0.1)
    raise NotInTimeError(f"group {group}: {topic} is not committed to the end")
