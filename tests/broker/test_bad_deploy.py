"""A bad deploy of a hook: it fails with every event, is held, is mended, and goes on when a person says so."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from hookline import Event, HookPublisher
from hookline.contract import GateKey
from hookline.hooks import Hooks
from hookline.service import Gatekeeper, Service, Settings
from tests.support.receiver import Receiver
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.kafka import TestBroker

EVENTS = 2_000
SUBJECTS = 500
MOST_LETTERS = 300
"""A few hundred: the guard judges by 100 outcomes, and what runs beside them ends too."""


class Deployed:
    """A hook of which one release is broken."""

    name = "notify"

    def __init__(self, *, is_broken: bool) -> None:
        self._is_broken = is_broken
        self.handled: set[tuple[str, int]] = set()

    async def handle(self, event: Event) -> None:
        """Handle it, or fail as a typing mistake does."""
        await asyncio.sleep(0)
        if self._is_broken:
            raise AttributeError("'NoneType' object has no attribute 'body'")
        self.handled.add((event.subject, event.version))


def events() -> list[Event]:
    """Make the events."""
    return [
        Event.versioned(
            source="submitqueue",
            type="batch.failed",
            subject=f"b{number % SUBJECTS}",
            version=1 + number // SUBJECTS,
            payload={"batch_id": f"b{number % SUBJECTS}"},
        )
        for number in range(EVENTS)
    ]


async def test_a_bad_deploy_costs_a_few_dead_letters_and_one_page(broker: TestBroker) -> None:
    """P1, P9: of 2,000 events that a broken release fails with a few hundred are dead letters at most; the rest waits.

    One page says so. The mended release, started while the hook is held, handles nothing until a person opens the gate,
    and then all that is no dead letter.
    """
    name, control = broker.domain(), broker.topic()
    with Receiver() as desk:
        document = {
            "domain": name,
            "topics": {"control": control},
            "kafka": {"common": {"bootstrap.servers": broker.bootstrap}},
            "http": {"listen": "127.0.0.1:0"},
            "drain_seconds": 2.0,
            "pagers": [{"kind": "webhook", "name": "desk", "url": f"{desk.url}/pages"}],
        }
        settings = Settings.model_validate(document)
        if broker.kind == "embedded":
            settings = settings.for_embedded(broker.bootstrap)
        async with HookPublisher.from_settings(settings) as publisher:
            assert all(result.error is None for result in await publisher.publish_many(events()))
        async with _running(settings, Deployed(is_broken=True)) as service:
            await _until_all_subjects_wait(service)
            await eventually_async(lambda: _pages(desk, "hookline.hook_waits"), 60, what="a page")
            told = partial(service.metrics.value, "pages_total", pager="desk", result="ok")
            await eventually_async(lambda: told() == len(desk.requests), 60, what="the page is known to have arrived")
        letters = len(await asyncio.to_thread(broker.read, f"{name}-hook_dlq"))
        assert 50 < letters <= MOST_LETTERS
        mended = Deployed(is_broken=False)
        async with _running(settings, mended) as service:
            await _until_all_subjects_wait(service)
            assert mended.handled == set()
            assert await Gatekeeper(settings).open(GateKey(name, "notify", "")) is not None
            await eventually_async(lambda: len(mended.handled) == EVENTS - letters, 60, what="all handled")
        assert len(await asyncio.to_thread(broker.read, f"{name}-hook_dlq")) == letters
        assert len(_pages(desk, "hookline.hook_waits")) == 1


async def _until_all_subjects_wait(service: Service) -> None:
    """Wait until the first event of each subject waits for the gate."""
    await eventually_async(lambda: service.metrics.value("parked_events", hook="notify") == SUBJECTS, 60, what="held")


def _pages(desk: Receiver, kind: str) -> list[object]:
    pages = (request.json() for request in desk.requests)
    return [page for page in pages if isinstance(page, dict) and page["kind"] == kind]


@asynccontextmanager
async def _running(settings: Settings, hook: Deployed) -> AsyncIterator[Service]:
    """Run a service with one hook, from ready to stopped."""
    service = Service(settings, Hooks({"*": [hook]}))
    await service.start()
    try:
        await eventually_async(service.ready, 60, what="ready")
        yield service
    finally:
        await service.stop()
