"""What an engine finds at an assignment: what its owner before left, in any state, and what is not there any more."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer, TopicPartition

from hookline.consume import Delivery, Duplicate, Fingerprint
from hookline.contract import DeadLetterClass
from hookline.telemetry import Metrics
from tests.support.engine import QUICK, ScriptedHandler, forever, running, until_settled
from tests.support.kafka import TestBroker
from tests.support.positions import commit, marks_of, positions
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from hookline.consume import Identity
    from hookline.consume._marks import Marks
    from hookline.kafka import Record
    from tests.support.kafka import RealKafka
    from tests.support.kafka._own import OwnKafka

_SECONDS = 30
_RECORDS = 1_400
_VECTORS = Path(__file__).parents[1] / "vectors" / "commit-marks"
_RELEASED = [
    pytest.param(each, id=f"{path.stem}-{each['name']}")
    for path in sorted(_VECTORS.glob("version-*.json"))
    for each in json.loads(path.read_text(encoding="utf-8"))["texts"]
    if each["marks"]["frontier"] < _RECORDS
]


class Memory:
    """Takes the value for the id, says nothing to save, and keeps what it is given back, by offset."""

    def __init__(self) -> None:
        self.restored: dict[int, str] = {}
        self.attempts: dict[int, int] = {}

    def save(self, delivery: Delivery) -> bytes:
        """Say nothing."""
        del delivery
        return b""

    def restore(self, delivery: Delivery, saved: bytes) -> None:
        """Keep it."""
        self.restored[delivery.record.offset] = saved.hex()

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Read it as the handler does."""
        return ("test", (record.value or b"").decode()), record.value or b""

    def fingerprint(self, delivery: Delivery) -> Fingerprint:
        """Keep the value."""
        return delivery.record.value or b""

    def says_the_same(self, delivery: Delivery, earlier: Fingerprint) -> bool:
        """Compare values."""
        return delivery.record.value == earlier

    async def act(self, delivery: Delivery) -> None:
        """Succeed, and keep which attempt it was."""
        self.attempts[delivery.record.offset] = delivery.attempt


@pytest.fixture(scope="module")
def long_topic(real_kafka: RealKafka) -> str:
    """Give a topic of one partition with many records, each of a subject of its own."""
    topic = real_kafka.fresh_topic(partitions=1)
    producer = Producer({"bootstrap.servers": real_kafka.bootstrap, "log_level": 0})
    for number in range(_RECORDS):
        producer.produce(topic, b"%d" % number, b"s%d" % number, partition=0)
    producer.flush(_SECONDS)
    return topic


@pytest.mark.parametrize("released", _RELEASED)
async def test_what_each_release_has_left_is_taken_up(
    real_kafka: RealKafka, long_topic: str, released: dict[str, Any]
) -> None:
    """P1, P6: rolled forward from the metadata of a release, what was settled does not run, the rest does, at its attempt."""
    broker, group = TestBroker(real_kafka), f"roll-{released['name'].replace(' ', '-')}"
    position, marks, memory, metrics = released["position"], released["marks"], Memory(), Metrics(domain="test")
    commit(broker, group, long_topic, {0: (position, released["text"])})
    states = [(range(start, end), state) for start, end, state in marks["states"]]
    unsettled = {offset for start, end in marks["open"] for offset in range(start, end)}
    handler, dead = ScriptedHandler(memory.act), broker.topic()
    async with running(
        broker, long_topic, handler, group=group, dead_letters=dead, memory=memory, metrics=metrics
    ) as rig:
        await until_settled(broker, group, long_topic)
    assert set(memory.attempts) == unsettled | set(range(marks["frontier"], _RECORDS))
    assert rig.watcher.started_values == [f"{offset}" for offset in sorted(memory.attempts)]
    known = {offset: state for offsets, state in states for offset in offsets}
    assert memory.attempts == {o: known[o]["attempt"] if o in known else 1 for o in memory.attempts}
    assert memory.restored == {offset: state["saved"] for offset, state in known.items()}
    assert _lost(metrics) == {}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("foreign", "written by somebody else"),
        ("foreign", "hl1.AgBz73B9"),
        ("torn", "hl1.AgBz73B"),
        ("newer", "hl2.AgBz73B9"),
    ],
    ids=["foreign", "of another offset", "torn", "newer"],
)
async def test_metadata_that_says_nothing_is_counted_and_work_goes_on(broker: TestBroker, kind: str, text: str) -> None:
    """P1, P6, P11: whoever wrote it, from its offset on all run, at their first attempt, and nobody is suspected."""
    topic, group, metrics = broker.topic(), f"says-nothing-{kind}-{len(text)}", Metrics(domain="test")
    for number in range(4):
        broker.send(topic, b"s", b"%d" % number, partition=0)
    commit(broker, group, topic, {0: (1, text)})
    memory, dead = Memory(), broker.topic()
    handler = ScriptedHandler(memory.act)
    async with running(broker, topic, handler, group=group, dead_letters=dead, memory=memory, metrics=metrics) as rig:
        await until_settled(broker, group, topic)
    assert rig.watcher.done() == ["1", "2", "3"]
    assert memory.attempts == {1: 1, 2: 1, 3: 1}
    assert _lost(metrics) == {kind: 1}
    assert metrics.value("unclean_starts_total") == 0
    marks = await asyncio.to_thread(marks_of, broker, group, topic)
    assert marks is not None
    assert marks.clean


async def test_what_retention_deleted_unread_is_counted_and_logged(
    real_kafka: RealKafka, caplog: pytest.LogCaptureFixture
) -> None:
    """P1: records between the committed offset and the first that is still there are gone, and somebody is told how many."""
    broker, metrics, group = TestBroker(real_kafka), Metrics(domain="test"), "gap"
    topic = broker.topic(partitions=1)
    for number in range(6):
        broker.send(topic, b"s", b"%d" % number)
    commit(broker, group, topic, {0: (2, "")})
    place = TopicPartition(topic, 0, 5)
    real_kafka.admin.delete_records([place])[place].result(_SECONDS)
    async with running(broker, topic, ScriptedHandler(Memory().act), group=group, metrics=metrics) as rig:
        await until_settled(broker, group, topic)
    assert rig.watcher.done() == ["5"]
    assert metrics.value("retention_gap_records_total") == 3
    (line,) = [vars(each)["hookline"] for each in caplog.records if each.levelname == "ERROR"]
    assert (line["records"], line["first"], line["last"]) == (3, 2, 4)


@pytest.mark.real_broker
async def test_a_broker_that_refuses_metadata_is_given_the_offset_alone(terse_kafka: OwnKafka) -> None:
    """P1, P5, P6: counted; what is settled is committed and what fails is retried and dead-lettered all the same."""
    broker, metrics, group = TestBroker(terse_kafka), Metrics(domain="test"), "terse"
    topic, dead = broker.topic(partitions=1), broker.topic(partitions=1)
    for number in range(20):
        broker.send(topic, b"s%d" % number, b"%d" % number)
    broker.send(topic, b"bad", b"bad")
    gate = asyncio.Event()

    async def act(delivery: Delivery) -> None:
        if delivery.record.value == b"bad":
            if delivery.attempt > 1:
                await gate.wait()
            raise TimeoutError("never")

    handler = ScriptedHandler(act)
    async with running(broker, topic, handler, group=group, dead_letters=dead, memory=Memory(), metrics=metrics) as rig:
        await rig.until_done(20)
        await eventually_async(lambda: _lost(metrics).get("refused"), _SECONDS, what="the metadata is refused")
        await eventually_async(lambda: _is_at(broker, group, topic, 20), _SECONDS, what="the offset is committed")
        gate.set()
        await until_settled(broker, group, topic)
    assert rig.watcher.given_up() == [("bad", DeadLetterClass.EXHAUSTED)]
    assert rig.watcher.started_values.count("bad") == QUICK.max_attempts


async def test_what_completed_beyond_the_position_is_known_after_a_restart(broker: TestBroker) -> None:
    """P4, P6: behind a record that is not settled, done ones do not run again and their repeats are duplicates."""
    topic, dead, group = broker.topic(), broker.topic(), "beyond"
    for value in (b"open", b"done", b"bad"):
        broker.send(topic, value, value, partition=1)

    async def first(delivery: Delivery) -> None:
        if delivery.record.value == b"open":
            await forever(delivery)
        if delivery.record.value == b"bad":
            raise ValueError("permanent")

    run = partial(running, broker, topic, group=group, dead_letters=dead, drain_seconds=0)
    async with run(ScriptedHandler(first, dedupes=True), memory=Memory()) as rig:
        await eventually_async(lambda: len(rig.watcher.outcomes) == 2, _SECONDS, what="two have ended")
        await eventually_async(lambda: _tells_settled(broker, group, topic, 1, 2), _SECONDS, what="a commit tells it")
    for value in (b"done", b"bad"):
        broker.send(topic, value, value, partition=1)
    memory = Memory()
    async with run(ScriptedHandler(memory.act, dedupes=True), memory=memory) as rig:
        await until_settled(broker, group, topic)
    assert sorted(memory.attempts) == [0, 4]
    assert [value for value, outcome in rig.watcher.outcomes if isinstance(outcome, Duplicate)] == ["done"]


def _lost(metrics: Metrics) -> dict[str, float]:
    reasons = ("foreign", "newer", "overflow", "refused", "torn", "unanswered")
    counts = {reason: metrics.value("commit_metadata_lost_total", reason=reason) for reason in reasons}
    return {reason: count for reason, count in counts.items() if count}


def _is_at(broker: TestBroker, group: str, topic: str, offset: int) -> bool:
    return positions(broker, group, topic).get(0, (0, ""))[0] == offset


def _tells_settled(broker: TestBroker, group: str, topic: str, partition: int, offset: int) -> bool:
    marks: Marks | None = marks_of(broker, group, topic, partition)
    return marks is not None and offset < marks.frontier and marks.is_settled(offset)
