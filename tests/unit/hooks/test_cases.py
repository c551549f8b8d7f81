"""Public bug reports, tried on the whole way: the stage on its scheduler, the dead letter, its log line, page and list."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
import tenacity
from pydantic import BaseModel

from hookline.consume import Delivery, GiveUp
from hookline.contract import DeadLetterClass, Event, HookEvent, MalformedRecordError, decode_record, encode_event
from hookline.deadletters import Detail, Page, Reconciler, Row, StoredLetter
from hookline.errs import Redactor
from hookline.hooks import Hooks
from hookline.telemetry import Metrics, configure_logging
from tests.support.hooks import Acting, Script, delivery_of, event_of, settle, stage_of
from tests.unit.hooks.hygiene import Fine, works

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.contract import DeadLetter
    from hookline.kafka import Record
    from tests.unit.hooks.hygiene import Raw

CANARY = "s3cr3t-CANARY-0451"
OWN = Redactor(patterns=[r"ssn[=: ]+(?P<secret>[\w-]+)"])


@pytest.fixture(name="log")
def _log() -> Iterator[StringIO]:
    """Give what the process logs, as it does when it serves."""
    stream, root = StringIO(), logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    configure_logging(level="debug", stream=stream, redact=OWN.redact)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@dataclass
class Desk:
    """A pager that keeps its pages."""

    name: str = "desk"
    keep_seconds: float = 0.0
    pages: list[Page] = field(default_factory=list)

    async def page(self, page: Any) -> None:
        """Take one."""
        self.pages.append(page)


async def reconciled(records: Sequence[Record]) -> list[str]:
    """Log, page, list and show dead letters; return all that was shown, as text."""
    desk = Desk()
    for record in records:  # by a reconciler each, so that none waits for an incident of the one before
        watcher = Reconciler(domain="test", metrics=Metrics(domain="test"), redactor=OWN, pagers=[desk])
        await watcher.handle(Delivery(record))
    assert len(desk.pages) == len(records)
    shown = [json.dumps(page.document(), allow_nan=False) for page in desk.pages]
    for stored in map(StoredLetter.read, records):
        row = Row.of(stored, republished=False, redact=OWN.redact)
        shown.append(json.dumps(row.document(), allow_nan=False))
        shown.append(json.dumps(Detail(row, stored, OWN.redact).document()["failures"], allow_nan=False))
    return shown


def is_malformed(value: bytes | None) -> bool:
    """Tell whether a value makes no event."""
    try:
        decode_record(b"k", value, ())
    except MalformedRecordError:
        return True
    return False


def value_of(**fields: Any) -> bytes:
    """Make the value of a record, as any producer may."""
    return HookEvent(**{"id": "i", "source": "s", "type": "t", **fields}).SerializeToString()


def lines_of(log: StringIO) -> list[Mapping[str, Any]]:
    """Read the log as strict JSON."""
    return [json.loads(line, parse_constant=_refuse) for line in log.getvalue().splitlines()]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


async def letters_of(raw: Sequence[Raw], *hooks: object) -> tuple[list[DeadLetter], list[Record]]:
    """Run records through a stage and return their dead letters, read and as they were written."""
    async with works(*hooks, redactor=OWN) as running:
        running.feed_raw(raw)
        await running.until_settled()
        assert running.broken == []
    return running.post.letters, running.post.records


def failing(name: str = "bad") -> Acting:
    """Make a hook that fails for good, whatever comes."""

    async def fail(_: Event) -> None:
        raise ValueError("no")

    return Acting(name, fail)


async def test_bytes_that_parse(log: StringIO) -> None:
    """P12, case 3 (bytes-that-parse): each cut of a good value is an event of that identity or one letter, bytes and all."""
    good = encode_event(event_of()).value
    raw: list[Raw] = [(b"k", good[:length], ()) for length in range(len(good))]
    raw += [
        (b"k", bytes.fromhex("2a0161"), ()),
        (b"k", value_of() + bytes.fromhex("2a0161"), ()),
        (b"k", good + good, ()),
    ]
    fine = Fine("fine")
    letters, records = await letters_of(raw, fine)
    assert {letter.letter_class for letter in letters} == {DeadLetterClass.MALFORMED}
    assert {letter.code for letter in letters} <= {"decode_error", "invalid_event", "empty_value"}
    assert [letter.value for letter in letters] == [value for _, value, _ in raw if is_malformed(value)]
    assert {type for _, type, _ in fine.done} == {"batch.failed", "t"}
    assert await reconciled(records)
    assert lines_of(log)


@pytest.mark.parametrize(
    "predicate",
    [tenacity.retry_if_not_exception_type(ValueError), tenacity.retry_if_exception(lambda _: True)],
    ids=["not ValueError", "everything"],
)
async def test_a_retry_that_swallows_the_time_limit(predicate: Any) -> None:
    """P10, case 9 (tenacity-swallows-cancel): a hook whose own retry catches its cancellation is not done but overdue."""
    tries = 0

    @tenacity.retry(retry=predicate, stop=tenacity.stop_after_attempt(2))
    async def call(_: Event) -> None:
        nonlocal tries
        tries += 1
        if tries % 2:
            await asyncio.Event().wait()

    sibling = Script("fine")
    async with stage_of(Hooks({"*": [Acting("ci", call), sibling]}), timeout_seconds={"ci": 0.01}) as stage:
        outcome = await settle(stage, delivery_of())
    assert isinstance(outcome, GiveUp)
    assert outcome.letter_class is DeadLetterClass.EXHAUSTED
    assert [(failure.code, failure.attempts) for failure in outcome.failures] == [("timeout", 3)]
    assert (tries, len(sibling.runs)) == (6, 1)


async def test_tombstones_everywhere(log: StringIO) -> None:
    """P12, case 12 (tombstone-everywhere): null and empty, key and value, on the way in and on the dead-letter topic."""
    good = encode_event(event_of()).value
    bad: list[Raw] = [(b"k", None, ()), (None, None, ()), (b"k", b"", ())]
    fine = Fine("fine")
    letters, records = await letters_of([*bad, (None, good, ()), (b"", value_of(), ())], fine)
    assert [(letter.key, letter.value) for letter in letters] == [(key, value) for key, value, _ in bad]
    assert len(fine.done) == 2
    assert await reconciled(records)
    bare = [StoredLetter.read(record).record for record in records]
    assert [record.value for record in bare] == [None, None, b""]
    assert len([line for line in lines_of(log) if line["event"] == "dead letter"]) == 3


async def test_a_letter_is_the_original(log: StringIO) -> None:
    """P14, case 13 (hooks-share-one-event): a hook takes a key out, another reads it; the letter is not written anew."""
    odd = value_of(payload={"z": 1, "a": 2}) + b"\x7a\x01x"  # a field of a later version, behind a map in its own order
    seen: list[object] = []

    async def take_out(event: Event) -> None:
        event.payload.pop("z")  # type: ignore[attr-defined]  # that it is not there is the point

    async def look(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(dict(event.payload))

    (letter,), _ = await letters_of([(b"k", odd, (("x", None),))], Acting("takes", take_out), Acting("looks", look))
    assert (letter.value, letter.headers) == (odd, (("x", None),))
    assert [failure.hook for failure in letter.failures] == ["takes"]
    assert seen == [{"z": 1, "a": 2}]
    assert log.getvalue()


async def test_the_root_cause_is_told() -> None:
    """P14, case 17 (root-cause-hidden): leaves, hook, attempts and times, through groups, wrappers and three attempts."""

    async def fail(_: Event) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.Event().wait())
            tasks.create_task(look_up())
            tasks.create_task(look_up())

    async def look_up() -> None:
        try:
            dict[str, int]()["number"]
        except KeyError as error:
            raise TimeoutError("no answer") from error

    async with works(Acting("ci", fail)) as running:
        running.feed([event_of()])
        await running.until_settled()
    (letter,) = running.post.letters
    (failure,) = letter.failures
    assert (failure.hook, failure.exception, failure.attempts) == ("ci", "KeyError", 3)
    assert failure.causes == ("KeyError: 'number'", "KeyError: 'number'")
    assert letter.letter_class is DeadLetterClass.EXHAUSTED
    assert 0 < letter.first_failed_at_ms <= letter.failed_at_ms


class Person(BaseModel):
    """What a hook makes of a payload."""

    ssn: int


def leaks(event: Event) -> list[Callable[[], object]]:
    """Make what errors say by themselves: headers, DSNs, payloads, somebody's whole input."""

    def say(text: str) -> Callable[[], object]:
        def fail() -> object:
            raise RuntimeError(text)

        return fail

    return [
        say(f"POST failed, Authorization: Bearer {CANARY}"),
        say(f"cannot reach postgres://app:{CANARY}@db/hooks"),
        say(f"refused ssn: {event.payload['ssn']}"),
        lambda: Person.model_validate(event.payload),
        lambda: Person.model_validate({"ssn": {"nested": dict(event.payload)}}),
    ]


async def test_nothing_of_an_error_leaks(log: StringIO) -> None:
    """P15, case 18 (secrets-in-errors): not into a header, a log line, its traceback, a page or a list; the value stays."""

    async def fail(event: Event) -> None:
        leaks(event)[event.version - 1]()

    async def fail_with_cause(event: Event) -> None:
        try:
            await fail(event)
        except Exception as error:
            raise LookupError("wrapped") from error

    hooks = Acting("ci", fail), Acting("chat", fail_with_cause)
    kept = [
        Event.versioned(source="s", type="t", subject="k", version=version, payload={"ssn": CANARY})
        for version in range(1, 6)
    ]
    letters, records = await letters_of([encode_event(event) for event in kept], *hooks)
    assert len(letters) == len(kept)
    for record in records:
        assert CANARY.encode() not in b"".join(value or b"" for _, value in record.headers)
        assert CANARY.encode() in (record.value or b"")
    stage_lines = log.getvalue()
    assert CANARY not in stage_lines
    assert "hook failed for good" in stage_lines
    assert CANARY not in "".join(await reconciled(records))


async def test_numbers_that_json_cannot_hold(log: StringIO) -> None:
    """P12, case 19 (numbers): an event with NaN reaches hooks, log, letter, page and list, all of it strict JSON."""
    nan = value_of(payload={"x": 1}) + bytes.fromhex("32100a0e0a0178120911000000000000f87f")
    kindless = value_of(id="other") + bytes.fromhex("32070a050a01781200")
    fine = Fine("fine")
    letters, records = await letters_of([(b"k", nan, ()), (b"k", kindless, ())], fine, failing())
    assert [payload for _, _, payload in fine.done] == [{"x": "NaN"}, {"x": None}]
    assert [letter.value for letter in letters] == [nan, kindless]
    assert await reconciled(records)
    payloads = [line["payload"] for line in lines_of(log) if line["event"] == "dead letter"]
    assert payloads == [{"x": "NaN"}, {"x": None}]


class Holding(Exception):  # noqa: N818 - what it holds is the point
    """Holds what can be neither copied nor pickled, and an `__init__` that its arguments do not fit."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.code = (code, message)


async def test_errors_that_cannot_be_copied() -> None:
    """P1, case 29 (circular-and-unpicklable): locks, odd arguments, errors that cause each other: one letter each."""

    def circle() -> Exception:
        one, other = Holding(1, "one"), Holding(2, "other")
        one.__cause__, other.__cause__ = other, one
        one.__context__ = ExceptionGroup("g", [other])
        return one

    async def fail(_: Event) -> None:
        raise circle()

    async with works(Acting("ci", fail), Fine("fine")) as running:
        running.feed([event_of(version=version) for version in range(1, 6)])
        await running.until_settled()
        assert running.broken == []
    assert {letter.failures[0].exception for letter in running.post.letters} == {"tests.unit.hooks.test_cases.Holding"}
    assert len(running.post.letters) == 5


TIMES = (0, -1, 1_700_000_000, 1_700_000_000_000_000, 2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001)


async def test_timestamps(log: StringIO) -> None:
    """P12, case 32 (timestamps): seconds, microseconds, ends of time: read or malformed, never a crash on the whole way."""
    raw: list[Raw] = [(b"k", value_of(id=str(ms), timestamp_ms=ms), ()) for ms in TIMES]
    ahead = value_of(id="ahead", timestamp_ms=4_000_000_000_000)
    letters, records = await letters_of([*raw, (b"k", ahead, ())], failing())
    assert len(letters) == len(TIMES) + 1
    assert {letter.code for letter in letters} == {"hook_exception", "invalid_event"}
    assert all(letter.failed_at_ms > 1_700_000_000_000 for letter in letters)
    assert await reconciled(records)
    assert len([line for line in lines_of(log) if line["event"] == "dead letter"]) == len(letters)


async def test_an_age_is_never_negative() -> None:
    """Case 32 (timestamps): a producer whose clock is ahead makes events of age 0, one without a time none at all."""
    metrics = Metrics(domain="test")
    hook, times = Script("fine"), (4_000_000_000_000, 0, -1)
    async with stage_of(Hooks({"*": [hook]})) as stage:
        stage._age = metrics.event_age_seconds.labels()
        for ms in times:
            event = Event(id=str(ms), source="s", type="t", subject="k", timestamp_ms=ms)
            assert not isinstance(await settle(stage, delivery_of(event)), GiveUp)
    assert metrics.value("event_age_seconds_count") == 2
    assert (metrics.value("event_age_seconds_sum") or 0) >= 0
