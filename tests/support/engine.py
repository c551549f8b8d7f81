"""An engine to test on a broker: scripted handlers, and a watcher of how attempts end."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from hookline.consume import (
    DeadLetterWriter,
    Delivery,
    Done,
    Engine,
    EngineMeter,
    EngineSettings,
    GiveUp,
    Handler,
    Identity,
    Memory,
    Outcome,
    Recollection,
    Retry,
    RetryPolicy,
    decide,
)
from hookline.errs import classify
from hookline.kafka import AcknowledgedProducer, ClientConfig, GroupConsumer, TopicReader
from tests.support.waiting import NotInTimeError, eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from hookline.contract import DeadLetterClass
    from hookline.telemetry import Metrics
    from tests.support.kafka import TestBroker

QUICK = RetryPolicy(max_attempts=3, initial_seconds=0.05, max_seconds=0.1)


@dataclass
class ScriptedHandler:
    """A handler that does what a function says, at once or awaited; identities are the records' values when `dedupes`."""

    act: Callable[[Delivery], Awaitable[None] | None]
    policy: RetryPolicy = QUICK
    dedupes: bool = False

    def identify(self, delivery: Delivery) -> Identity | None:
        """Take the value for the identity."""
        return ("test", (delivery.record.value or b"").decode()) if self.dedupes else None

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Act."""
        return self.act(delivery)

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | GiveUp:
        """Decide by the error's verdict."""
        decision = decide(classify(error), delivery.attempt, 0.0, self.policy)
        if isinstance(decision, Retry):
            return decision
        return GiveUp(decision, "test_failure", str(error))


@dataclass
class Watcher:
    """Keeps what was started and how it ended, by the record's value."""

    started_values: list[str] = field(default_factory=list)
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)

    def started(self, delivery: Delivery) -> None:
        """Keep a start."""
        self.started_values.append(_text(delivery))

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Keep an end."""
        del error
        self.outcomes.append((_text(delivery), outcome))

    def done(self) -> list[str]:
        """List what was done, in order."""
        return [value for value, outcome in self.outcomes if isinstance(outcome, Done)]

    def given_up(self) -> list[tuple[str, DeadLetterClass]]:
        """List what was given up."""
        return [(value, outcome.letter_class) for value, outcome in self.outcomes if isinstance(outcome, GiveUp)]


def _text(delivery: Delivery) -> str:
    return (delivery.record.value or b"").decode(errors="replace")


@dataclass
class Rig:
    """A running engine and what there is around it."""

    engine: Engine
    watcher: Watcher
    group: str

    async def until_done(self, count: int) -> None:
        """Wait until so many records are done."""
        await eventually_async(lambda: len(self.watcher.done()) >= count, 30, what=f"{count} records done")


@asynccontextmanager
async def running(  # noqa: PLR0913 - what an engine is wired to, each by name
    broker: TestBroker,
    topic: str,
    handler: Handler,
    *,
    group: str = "test-group",
    dead_letters: str | None = None,
    settings: EngineSettings | None = None,
    drain_seconds: float = 5.0,
    options: dict[str, str] | None = None,
    memory: Memory | None = None,
    metrics: Metrics | None = None,
    member: type[GroupConsumer] = GroupConsumer,
) -> AsyncIterator[Rig]:
    """Run an engine on a broker, stopped at the end; with a memory it reads back what has completed, as a service does."""
    client = client_of(broker, options)
    producer = AcknowledgedProducer(client.producer())
    watcher = Watcher()
    engine = Engine(
        open_consumer=partial(member, client, group, topic),
        group=group,
        handler=handler,
        dead_letters=DeadLetterWriter(producer, dead_letters) if dead_letters else None,
        settings=settings or EngineSettings(),
        observer=watcher,
        meter=EngineMeter(metrics),
        memory=memory,
        recollection=Recollection(TopicReader(client), topic, dead_letters, memory) if memory else None,
    )
    await engine.start()
    try:
        await eventually_async(lambda: engine.status.joined, 30, what="the group is joined")
        yield Rig(engine, watcher, group)
    finally:
        await engine.stop(drain_seconds)
        await producer.close(5)


def client_of(broker: TestBroker, options: dict[str, str] | None = None) -> ClientConfig:
    """Make client settings for a broker; the new group protocol joins at once on the embedded one."""
    consumer = {"group.protocol": "consumer"} if broker.kind == "embedded" else {"session.timeout.ms": "6000"}
    return ClientConfig(common={"bootstrap.servers": broker.bootstrap}, consumer=consumer | (options or {}))


async def until_settled(broker: TestBroker, group: str, topic: str) -> None:
    """Wait until the group has committed to the end, looking off the loop."""
    for _ in range(100):
        if await asyncio.to_thread(broker.settled, group, topic):
            return
        await asyncio.sleep(0.1)
    raise NotInTimeError(f"group {group}: {topic} is not committed to the end")


async def forever(_: Delivery) -> None:
    """Never end."""
    await asyncio.Event().wait()
