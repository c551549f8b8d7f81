"""Listing and republishing over topics in memory: confirmed, in order, and safe to run again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.contract import Origin
from hookline.deadletters import DeadLetters, Fate, Filter, PlanRefusedError, UnknownDeadLetterError
from hookline.kafka import Acknowledgement, BrokerError, ProduceError, Record, RecordTooLargeError
from tests.unit.deadletters.making import (
    DEAD_TOPIC,
    HOOK_TOPIC,
    NOW_MS,
    StillClock,
    bare_record,
    event,
    letter,
    record_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from hookline.contract import Headers


@dataclass
class Topics:
    """Topics in memory: read like Kafka, written like a producer that may refuse. One partition each."""

    records: dict[str, list[Record]] = field(default_factory=lambda: {HOOK_TOPIC: [], DEAD_TOPIC: []})
    refusals: Mapping[bytes, ProduceError] = field(default_factory=dict)
    largest_headers_bytes: int = 1_000_000

    async def read(self, topic: str, since_ms: int | None) -> AsyncGenerator[Record, None]:
        """Give the records that lie there now."""
        for record in tuple(self.records[topic]):
            if since_ms is None or (record.timestamp_ms or 0) >= since_ms:
                yield record

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Append a record, or refuse it by its value."""
        await asyncio.sleep(0)
        if value is not None and value in self.refusals:
            raise self.refusals[value]
        if sum(len(name) + len(text or b"") for name, text in headers) > self.largest_headers_bytes:
            raise RecordTooLargeError("too large", "MSG_SIZE_TOO_LARGE")
        offset = len(self.records[topic])
        self.records[topic].append(Record(topic, 0, offset, NOW_MS, key, value, headers))
        return Acknowledgement(topic, 0, offset)

    def add_letters(self, *subjects: str) -> list[bytes]:
        """Put one dead letter per subject named into the dead-letter topic and return their values."""
        letters = [
            letter(event(subject, version=n + 1), source=Origin(HOOK_TOPIC, 0, 1000 + n))
            for n, subject in enumerate(subjects)
        ]
        self.records[DEAD_TOPIC] += [record_of(each, offset) for offset, each in enumerate(letters)]
        return [each.value or b"" for each in letters]

    @property
    def dead_letters(self) -> DeadLetters:
        """The library over these topics."""
        return DeadLetters(self.read, dead_letter_topic=DEAD_TOPIC, hook_topics={HOOK_TOPIC}, clock=StillClock().clock)

    async def republish(self, chosen: Filter | None = None) -> dict[str, Fate]:
        """Plan and execute, and return each letter's fate."""
        plan = await self.dead_letters.plan(chosen or Filter())
        report = await self.dead_letters.execute(plan, self, reason="mended", operator="kim")
        return {result.id: result.fate for result in report.results}


async def test_a_plan_alone_sends_nothing() -> None:
    """Looking changes nothing: list, show and plan write no record."""
    topics = Topics()
    topics.add_letters("a", "b")
    await topics.dead_letters.list_rows()
    await topics.dead_letters.show("0/1")
    assert len((await topics.dead_letters.plan(Filter())).letters) == 2
    assert topics.records[HOOK_TOPIC] == []


async def test_a_letter_is_republished_once_over_any_number_of_runs() -> None:
    """P14, case 8: the second run of the same command finds nothing left to send and says how many it left out."""
    topics = Topics()
    topics.add_letters("a", "b", "a")
    assert set((await topics.republish()).values()) == {Fate.CONFIRMED}
    plan = await topics.dead_letters.plan(Filter())
    assert (len(plan.letters), sum(plan.left_out_counts.values())) == (0, 3)
    assert [row.republished for row in await topics.dead_letters.list_rows()] == [True] * 3


async def test_a_plan_executed_twice_sends_once() -> None:
    """Case 21: executing looks at the hook topic again, so an old plan, or one made beside it, repeats nothing."""
    topics = Topics()
    topics.add_letters("a", "b")
    plan = await topics.dead_letters.plan(Filter())
    await topics.dead_letters.execute(plan, topics, reason="mended", operator="kim")
    report = await topics.dead_letters.execute(plan, topics, reason="mended", operator="kim")
    assert len(topics.records[HOOK_TOPIC]) == 2
    assert report.counts == {Fate.SENT_BEFORE: 2}
    assert report.is_complete


async def test_an_error_of_the_broker_halts_and_the_next_run_finishes() -> None:
    """An interrupted republish says what was not sent, and running it again sends exactly that."""
    topics = Topics()
    values = topics.add_letters("a", "a", "a")
    topics.refusals = {values[1]: BrokerError("away", "_TRANSPORT")}
    assert list((await topics.republish()).values()) == [Fate.CONFIRMED, Fate.FAILED, Fate.NOT_SENT]
    topics.refusals = {}
    assert list((await topics.republish()).values()) == [Fate.CONFIRMED, Fate.CONFIRMED]
    assert [record.value for record in topics.records[HOOK_TOPIC]] == values


async def test_a_letter_that_is_too_large_holds_back_its_own_subject_only() -> None:
    """One impossible letter does not keep the others of the plan from their hooks, nor lets its subject overtake it."""
    topics = Topics()
    values = topics.add_letters("a", "b", "a")
    topics.refusals = {values[0]: RecordTooLargeError("too large", "MSG_SIZE_TOO_LARGE")}
    fates = await topics.republish()
    assert list(fates.values()) == [Fate.FAILED, Fate.CONFIRMED, Fate.NOT_SENT]


async def test_an_event_near_the_limit_goes_without_who_when_and_why() -> None:
    """P14: what republishing adds for people does not keep an event out of its topic; what it is known by stays."""
    topics = Topics(largest_headers_bytes=0)
    topics.add_letters("a")
    assert list((await topics.republish()).values()) == [Fate.FAILED]
    roomy = Topics()
    roomy.add_letters("a")
    await roomy.republish()
    (whole,) = roomy.records[HOOK_TOPIC]
    topics.largest_headers_bytes = sum(len(name) + len(text or b"") for name, text in whole.headers) - 1
    assert list((await topics.republish()).values()) == [Fate.CONFIRMED]
    (bare,) = topics.records[HOOK_TOPIC]
    dropped = {name for name, _ in whole.headers} - {name for name, _ in bare.headers}
    assert dropped == {f"hookline-redrive-{word}" for word in ("at", "by", "reason")}
    assert set((await topics.dead_letters.plan(Filter())).left_out_counts.values()) == {1}


async def test_stopping_ends_between_letters() -> None:
    """A run that is told to stop sends nothing more and reports what is left."""
    topics = Topics()
    topics.add_letters("a", "b")
    stopping = asyncio.Event()
    stopping.set()
    plan = await topics.dead_letters.plan(Filter())
    report = await topics.dead_letters.execute(plan, topics, reason="r", operator="kim", stopping=stopping)
    assert report.counts == {Fate.NOT_SENT: 2}
    assert not report.is_complete


async def test_a_reason_is_needed() -> None:
    """Nobody republishes without saying why."""
    topics = Topics()
    plan = await topics.dead_letters.plan(Filter())
    with pytest.raises(PlanRefusedError):
        await topics.dead_letters.execute(plan, topics, reason=" ", operator="kim")


async def test_rows_and_reports_are_documents_for_scripts() -> None:
    """What `--output json` prints has stable names, the id of a row is the id of its result, and JSON can hold it."""
    topics = Topics()
    topics.add_letters("a")
    (row,) = await topics.dead_letters.list_rows(Filter(limit=1))
    plan = await topics.dead_letters.plan(Filter(ids=(row.id,)))
    report = await topics.dead_letters.execute(plan, topics, reason="mended", operator="kim")
    listed, told = row.document(), report.document()
    assert (listed["hooks"], listed["class"], listed["redrives"]) == (["ci"], "permanent", 0)
    assert (told["republished"], told["failed"], told["not_sent"], told["sent_before"]) == (1, 0, 0, 0)
    assert told["results"] == [{"id": row.id, "result": "confirmed", "target": f"{HOOK_TOPIC}/0/0", "error": None}]
    assert json.dumps([listed, told, plan.document(), (await topics.dead_letters.show(row.id)).document()])


async def test_an_unknown_id_is_said_by_name() -> None:
    """Showing what is not there is an error of its own."""
    with pytest.raises(UnknownDeadLetterError):
        await Topics().dead_letters.show("9/9")


async def test_the_whole_of_an_odd_record_can_be_shown() -> None:
    """Cases 6 and 12: bytes that are no UTF-8, null and empty are told apart, headers keep order and repeats."""
    topics = Topics()
    odd: Headers = (("a", None), ("a", b""), ("a", b"\xff"), ("é", b"x"))
    topics.records[DEAD_TOPIC] = [bare_record(b"\xff", None, odd)]
    document = (await topics.dead_letters.show("0/0")).document()
    assert document["headers"] == [
        {"name": "a", "value": None},
        {"name": "a", "value": ""},
        {"name": "a", "value_base64": "/w=="},
        {"name": "é", "value": "x"},
    ]
    assert (document["key_base64"], document["value"], document["event"]) == ("/w==", None, None)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.sets(st.integers(0, 11)))
def test_every_subject_keeps_its_order_over_failures_and_runs(subjects: list[str], failing: set[int]) -> None:
    """P3, P14: over a failing run and a second one each letter is sent once, a subject's in the order of the dead-letter topic."""
    topics = Topics()
    values = topics.add_letters(*subjects)
    topics.refusals = {values[n]: BrokerError("away", "_TRANSPORT") for n in failing if n < len(values)}

    async def play() -> None:
        await topics.republish()
        topics.refusals = {}
        await topics.republish()

    asyncio.run(play())
    sent = topics.records[HOOK_TOPIC]
    assert sorted(record.value or b"" for record in sent) == sorted(values)
    for subject in set(subjects):
        order = [values.index(record.value or b"") for record in sent if record.key == subject.encode()]
        assert order == sorted(order)
