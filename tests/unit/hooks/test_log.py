"""What the log is told of events and hooks."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookline.consume import Done, Duplicate, GiveUp
from hookline.hooks import EventLog, Hooks
from hookline.telemetry import LOG_FIELDS
from tests.support.hooks import Acting, Script, attempt, delivery_of, event_of, settle, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from hookline import Event
    from hookline.consume import Delivery, Outcome

EVENT = event_of()
ABOUT = {"event_id": EVENT.id, "type": EVENT.type, "subject": EVENT.subject}


class Lines:
    """The lines of the room, as records of the standard library."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self.level(logging.INFO)

    def level(self, level: int) -> None:
        """Log from this level on."""
        self._caplog.set_level(level, logger="hookline.hooks")

    def at(self, level: int) -> list[dict[str, Any]]:
        """Give the fields of the lines at a level, and their event."""
        records = [record for record in self._caplog.records if record.levelno == level]
        return [{"event": record.getMessage(), **record.__dict__["hookline"]} for record in records]

    def traceback(self) -> str:
        """Give the traceback of the last line, as the standard library prints it."""
        record = self._caplog.records[-1]
        assert record.exc_info
        return logging.Formatter().formatException(record.exc_info)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Watch the log of one test."""
    return Lines(caplog)


def told(delivery: Delivery, outcome: Outcome) -> None:
    """Tell the observer how an attempt ended."""
    observer = EventLog()
    observer.started(delivery)
    observer.ended(delivery, outcome, None)


async def test_a_retry_says_which_event_it_is_about(lines: Lines) -> None:
    """Whoever reads the warning knows the event, the hook, why, and when it is tried again."""
    async with stage_of(Hooks({"*": [Script("ci", ConnectionResetError("gone"))]})) as stage:
        await settle(stage, delivery_of(EVENT))
    [line] = lines.at(logging.WARNING)
    assert {**ABOUT, "hook": "ci", "attempt": 1}.items() <= line.items()
    assert {"verdict", "delay_seconds", "error"} <= line.keys()


async def test_a_hook_that_failed_for_good_is_an_error_with_its_traceback(lines: Lines) -> None:
    """One line for each hook that gave up: the event, the place in the code, and how it came there."""

    async def read_batch(event: Event) -> None:
        del event
        raise LookupError("no batch")

    async with stage_of(Hooks({"*": [Acting("ci", read_batch), Script("fine")]})) as stage:
        assert isinstance(await settle(stage, delivery_of(EVENT)), GiveUp)
    [line] = lines.at(logging.ERROR)
    assert {**ABOUT, "hook": "ci", "attempts": 1}.items() <= line.items()
    assert line["location"].endswith(" in read_batch")
    assert "in read_batch" in lines.traceback()
    assert line.keys() <= LOG_FIELDS.keys()


async def test_what_the_hook_said_stands_beside_its_cause(lines: Lines) -> None:
    """P14, case 17 (root-cause-hidden): the message of the dead letter has both, the failure keeps the leaf's."""
    error = ValueError("cannot map batch")
    error.__cause__ = KeyError("k")
    async with stage_of(Hooks({"*": [Script("ci", error)]})) as stage:
        outcome = await settle(stage, delivery_of(EVENT))
    assert isinstance(outcome, GiveUp)
    assert outcome.message == "hook ci: ValueError: cannot map batch <- KeyError: 'k'"
    assert (outcome.failures[0].exception, outcome.failures[0].message) == ("KeyError", "'k'")
    assert lines.at(logging.ERROR)[0]["error"] in outcome.message


class HostileError(Exception):
    """Refuses to be looked at, and to let its traceback go."""

    __traceback__ = property(lambda _: 1 // 0)
    with_traceback = property(lambda _: 1 // 0)


async def test_an_error_that_refuses_to_be_told_is_told(lines: Lines) -> None:
    """Case 29: telling of an error never becomes an error of the stage."""
    async with stage_of(Hooks({"*": [Script("ci", HostileError("said"))]})) as stage:
        assert isinstance(await settle(stage, delivery_of(EVENT)), GiveUp)
    assert len(lines.at(logging.ERROR)) == 1


async def test_success_is_told_at_debug_only(lines: Lines) -> None:
    """An event that was handled, one that is a duplicate and one that no hook wants are lines for whoever asks."""
    async with stage_of(Hooks({"batch.*": [Script("ci"), Script("chat")]})) as stage:
        for level in (logging.INFO, logging.DEBUG):
            lines.level(level)
            handled, unwanted = delivery_of(EVENT), delivery_of(event_of("request.landed"))
            for delivery in (handled, unwanted):
                assert await attempt(stage, delivery) == Done()
                told(delivery, Done())
            told(handled, Duplicate(EVENT.identity, 0))
    first, second, third = lines.at(logging.DEBUG)
    assert first == {"event": "event handled", **ABOUT, "version": 4, "hooks": ["ci", "chat"]}
    assert (second["event"], second["type"]) == ("no hook wants this event", "request.landed")
    assert third == {"event": "duplicate, not run again", **ABOUT, "version": 4}
    assert lines.at(logging.INFO) == []


async def test_a_plain_function_past_its_time_is_one_warning(lines: Lines) -> None:
    """P10, case 22 (hung-sync-hook): while it holds its subject, the log names it and its event."""
    let_go = threading.Event()

    class Blocking:
        name = "blocking"

        def handle(self, event: Event) -> None:
            del event
            let_go.wait(30)

    async with stage_of(Hooks({"*": [Blocking()]}), timeout_seconds={"blocking": 0.01}) as stage:
        running = asyncio.create_task(attempt(stage, delivery_of(EVENT)))
        await eventually_async(lambda: bool(lines.at(logging.WARNING)), 30)
        said = lines.at(logging.WARNING)
        let_go.set()
        await running
    [line] = said
    assert {**ABOUT, "hook": "blocking", "timeout_seconds": 0.01}.items() <= line.items()
