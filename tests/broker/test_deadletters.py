"""Dead letters on a broker: listed, planned, republished, byte for byte (cases header-fidelity, dlq-loops, header-growth)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import httpx2
import pytest

from hookline.consume import Engine, EngineSettings, RetryPolicy
from hookline.contract import (
    DeadLetter,
    DeadLetterClass,
    Event,
    HookFailure,
    Origin,
    Redrive,
    encode_event,
    strip_reserved,
)
from hookline.deadletters import (
    LETTER_HEADER,
    DeadLetters,
    Fate,
    Filter,
    LeftOut,
    Receiver,
    Reconciler,
    ReconcilerSettings,
    WebhookPager,
)
from hookline.errs import Redactor
from hookline.kafka import AcknowledgedProducer, GroupConsumer, Record, TopicReader
from hookline.telemetry import Metrics
from tests.support.engine import Watcher, client_of
from tests.support.receiver import Answer
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from hookline.contract import Headers
    from tests.support.kafka import TestBroker
    from tests.support.receiver import Receiver as HttpReceiver

NOW_MS = 1_796_032_800_000
ODD_HEADERS: Headers = (
    ("a", None),
    ("a", b""),
    ("a", b"\xff"),
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("name é", b"x"),
    ("a", b"again"),
)
ODD: tuple[tuple[bytes | None, bytes | None], ...] = (
    (b"", b"not an event"),
    (None, b"\xff\xfe"),
    (b"\xff\xfe", b""),
    (b"plain", None),
)


class Shop:
    """A hook topic and its dead-letter topic, with what is needed to fill and to read them."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.domain = broker.domain()
        self.hook_topic, self.dead_topic = f"{self.domain}-hook", f"{self.domain}-hook_dlq"
        self.client = client_of(broker)
        self.reader = TopicReader(self.client)
        self.producer = AcknowledgedProducer(self.client.producer())
        self.dead_letters = DeadLetters(
            self.stream, dead_letter_topic=self.dead_topic, hook_topics={self.hook_topic}, max_redrives=3
        )

    def stream(self, topic: str, since_ms: int | None) -> AsyncGenerator[Record, None]:
        """Read a topic; all of it on the embedded broker, which has no index by time."""
        return self.reader.stream(topic, since_ms if self.broker.kind == "real" else None)

    async def die(self, record: Record, *, hooks: tuple[str, ...] = ("ci",)) -> None:
        """Write the dead letter of a record of the hook topic."""
        failures = tuple(
            HookFailure(hook, "User", "ValueError", "no" * 1000, 1, 0.1, "hook_exception") for hook in hooks
        )
        letter = DeadLetter.of_record(
            record.key,
            record.value,
            record.headers,
            source=Origin(record.topic, record.partition, record.offset),
            group=self.hook_topic,
            delivery_count=1,
            letter_class=DeadLetterClass.PERMANENT if hooks else DeadLetterClass.MALFORMED,
            code="hook_exception" if hooks else "decode_error",
            message="no",
            failed_at_ms=NOW_MS,
            failures=failures,
        )
        await self.producer.send(self.dead_topic, letter.key, letter.value, letter.record_headers())

    async def publish_and_die(self, key: bytes | None, value: bytes | None, headers: Headers, *hooks: str) -> None:
        """Put a record into the hook topic, and its letter into the other."""
        at = await self.producer.send(self.hook_topic, key, value, headers)
        await self.die(Record(at.topic, at.partition, at.offset, NOW_MS, key, value, headers), hooks=hooks)

    async def republish(self, *, again: bool = False) -> dict[str, Fate]:
        """Republish everything that a plan takes."""
        plan = await self.dead_letters.plan(Filter(), again=again)
        report = await self.dead_letters.execute(plan, self.producer, reason="mended", operator="kim")
        return {result.id: result.fate for result in report.results}

    async def read(self, topic: str) -> list[Record]:
        """Read a whole topic."""
        async with aclosing(self.reader.stream(topic)) as records:
            return [record async for record in records]


@pytest.fixture
async def shop(broker: TestBroker) -> AsyncIterator[Shop]:
    """Give a shop of its own to one test."""
    shop = Shop(broker)
    yield shop
    await shop.producer.close(5)


def event(subject: str, version: int = 1) -> tuple[bytes | None, bytes | None, Headers]:
    encoded = encode_event(
        Event.versioned(source="shop", type="batch.failed", subject=subject, version=version, payload={"n": version})
    )
    return encoded.key, encoded.value, encoded.headers


def shape(record: Record) -> tuple[bytes | None, bytes | None, Headers]:
    return record.key, record.value, strip_reserved(record.headers)


async def test_odd_records_make_the_round_trip_byte_for_byte(shop: Shop) -> None:
    """P14, cases 6 and 12: null and empty keys and values, repeats, null, empty and binary headers come back as they were."""
    for key, value in ODD:
        await shop.publish_and_die(key, value, ODD_HEADERS)
    assert [row.letter_class for row in await shop.dead_letters.list_rows()] == ["malformed"] * len(ODD)
    assert set((await shop.republish()).values()) == {Fate.CONFIRMED}
    back = [shape(record) for record in await shop.read(shop.hook_topic) if Redrive.from_headers(record.headers)]
    assert sorted(map(repr, back)) == sorted(repr((key, value, ODD_HEADERS)) for key, value in ODD)


async def test_a_republished_event_names_its_hooks_letter_and_operation(shop: Shop) -> None:
    """P14: only the hooks that failed are named, and the record says which letter it was and by which operation."""
    await shop.publish_and_die(*event("a"), "ci", "chat")
    plan = await shop.dead_letters.plan(Filter(hooks=("chat",)))
    await shop.dead_letters.execute(plan, shop.producer, reason="mended", operator="kim")
    (record,) = [record for record in await shop.read(shop.hook_topic) if LETTER_HEADER in dict(record.headers)]
    redrive = Redrive.from_headers(record.headers)
    assert redrive is not None
    assert (redrive.hooks, redrive.operation, redrive.redrives) == (("chat", "ci"), plan.operation, 1)
    assert dict(record.headers)[LETTER_HEADER] == f"{shop.dead_topic}/{plan.letters[0].stored.id}".encode()


async def test_everything_is_republished_once_over_two_runs(shop: Shop) -> None:
    """P14: the hook topic itself tells what was sent, so that a second run leaves it out and counts it."""
    for n in range(6):
        await shop.publish_and_die(*event(f"s-{n}"), "ci")
    assert list((await shop.republish()).values()) == [Fate.CONFIRMED] * 6
    plan = await shop.dead_letters.plan(Filter())
    assert (plan.letters, plan.left_out_counts) == ((), {LeftOut.REPUBLISHED_BEFORE: 6})
    assert [row.republished for row in await shop.dead_letters.list_rows()] == [True] * 6
    assert len((await shop.dead_letters.plan(Filter(), again=True)).letters) == 6


async def test_a_subject_keeps_its_order(shop: Shop) -> None:
    """P3: letters of one subject are republished in the order in which they lie in the dead-letter topic."""
    for version in range(1, 9):
        await shop.publish_and_die(*event("one" if version % 2 else "two", version), "ci")
    letters = [(record.key, record.value) for record in await shop.read(shop.dead_topic)]
    await shop.republish()
    back = [record for record in await shop.read(shop.hook_topic) if Redrive.from_headers(record.headers)]
    for subject in (b"one", b"two"):
        wanted = [value for key, value in letters if key == subject]
        assert [record.value for record in back if record.key == subject] == wanted


async def test_a_letter_that_goes_round_neither_grows_nor_goes_on_for_ever(shop: Shop) -> None:
    """Cases 10 and 21: republished records keep their size over the rounds, and the rounds are bounded."""
    await shop.publish_and_die(*event("a"), "ci")
    sizes = []
    for _ in range(3):
        assert list((await shop.republish()).values()) == [Fate.CONFIRMED]
        record = max(await shop.read(shop.hook_topic), key=lambda record: record.offset)
        sizes.append(len(record.headers))
        await shop.die(record)
    assert len(set(sizes)) == 1
    plan = await shop.dead_letters.plan(Filter())
    assert plan.letters == ()
    assert plan.left_out_counts == {LeftOut.REPUBLISHED_BEFORE: 3, LeftOut.TOO_MANY_REDRIVES: 1}


async def test_a_foreign_record_is_listed_shown_and_left_where_it_is(shop: Shop) -> None:
    """Case 21: what others wrote into the dead-letter topic is visible, and republished nowhere."""
    await shop.producer.send(shop.dead_topic, b"k", None, (("x", None),))
    (row,) = await shop.dead_letters.list_rows()
    detail = (await shop.dead_letters.show(row.id)).document()
    assert (row.code, row.origin, detail["value"], detail["headers"]) == (
        "unknown",
        None,
        None,
        [{"name": "x", "value": None}],
    )
    plan = await shop.dead_letters.plan(Filter(), again=True)
    assert plan.left_out_counts == {LeftOut.ORIGIN_UNKNOWN: 1}


async def test_what_arrives_while_reading_is_not_read(shop: Shop) -> None:
    """Case 21: the end is fixed when reading begins, so republishing what is appended meanwhile does not go on for ever."""
    for n in range(3):
        await shop.publish_and_die(*event(f"s-{n}"), "ci")
    async with aclosing(shop.reader.stream(shop.dead_topic)) as records:
        first = await anext(records)
        await shop.die(first)
        rest = [record async for record in records]
    assert len(rest) == 2


@asynccontextmanager
async def reconciling(shop: Shop, desk: HttpReceiver) -> AsyncIterator[Watcher]:
    """Run a reconciler of the shop on the engine, with a pager at the desk."""
    watcher, group = Watcher(), f"{shop.domain}-hook-dlq"
    async with (
        httpx2.AsyncClient() as client,
        Reconciler(
            domain=shop.domain,
            metrics=Metrics(domain=shop.domain),
            redactor=Redactor(),
            pagers=[WebhookPager(Receiver("desk", desk.url, client))],
            settings=ReconcilerSettings(retry=RetryPolicy(initial_seconds=0.05, max_seconds=0.1)),
        ) as reconciler,
    ):
        engine = Engine(
            open_consumer=partial(GroupConsumer, shop.client, group, shop.dead_topic),
            group=group,
            handler=reconciler,
            dead_letters=None,
            settings=EngineSettings(),
            observer=watcher,
        )
        await engine.start()
        try:
            yield watcher
        finally:
            await engine.stop(5)


async def test_a_letter_is_committed_only_when_its_page_was_accepted(shop: Shop, receiver: HttpReceiver) -> None:
    """Case 20: while the pager refuses, the offset stays; a restart pages again; accepted, the group is settled."""
    await shop.publish_and_die(*event("a"), "ci")
    group = f"{shop.domain}-hook-dlq"
    receiver.default = Answer(503)
    async with reconciling(shop, receiver) as watcher:
        await eventually_async(lambda: len(receiver.requests) >= 1, 30, what="a page was tried")
        assert watcher.done() == []
    assert not await asyncio.to_thread(shop.broker.settled, group, shop.dead_topic)
    receiver.default = Answer(202)
    async with reconciling(shop, receiver) as watcher:
        await eventually_async(lambda: len(watcher.done()) == 1, 30, what="the letter is done")
    assert await asyncio.to_thread(shop.broker.settled, group, shop.dead_topic)


async def test_whatever_lies_in_the_dead_letter_topic_is_reconciled(shop: Shop, receiver: HttpReceiver) -> None:
    """P12, cases 12 and 20: odd records are paged, acknowledged, and never dead-lettered again."""
    for key, value in ODD:
        await shop.producer.send(shop.dead_topic, key, value, ODD_HEADERS)
    async with reconciling(shop, receiver) as watcher:
        await eventually_async(lambda: len(watcher.done()) >= len(ODD) - 1, 30, what="all but the one that answers")
    assert len(receiver.requests) >= 1
    assert len(await shop.read(shop.dead_topic)) == len(ODD)
