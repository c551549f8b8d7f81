"""The engine on a broker: order, commits, retries, dead letters, stopping, rebalancing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Delivery, Duplicate, EngineSettings, RetryPolicy
from hookline.contract import DeadLetter, DeadLetterClass
from tests.support.engine import QUICK, ScriptedHandler, forever, running, until_settled
from tests.support.kafka import TestBroker
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from tests.support.kafka import RealKafka


async def nothing(_: Delivery) -> None:
    """Succeed."""


def name_of(delivery: Delivery) -> str:
    """Tell the value of a delivery's record."""
    return (delivery.record.value or b"").decode()


async def committed(broker: TestBroker, group: str, topic: str) -> dict[int, int]:
    """Ask for the committed offsets, off the loop."""
    return await asyncio.to_thread(broker.committed, group, topic)


async def moved(broker: TestBroker, group: str, topic: str) -> dict[int, int]:
    """Ask for the committed offsets of the partitions that are not at their start, where an assignment marks them."""
    return {number: offset for number, offset in (await committed(broker, group, topic)).items() if offset}


async def test_records_of_a_subject_run_in_order_across_retries(broker: TestBroker) -> None:
    """P3: while a record of one subject is retried its successors wait, and other subjects go on."""
    topic, group = broker.topic(), "order"
    for n in range(3):
        broker.send(topic, b"slow", f"slow-{n}".encode())
        broker.send(topic, b"fast", f"fast-{n}".encode())

    async def fail_first(delivery: Delivery) -> None:
        if name_of(delivery) == "slow-0" and delivery.attempt < 3:
            raise TimeoutError("not yet")

    async with running(broker, topic, ScriptedHandler(fail_first), group=group) as rig:
        await rig.until_done(6)
        await until_settled(broker, group, topic)
    done = rig.watcher.done()
    assert [value for value in done if value.startswith("slow")] == ["slow-0", "slow-1", "slow-2"]
    assert [value for value in done if value.startswith("fast")] == ["fast-0", "fast-1", "fast-2"]
    assert rig.watcher.started_values.count("slow-0") == 3


async def test_the_commit_stops_at_the_lowest_unsettled(broker: TestBroker) -> None:
    """P5, P6, cases: overtaken-failure. While offset 1 is open the group stands at 1; 2 to 4, which are done, run once."""
    topic, group = broker.topic(), "overtaken"
    for n in range(5):
        broker.send(topic, f"subject-{n}".encode(), f"{n}".encode(), partition=0)

    async def block_one(delivery: Delivery) -> None:
        if name_of(delivery) == "1":
            await forever(delivery)

    async with running(broker, topic, ScriptedHandler(block_one), group=group, drain_seconds=0) as rig:
        await rig.until_done(4)
        for _ in range(100):
            if await moved(broker, group, topic) == {0: 1}:
                break
            await asyncio.sleep(0.05)
    assert await moved(broker, group, topic) == {0: 1}
    async with running(broker, topic, ScriptedHandler(nothing), group=group) as rig:
        await rig.until_done(1)
        await until_settled(broker, group, topic)
    assert rig.watcher.started_values == ["1"]


async def test_an_exhausted_record_becomes_one_dead_letter(broker: TestBroker) -> None:
    """P1, P14: after exactly `max_attempts` the record stands in the dead-letter topic as it was, and only then is committed."""
    topic, dead, group = broker.topic(), broker.topic(), "exhausted"
    headers = (("a", b"1"), ("a", None), ("traceparent", b"00-x"))
    broker.send(topic, b"\xff\xfe", b"bad", headers)
    broker.send(topic, b"\xff\xfe", b"good")

    async def fail(delivery: Delivery) -> None:
        if name_of(delivery) == "bad":
            raise TimeoutError("never")

    async with running(broker, topic, ScriptedHandler(fail), group=group, dead_letters=dead) as rig:
        await rig.until_done(1)
        await until_settled(broker, group, topic)
    assert rig.watcher.started_values == ["bad"] * QUICK.max_attempts + ["good"]
    (record,) = broker.read(dead)
    letter = DeadLetter.from_record(record.key, record.value, record.headers)
    assert (letter.key, letter.value, letter.headers) == (b"\xff\xfe", b"bad", headers)
    assert letter.letter_class is DeadLetterClass.EXHAUSTED
    assert letter.delivery_count == QUICK.max_attempts
    assert letter.group == group


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), BaseException("bare"), asyncio.CancelledError("self-made")],
    ids=lambda error: type(error).__name__,
)
async def test_a_handler_cannot_stop_the_engine(broker: TestBroker, error: BaseException) -> None:
    """P7, cases: baseexception-from-hook. Whatever a handler raises is its own failure; the next record runs."""
    topic, dead, group = broker.topic(), broker.topic(), f"base-{type(error).__name__}"
    broker.send(topic, b"s", b"bad")
    broker.send(topic, b"s", b"good")

    async def raise_it(delivery: Delivery) -> None:
        if name_of(delivery) == "bad":
            raise error

    async with running(broker, topic, ScriptedHandler(raise_it), group=group, dead_letters=dead) as rig:
        await rig.until_done(1)
        await until_settled(broker, group, topic)
    assert rig.watcher.given_up() == [("bad", DeadLetterClass.PERMANENT)]


async def test_a_stop_is_no_failure(broker: TestBroker) -> None:
    """P6, cases: cancel-is-not-failure. What a stop cuts off is neither committed nor dead-lettered nor charged."""
    topic, dead, group = broker.topic(), broker.topic(), "cut-off"
    broker.send(topic, b"s", b"long")
    async with running(
        broker, topic, ScriptedHandler(forever), group=group, dead_letters=dead, drain_seconds=0.1
    ) as rig:
        await eventually_async(lambda: rig.watcher.started_values == ["long"], what="it runs")
    assert rig.watcher.outcomes == []
    assert not any((await committed(broker, group, topic)).values())
    attempts = []

    async def note(delivery: Delivery) -> None:
        attempts.append(delivery.attempt)

    async with running(broker, topic, ScriptedHandler(note), group=group) as rig:
        await rig.until_done(1)
    assert attempts == [1]


async def test_a_stop_does_not_wait_for_backoff(broker: TestBroker) -> None:
    """P8: a record in backoff is dropped at once when the engine stops, and stays uncommitted."""
    topic, group = broker.topic(), "backoff-stop"
    broker.send(topic, b"s", b"failing")

    async def fail(_: Delivery) -> None:
        raise TimeoutError("always")

    patient = RetryPolicy(max_attempts=100, initial_seconds=1000, max_seconds=1000)
    async with running(broker, topic, ScriptedHandler(fail, patient), group=group, drain_seconds=1000) as rig:
        await eventually_async(lambda: len(rig.watcher.outcomes) == 1, what="one attempt")
    assert not any((await committed(broker, group, topic)).values())


async def test_backoff_holds_no_slot(broker: TestBroker) -> None:
    """P8: with a single slot and one subject in a long backoff all others are handled."""
    topic, group = broker.topic(), "no-slot"
    broker.send(topic, b"failing", b"failing")
    for n in range(20):
        broker.send(topic, f"good-{n}".encode(), b"good")

    async def fail(delivery: Delivery) -> None:
        if name_of(delivery) == "failing":
            raise TimeoutError("always")

    patient = RetryPolicy(max_attempts=100, initial_seconds=1000, max_seconds=1000)
    settings = EngineSettings(concurrency=1)
    async with running(broker, topic, ScriptedHandler(fail, patient), group=group, settings=settings) as rig:
        await rig.until_done(20)


async def test_a_completed_identity_is_settled_as_a_duplicate(broker: TestBroker) -> None:
    """P4: the same identity again is not run; one that was dead-lettered is, since only completion marks it."""
    topic, dead, group = broker.topic(), broker.topic(), "duplicates"
    healed = False

    async def act(delivery: Delivery) -> None:
        if name_of(delivery) == "bad" and not healed:
            raise ValueError("permanent")

    handler = ScriptedHandler(act, dedupes=True)
    async with running(broker, topic, handler, group=group, dead_letters=dead) as rig:
        for value in (b"good", b"bad"):
            broker.send(topic, b"s", value)
        await eventually_async(lambda: len(rig.watcher.outcomes) == 2, what="both ended")
        healed = True
        for value in (b"good", b"bad"):
            broker.send(topic, b"s", value)
        await eventually_async(lambda: len(rig.watcher.outcomes) == 4, what="both ended again")
        await until_settled(broker, group, topic)
    assert rig.watcher.done() == ["good", "bad"]
    assert [value for value, outcome in rig.watcher.outcomes if isinstance(outcome, Duplicate)] == ["good"]


async def test_the_intake_is_bounded(broker: TestBroker) -> None:
    """P3: a full window rests the fetching of its partition; when it is worked off everything arrives."""
    topic, group = broker.topic(), "bounded"
    for n in range(300):
        broker.send(topic, b"one subject", f"{n}".encode(), partition=0)
    gate = asyncio.Event()

    async def wait(_: Delivery) -> None:
        await gate.wait()

    settings = EngineSettings(window_records=20, poll_records=10)
    async with running(broker, topic, ScriptedHandler(wait), group=group, settings=settings) as rig:
        await eventually_async(lambda: rig.engine.load().paused_partitions == 1, what="the partition rests")
        gate.set()
        await rig.until_done(300)
        await until_settled(broker, group, topic)
    assert rig.watcher.done() == [str(n) for n in range(300)]


async def test_a_missing_dead_letter_topic_holds_the_record(real_kafka: RealKafka) -> None:
    """P1, cases: dlq-unconfirmed. Without a confirmation nothing is committed; when the topic comes the letter is written."""
    broker = TestBroker(real_kafka)
    topic, group = broker.topic(partitions=1), "held"
    dead = f"{topic}-later"
    broker.send(topic, b"bad", b"bad")
    broker.send(topic, b"good", b"good")

    async def fail(delivery: Delivery) -> None:
        if name_of(delivery) == "bad":
            raise ValueError("permanent")

    async with running(broker, topic, ScriptedHandler(fail), group=group, dead_letters=dead) as rig:
        await rig.until_done(1)
        await eventually_async(lambda: rig.engine.status.held_dead_letters == 1, 30, what="the letter is held")
        assert (await committed(broker, group, topic)).get(0, 0) == 0
        await asyncio.to_thread(real_kafka.create_topic, dead, 1)
        await eventually_async(lambda: bool(rig.watcher.given_up()), 60, what="the letter is written")
        await until_settled(broker, group, topic)
    assert [record.value for record in broker.read(dead)] == [b"bad"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_second_member_takes_over_without_loss(real_kafka: RealKafka, protocol: str) -> None:
    """P5, P13, cases: stale-commit-after-revoke. A member joins and leaves under load: all is done, and in order."""
    broker = TestBroker(real_kafka)
    topic, group = broker.topic(partitions=4), f"takeover-{protocol}"
    ran: list[int] = []

    def send(numbers: range) -> None:
        for n in numbers:
            broker.send(topic, f"subject-{n % 20}".encode(), f"{n}".encode())

    async def act(delivery: Delivery) -> None:
        await asyncio.sleep(0.01)
        ran.append(int(name_of(delivery)))

    options = {"group.protocol": "consumer"} if protocol == "consumer" else {"session.timeout.ms": "6000"}
    settings = EngineSettings(concurrency=4)
    handler = ScriptedHandler(act)
    send(range(100))
    async with running(broker, topic, handler, group=group, settings=settings, options=options) as first:
        await first.until_done(20)
        async with running(broker, topic, handler, group=group, settings=settings, options=options) as second:
            await asyncio.to_thread(send, range(100, 300))
            await second.until_done(5)
        await eventually_async(lambda: set(ran) == set(range(300)), 30, what="all are done")
        await until_settled(broker, group, topic)
    for subject in range(20):
        mine = [n for n in ran if n % 20 == subject]
        assert list(dict.fromkeys(mine)) == sorted(set(mine))
