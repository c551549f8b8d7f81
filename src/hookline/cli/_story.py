"""The merge-queue story: three requests land, one batch fails, and everything that can happen to an event happens."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import sqlite3
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from hookline.consume import Delivery, Done, Duplicate, GiveUp, Hold, Outcome, Retry
from hookline.contract import DeadLetterClass, Event, MalformedRecordError, decode_record
from hookline.deadletters import Fate, Filter
from hookline.hooks import Hooks, MergedHooks
from hookline.kafka import AcknowledgedProducer, EmbeddedBroker
from hookline.publish import HookPublisher
from hookline.service import Service, Settings, build_hooks, dead_letters_of

from ._receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from hookline.kafka import Record

Tell: TypeAlias = "Callable[[str, str], None]"

_PATIENCE_SECONDS = 40.0
_LOOK_SECONDS = 0.02
_CLOSE_SECONDS = 5.0
_CLASS = re.compile(r"\b(?:[a-z_]+\.)*[A-Z]\w*Error: ")


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened, in numbers.

    `published` counts confirmations, so it is `handled` and `duplicates` together; `lost` counts events that were
    confirmed and that neither every hook has handled nor a dead letter holds.
    """

    published: int
    handled: int
    retried: int
    duplicates: int
    malformed: int
    exhausted: int
    paged: int
    republished: int
    lost: int
    seconds: float


class StoryStuckError(Exception):
    """Something that the story waits for did not happen in time."""


class Chat:
    """A hook of the story's own: its server times out until somebody mends it."""

    name = "chat"

    def __init__(self) -> None:
        self.mended = False

    async def handle(self, event: Event) -> None:
        """Announce a build."""
        if not self.mended:
            raise TimeoutError(f"no answer about {event.subject}")


class Audience:
    """Watches deliveries, counts them and tells of them."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.handled: set[str] = set()
        self.counts: Counter[str] = Counter()

    def started(self, delivery: Delivery) -> None:
        """Say nothing: the end is what counts."""

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Tell how an attempt ended."""
        event = _event_of(delivery.record)
        name = f"{event.type} {event.subject}" if event else f"record {delivery.record}"
        match outcome:
            case Done():
                self._handled(event, name)
            case Duplicate():
                self.counts["duplicates"] += 1
                self._tell("duplicate", f"{name}: has been handled, not run again")
            case Retry(delay_seconds):
                self.counts["retried"] += 1
                self._tell("retry", f"{name} again in {delay_seconds:.1f} s: {_short(str(error))}")
            case Hold():
                pass
            case GiveUp(letter_class, _, message):
                self.counts[letter_class.value] += 1
                self._tell("dead letter", f"{name}, {letter_class.value}: {_short(message)}")
            case _:
                assert_never(outcome)

    def _handled(self, event: Event | None, name: str) -> None:
        if event is not None:
            self.handled.add(event.id)
        self._tell("handle", f"{name}: every hook is done")


class Story:
    """Plays on a broker in this process, with real hooks and a real HTTP receiver. Files go to `folder`."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self._folder = folder
        self._tell = tell
        self._chat = Chat()
        self._audience = Audience(tell)
        self._published: set[str] = set()
        self._confirmed = 0

    async def play(self) -> Tally:
        """Play all of it and add it up. Raises StoryStuckError when it does not come to its end."""
        began = time.monotonic()
        with EmbeddedBroker() as broker, Receiver({"/comments": [503, 503]}) as receiver:
            self._tell("stage", f"a broker in this process at {broker.bootstrap}")
            self._tell("stage", "hooks: audit, warehouse, code-host, chat")
            settings = self._settings(receiver.url).for_embedded(broker.bootstrap)
            broker.create_topics(settings.hook_topic(), settings.dead_letter_topic())
            async with self._running(settings) as service, HookPublisher.from_settings(settings) as publisher:
                await self._requests_land(publisher)
                await self._batch_fails(publisher, receiver)
                await self._bytes_are_malformed(settings)
                await self._build_exhausts(publisher)
                await self._until(lambda: len(receiver.bodies("/pages")) == 2, "two pages")  # noqa: PLR2004 - one each
                for page in receiver.bodies("/pages"):
                    self._tell("page", str(page.get("summary", page)))
                republished = await self._person_republishes(settings)
                await self._until(lambda: self._published <= self._audience.handled, "everything handled")
                paged = service.reconciler.status.paged
        return self._tally(paged, republished, time.monotonic() - began)

    async def _requests_land(self, publisher: HookPublisher) -> None:
        for number in (12344, 12345, 12346):
            await self._publish(publisher, "request.started", f"sq-{number}", 1, request_id=f"sq-{number}")
        for number in (12344, 12345, 12346):
            await self._publish(
                publisher, "request.landed", f"sq-{number}", 4, request_id=f"sq-{number}", revision="a1b2c3d"
            )
        await self._until(lambda: self._published <= self._audience.handled, "three requests handled")
        self._tell("publish", "request.landed sq-12344 once more: its controller crashed before its ack")
        await self._publish(publisher, "request.landed", "sq-12344", 4, request_id="sq-12344", revision="a1b2c3d")
        await self._until(lambda: self._audience.counts["duplicates"] == 1, "the repeat is known")

    async def _batch_fails(self, publisher: HookPublisher, receiver: Receiver) -> None:
        self._tell("stage", "the code host answers 503 twice")
        await self._publish(
            publisher, "batch.failed", "batch-778", 4,
            batch_id="batch-778", queue="go-monorepo", error="merge conflict", failed_step="sq-12346", conflict_paths=["foo/bar.go"],
        )  # fmt: skip
        await self._until(lambda: self._published <= self._audience.handled, "the comment is posted")
        self._tell("stage", f"the comment on batch-778 took {len(receiver.bodies('/comments'))} requests")

    async def _bytes_are_malformed(self, settings: Settings) -> None:
        self._tell("publish", "bytes that are no event, from some other program")
        producer = AcknowledgedProducer(settings.client_config().producer())
        await producer.send(settings.hook_topic(), b"sq-12347", b"not an event")
        await producer.close(_CLOSE_SECONDS)
        await self._until(lambda: self._audience.counts[DeadLetterClass.MALFORMED] == 1, "a malformed dead letter")

    async def _build_exhausts(self, publisher: HookPublisher) -> None:
        await self._publish(publisher, "build.finished", "build-42", 1, build_id="build-42", result="green")
        await self._until(lambda: self._audience.counts[DeadLetterClass.EXHAUSTED] == 1, "an exhausted dead letter")

    async def _person_republishes(self, settings: Settings) -> int:
        self._chat.mended = True
        self._tell("person", "mends the chat server and types")
        self._tell("person", "hookline dlq republish --class exhausted --execute --reason mended")
        letters = dead_letters_of(settings)
        plan = await letters.plan(Filter(classes=(DeadLetterClass.EXHAUSTED,)))
        producer = AcknowledgedProducer(settings.client_config().producer())
        report = await letters.execute(plan, producer, reason="the chat server is mended", operator="demo")
        await producer.close(_CLOSE_SECONDS)
        return report.counts[Fate.CONFIRMED]

    async def _publish(self, publisher: HookPublisher, type: str, subject: str, version: int, **facts: object) -> None:
        event = Event.versioned(source="submitqueue", type=type, subject=subject, version=version, payload=facts)
        place = await publisher.publish(event)
        self._published.add(event.id)
        self._confirmed += 1
        self._tell("publish", f"{type} {subject}, confirmed at {place.topic}/{place.partition}/{place.offset}")

    @asynccontextmanager
    async def _running(self, settings: Settings) -> AsyncIterator[Service]:
        resolver = MergedHooks(build_hooks(settings), Hooks({"build.finished": [self._chat]}))
        service = Service(settings, resolver, observers=(self._audience,))
        await service.start()
        try:
            await self._until(service.ready, "the stage has joined its group")
            yield service
        finally:
            await service.stop()

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise StoryStuckError(f"not within {_PATIENCE_SECONDS:g} s: {what}")
            await asyncio.sleep(_LOOK_SECONDS)

    def _settings(self, receiver: str) -> Settings:
        hooks = [
            {"name": "audit", "kind": "audit", "path": str(self._folder / "audit.jsonl")},
            {"name": "warehouse", "kind": "warehouse", "url": f"sqlite:///{self._folder / 'warehouse.db'}"},
            {
                "name": "code-host", "kind": "webhook", "types": ["batch.failed"],
                "url": f"{receiver}/comments", "allow_private_addresses": True,
                "secret": f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}",
            },
        ]  # fmt: skip
        return Settings.model_validate(
            {
                "domain": "submitqueue",
                "drain_seconds": 5,
                "retry": {"max_attempts": 3, "initial_seconds": 0.3, "max_seconds": 1.0},
                "http": {"listen": "127.0.0.1:0"},
                "hooks": hooks,
                "pagers": [{"kind": "webhook", "url": f"{receiver}/pages"}],
            }
        )

    def _tally(self, paged: int, republished: int, seconds: float) -> Tally:
        counts = self._audience.counts
        stored = self._stored()
        self._tell("stage", f"the warehouse holds {len(stored)} events, each once")
        return Tally(
            published=self._confirmed,
            handled=len(self._audience.handled),
            retried=counts["retried"],
            duplicates=counts["duplicates"],
            malformed=counts[DeadLetterClass.MALFORMED],
            exhausted=counts[DeadLetterClass.EXHAUSTED],
            paged=paged,
            republished=republished,
            lost=len(self._published - (self._audience.handled & stored)),
            seconds=round(seconds, 1),
        )

    def _stored(self) -> set[str]:
        connection = sqlite3.connect(self._folder / "warehouse.db")
        try:
            return {str(id) for (id,) in connection.execute("SELECT id FROM hook_events")}
        finally:
            connection.close()


def _short(text: str) -> str:
    """Leave out the class of an error: `hook a: b.HttpStatusError: HTTP 503` becomes `hook a: HTTP 503`."""
    return _CLASS.sub("", text)


def _event_of(record: Record) -> Event | None:
    try:
        return decode_record(record.key, record.value, record.headers)
    except MalformedRecordError:
        return None
