"""The stage on the engine, on both brokers: from the bytes of a record to its dead letter or its commit."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Self

import pytest

from hookline.consume import Duplicate, Hold, RetryPolicy
from hookline.contract import DeadLetter, DeadLetterClass, encode_event
from hookline.hooks import Hooks, Stage
from tests.support.engine import running, until_settled
from tests.support.hooks import Acting, Script, event_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from hookline.contract import Event, Headers
    from tests.support.engine import Rig
    from tests.support.kafka import TestBroker


DRAIN_SECONDS = 1.0


class Shop:
    """A domain on a broker: what publishes to it, runs its stage, and reads its dead letters."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.domain = broker.domain()
        self.topic, self.dead_topic, self.group = (
            f"{self.domain}-hook",
            f"{self.domain}-hook_dlq",
            f"{self.domain}-hook",
        )

    def publish(self, event: Event, headers: Headers = ()) -> None:
        """Publish an event with more headers."""
        record = encode_event(event)
        self.broker.send(self.topic, record.key, record.value, (*record.headers, *headers))

    def running(self, stage: Stage) -> AbstractAsyncContextManager[Rig]:
        """Run a stage on the engine."""
        return running(
            self.broker,
            self.topic,
            stage,
            group=self.group,
            dead_letters=self.dead_topic,
            drain_seconds=DRAIN_SECONDS,
            memory=stage.memory,
        )

    async def until_settled(self) -> None:
        """Wait until the group has committed to the end."""
        await until_settled(self.broker, self.group, self.topic)

    async def letters(self) -> list[DeadLetter]:
        """Read the dead letters."""
        records = await asyncio.to_thread(self.broker.read, self.dead_topic)
        return [DeadLetter.from_record(record.key, record.value, record.headers) for record in records]


@pytest.fixture
def shop(broker: TestBroker) -> Shop:
    """Give a domain of its own to one test."""
    return Shop(broker)


async def test_hooks_run_together_and_are_committed_when_all_are_done(shop: Shop) -> None:
    """P5, P7: two hooks of one event wait for each other; the group commits once both have returned."""
    meeting = asyncio.Barrier(2)

    async def meet(_: Event) -> None:
        await meeting.wait()

    shop.publish(event_of())
    async with stage_of(Hooks({"*": [Acting("a", meet), Acting("b", meet)]})) as stage, shop.running(stage) as rig:
        await rig.until_done(1)
        await shop.until_settled()
    assert await shop.letters() == []


async def test_one_dead_letter_names_exactly_the_hooks_that_failed(shop: Shop) -> None:
    """P7, P14, case 13: permanent and spent failures beside a success; siblings once, the record as it came."""
    wrong, spent, fine = Script("wrong", ValueError("no")), Script("spent", *[TimeoutError()] * 9), Script("fine")
    flaky = Script("flaky", TimeoutError(), TimeoutError())
    shop.publish(event_of(), (("traceparent", b"00-x"),))
    async with stage_of(Hooks({"*": [wrong, spent, fine, flaky]})) as stage, shop.running(stage):
        await shop.until_settled()
    assert [len(hook.runs) for hook in (wrong, spent, fine, flaky)] == [1, 3, 1, 3]
    (letter,) = await shop.letters()
    record = encode_event(event_of())
    assert {failure.hook for failure in letter.failures} == {"wrong", "spent"}
    assert letter.letter_class is DeadLetterClass.PERMANENT
    assert letter.key == record.key
    assert dict(letter.headers)["traceparent"] == b"00-x"


async def test_malformed_records_are_dead_letters_byte_for_byte(shop: Shop) -> None:
    """P12, cases 3 and 12: none reaches a hook, each is one letter with its bytes as they were, and the rest goes on."""
    bad: list[tuple[bytes | None, bytes | None]] = [
        (b"k", None), (None, None), (b"k", b""), (b"k", b"xxxx"), (b"k", b"hello"), (b"\xff\xfe", b"\x00\xff"),
    ]  # fmt: skip
    for key, value in bad:
        shop.broker.send(shop.topic, key, value)
    shop.publish(event_of())
    hook = Script("a")
    async with stage_of(Hooks({"*": [hook]})) as stage, shop.running(stage) as rig:
        await rig.until_done(1)
        await shop.until_settled()
    letters = await shop.letters()
    assert sorted(((each.key, each.value) for each in letters), key=repr) == sorted(bad, key=repr)
    assert {each.letter_class for each in letters} == {DeadLetterClass.MALFORMED}
    assert [event.id for event in hook.runs] == [event_of().id]


async def test_a_resolver_that_fails_is_a_dead_letter(shop: Shop) -> None:
    """P1, case 14: never "no hooks"; the next event is asked for anew."""

    class Moody:
        def for_event(self, event: Event) -> list[Script]:
            if event.subject == "bad":
                raise SystemExit(0)
            return [fine]

    fine = Script("fine")
    shop.publish(event_of(subject="bad"))
    shop.publish(event_of(subject="good"))
    async with stage_of(Moody()) as stage, shop.running(stage) as rig:
        await rig.until_done(1)
        await shop.until_settled()
    (letter,) = await shop.letters()
    assert (letter.key, letter.letter_class, letter.code) == (b"bad", DeadLetterClass.PERMANENT, "resolver_failed")
    assert len(fine.runs) == 1


async def test_a_republished_event_runs_what_had_failed(shop: Shop) -> None:
    """P4, P14, cases: dedupe-eats-republish. Its letter marks nothing as completed, so it runs; a repeat is a duplicate; --again runs; gone is told."""
    redrive: Headers = (
        ("hookline-redrives", b"1"),
        ("hookline-redrive-hooks", json.dumps(["mended"]).encode()),
        ("hookline-redrive-operation", b"op"),
    )
    mended, other = Script("mended", ValueError("no")), Script("other")
    shop.publish(event_of())
    async with stage_of(Hooks({"*": [mended, other]})) as stage, shop.running(stage) as rig:
        await shop.until_settled()
        shop.publish(event_of(), redrive)
        await rig.until_done(1)
        shop.publish(event_of(), redrive)
        await eventually_async(lambda: _duplicates(rig) == 1, 30, what="the repeat is known")
        shop.publish(event_of(), (*redrive, ("hookline-redrive-again", b"true")))
        await rig.until_done(2)
        gone = (redrive[0], ("hookline-redrive-hooks", b'["gone"]'), redrive[2])
        shop.publish(event_of(version=5), gone)
        await shop.until_settled()
    assert (len(mended.runs), len(other.runs)) == (3, 1)
    letters = await shop.letters()
    assert {letter.code for letter in letters} == {"hook_exception", "hook_gone"}
    assert len(letters) == 2


def _duplicates(rig: Rig) -> int:
    return sum(isinstance(outcome, Duplicate) for _, outcome in rig.watcher.outcomes)


class Room:
    """A hook to be entered, which works at the second time only; it notes what happens to it."""

    name = "room"

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def __aenter__(self) -> Self:
        self.notes.append("enter")
        if len(self.notes) == 1:
            raise ConnectionRefusedError
        return self

    async def __aexit__(self, *_: object) -> None:
        self.notes.append("exit")

    async def handle(self, event: Event) -> None:
        """Note it."""
        self.notes.append(event.subject)


async def test_a_hook_is_entered_before_its_first_event_and_left_after_the_drain(shop: Shop) -> None:
    """P7, P9: while it cannot be entered its events wait, uncharged, and its sibling goes on at once."""
    room, sibling = Room(), Script("sibling")
    shop.publish(event_of(subject="s"))
    async with stage_of(Hooks({"*": [room, sibling]})) as stage, shop.running(stage) as rig:
        await eventually_async(lambda: len(sibling.runs) == 1, 30, what="the sibling ran")
        await rig.until_done(1)
        await shop.until_settled()
        assert "exit" not in room.notes
    assert room.notes == ["enter", "enter", "s", "exit"]
    assert len(sibling.runs) == 1
    assert await shop.letters() == []


async def test_a_hook_limits_how_many_events_it_handles_at_once(shop: Shop) -> None:
    """P8: a hook that is full holds up neither other hooks nor the events of others."""
    inside, most = 0, 0
    door = asyncio.Event()
    passed = Script("free")

    async def crowd(_: Event) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await door.wait()
        inside -= 1

    for number in range(6):
        shop.publish(event_of(subject=f"s-{number}"))
    hooks = Hooks({"*": [Acting("narrow", crowd), passed]})
    async with stage_of(hooks, concurrency={"narrow": 2}) as stage, shop.running(stage) as rig:
        await eventually_async(lambda: len(passed.runs) == 6, 30, what="the free hook has seen all")
        door.set()
        await rig.until_done(6)
        await shop.until_settled()
    assert most == 2
    assert len(passed.runs) == 6


async def test_what_hooks_have_come_to_outlives_a_restart(shop: Shop) -> None:
    """P6, P7: in another process the done hook and the failed one are not run again; the letter names the failed one."""
    patient = RetryPolicy(max_attempts=3, initial_seconds=1_000, max_seconds=1_000)
    done, wrong, slow = Script("done"), Script("wrong", ValueError("no")), Script("slow", TimeoutError())
    shop.publish(event_of())
    async with stage_of(Hooks({"*": [done, wrong, slow]}), retry=patient) as stage, shop.running(stage) as rig:
        await eventually_async(lambda: len(rig.watcher.outcomes) == 1, 30, what="one attempt")
    waiting = Script("slow")
    async with stage_of(Hooks({"*": [done, wrong, waiting]})) as stage, shop.running(stage) as rig:
        await eventually_async(lambda: len(rig.watcher.outcomes) == 1, 30, what="another attempt")
    assert [type(outcome) for _, outcome in rig.watcher.outcomes] == [Hold]
    gone = Hooks({"*": [done, wrong]})
    async with stage_of(gone) as stage, shop.running(stage):
        await shop.until_settled()
    assert [len(hook.runs) for hook in (done, wrong, slow, waiting)] == [1, 1, 1, 0]
    (letter,) = await shop.letters()
    assert [(failure.hook, failure.attempts) for failure in letter.failures] == [("wrong", 1)]


async def test_a_completed_event_is_known_after_a_restart(shop: Shop) -> None:
    """P4: a repeat is a duplicate in another process too, and one that was dead-lettered runs there."""
    fine, wrong = event_of(subject="fine"), event_of(subject="wrong")

    async def act(event: Event) -> None:
        if event.subject == "wrong":
            raise ValueError("no")

    for event in (fine, wrong):
        shop.publish(event)
    async with stage_of(Hooks({"*": [Acting("a", act)]})) as stage, shop.running(stage):
        await shop.until_settled()
    mended = Script("a")
    for event in (fine, wrong):
        shop.publish(event)
    async with stage_of(Hooks({"*": [mended]})) as stage, shop.running(stage) as rig:
        await shop.until_settled()
    assert _duplicates(rig) == 1
    assert [event.subject for event in mended.runs] == ["wrong"]
