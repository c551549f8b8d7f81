"""The reconciler: logged, counted, paged, and only then done (case 20, reconciler-paging)."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import Delivery, Retry
from hookline.contract import DeadLetterClass
from hookline.deadletters import PageNotAcceptedError, Reconciler, ReconcilerSettings, UpdateOwedError
from hookline.errs import Redactor, Subject
from hookline.telemetry import LOG_FIELDS, Metrics
from tests.unit.deadletters.making import FakePager, StillClock, bare_record, failure, letter, record_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.kafka import Record


def reconciler(*pagers: FakePager, time: StillClock | None = None, log_payload: bool = True) -> Reconciler:
    return Reconciler(
        domain="shop",
        metrics=Metrics(domain="shop"),
        redactor=Redactor(),
        pagers=pagers,
        settings=ReconcilerSettings(log_payload=log_payload),
        clock=(time or StillClock()).clock,
    )


def delivery(record: Record | None = None) -> Delivery:
    return Delivery(record=record or record_of(letter()))


class Lines:
    """What the room logs, as records of the standard library."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._caplog.set_level(logging.INFO)

    def errors(self) -> list[Mapping[str, object]]:
        """Give the fields of the lines at ERROR."""
        return [record.__dict__["hookline"] for record in self._caplog.records if record.levelno == logging.ERROR]

    async def of(self, record: Record, *, log_payload: bool = True) -> Mapping[str, object]:
        """Reconcile a record and give the fields of its line."""
        await reconciler(log_payload=log_payload).handle(delivery(record))
        return self.errors()[-1]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Watch the log of one test."""
    return Lines(caplog)


async def test_the_full_event_is_logged_with_its_attribution(lines: Lines) -> None:
    """The log line alone is enough to recover the event, and says which hooks failed, why and where."""
    line = await lines.of(record_of(letter(), 4))
    assert line["payload"] == {"batch_id": "batch-1"}
    assert (line["event_id"], line["type"]) == ("shop/batch.failed/batch-1/1", "batch.failed")
    assert (line["hook"], line["code"], line["host"], line["http_status"]) == (
        "ci",
        "http_status",
        "ci.example.com",
        403,
    )
    assert (line["topic"], line["id"]) == ("shop-hook_dlq", "0/4")


async def test_without_payloads_only_envelope_attribution_and_offset_are_logged(lines: Lines) -> None:
    """P15: ``log_payload = false`` keeps the event's content out of the log, of good and of undecodable records."""
    line = await lines.of(record_of(letter(), 4), log_payload=False)
    assert "batch_id" not in json.dumps(line)
    assert {"id", "event_id", "code", "failures"} <= line.keys()
    bare = await lines.of(bare_record(b"card", b"4111 1111"), log_payload=False)
    assert "payload" not in bare


async def test_the_line_gives_the_command_that_shows_the_letter(lines: Lines) -> None:
    """Its id and its command are those of `hookline dlq`, ready for a shell."""
    settings = ReconcilerSettings(config_path="/etc/my shop/hookline.toml")
    watcher = Reconciler(domain="shop", metrics=Metrics(domain="shop"), redactor=Redactor(), settings=settings)
    await watcher.handle(delivery(record_of(letter(), 7, partition=1)))
    [line] = lines.errors()
    assert line["id"] == "1/7"
    assert line["show"] == "hookline dlq show 1/7 --config '/etc/my shop/hookline.toml'"


@pytest.mark.parametrize("record", [record_of(letter()), bare_record(b"k", b"v")], ids=["ours", "foreign"])
async def test_the_line_says_nothing_that_nobody_knows(lines: Lines, record: Record) -> None:
    """Every field is in the table of fields, and none is empty."""
    line = await lines.of(record)
    assert line.keys() <= LOG_FIELDS.keys()
    assert None not in line.values()


async def test_the_line_says_where_each_hook_failed(lines: Lines) -> None:
    """The location of a failure stands in its document, redacted once more: the letter may be foreign."""
    found = replace(failure(), location="app/token=s3cr3t-CANARY-0451/ci.py:10 in handle")
    line = await lines.of(record_of(replace(letter(), failures=(found,))))
    text = json.dumps(line["failures"])
    assert "app/token=" in text
    assert "CANARY" not in text


async def test_the_line_says_what_the_failure_is_about(lines: Lines) -> None:
    """Hooks, what they attached, and the event's own subject, each once; the facts of each hook by its name."""
    batch = Subject("batch", "batch-1")
    about = replace(failure(), subjects=(Subject("hook", "ci"), batch), detail={"step": "merge"})
    line = await lines.of(record_of(replace(letter(), failures=(about, failure("chat")))))
    assert line["failure_subjects"] == ["hook:ci", "batch:batch-1", "hook:chat", "subject:batch-1"]
    assert line["failure_detail"] == {"ci": {"step": "merge"}}


async def test_an_older_letter_is_about_its_hooks_and_its_event(lines: Lines) -> None:
    """A document without attribution, and a record that is no event, are logged with what is known."""
    line = await lines.of(record_of(letter()))
    assert line["failure_subjects"] == ["hook:ci", "subject:batch-1"]
    assert "failure_detail" not in line
    assert "failure_subjects" not in await lines.of(bare_record(b"k", b"v"))


async def test_attribution_of_a_foreign_letter_is_redacted(lines: Lines) -> None:
    """P15, case 18: what another program wrote goes through the redactor once more, names and values."""
    canary = "s3cr3t-CANARY-0451"
    facts = {"password": canary, "url": f"https://u:{canary}@h/x", "deep": [{"token": canary}]}
    about = replace(failure(), subjects=(Subject("url", f"https://u:{canary}@h/x"),), detail=facts)
    line = await lines.of(record_of(replace(letter(), failures=(about,))))
    assert "CANARY" not in json.dumps([line["failure_subjects"], line["failure_detail"], line["failures"]])


async def test_a_letter_is_done_only_when_its_page_was_accepted(lines: Lines) -> None:
    """A pager that is down makes the letter fail, be tried again, and be logged and counted once all the same."""
    pager, time = FakePager(down=True, retry_after_seconds=7), StillClock()
    watcher, each = reconciler(pager, time=time), delivery()
    with pytest.raises(PageNotAcceptedError) as caught:
        await watcher.handle(each)
    assert watcher.decide(each, caught.value) == Retry(7)
    pager.down, time.seconds, each.attempt = False, 8, 2
    await watcher.handle(each)
    assert len(lines.errors()) == 1
    assert (watcher.status.reconciled, watcher.status.paged, watcher.status.pages) == (1, 1, 1)


async def test_a_restart_between_page_and_acknowledgement_pages_the_same_incident_again() -> None:
    """A duplicate page is allowed, under the same name, so that a pager folds it."""
    pager = FakePager()
    for _ in range(2):
        await reconciler(pager).handle(delivery())
    assert len({page.incident for page in pager.pages}) == 1


async def test_without_a_pager_the_counter_is_the_page() -> None:
    """The counter exists at 0 from the start, so that the alert rule sees the first letter."""
    metrics = Metrics(domain="shop")
    watcher = Reconciler(domain="shop", metrics=metrics, redactor=Redactor())
    assert metrics.value("reconciled_total") == 0
    await watcher.handle(delivery())
    assert metrics.value("reconciled_total") == 1
    assert (watcher.status.reconciled, watcher.status.paged) == (1, 1)


@given(
    st.none() | st.binary(), st.none() | st.binary(), st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary()))
)
async def test_whatever_lies_in_the_topic_is_logged_paged_and_done(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    """P12, case 12: a record that is no event, or without our headers, is never an error of the reconciler."""
    pager = FakePager()
    await reconciler(pager).handle(delivery(bare_record(key, value, tuple(headers))))
    assert len(pager.pages) == 1


async def test_every_class_of_dead_letter_is_paged() -> None:
    """Malformed, permanent, exhausted and crashed letters all reach the pager."""
    pager = FakePager()
    watcher = reconciler(pager)
    for letter_class in DeadLetterClass:
        await watcher.handle(delivery(record_of(letter(code=letter_class.value, letter_class=letter_class))))
    assert [page.letter_class for page in pager.pages] == [each.value for each in DeadLetterClass]


@given(st.integers(1, 10_000), st.sampled_from([ValueError(), PageNotAcceptedError("x"), TimeoutError()]))
def test_it_never_gives_up(attempt: int, error: Exception) -> None:
    """P12: whatever failed and how often, the answer is to try again after a bounded wait; a dead letter never dies twice."""
    outcome = reconciler().decide(Delivery(record_of(letter()), attempt=attempt), error)
    assert isinstance(outcome, Retry)
    assert 0 <= outcome.delay_seconds < 120


@pytest.mark.parametrize("expected", [PageNotAcceptedError("x"), UpdateOwedError("x", delay_seconds=5)])
def test_expected_retries_are_not_said_and_a_defect_is(lines: Lines, expected: Exception) -> None:
    """A letter that waits for its page says nothing; one that waits for a repair is an error line that names it."""
    watcher, each = reconciler(), delivery()
    watcher.decide(each, expected)
    assert lines.errors() == []
    watcher.decide(each, ValueError("token=s3cr3t-CANARY-0451"))
    [line] = lines.errors()
    assert (line["topic"], line["id"]) == ("shop-hook_dlq", "0/0")
    assert "CANARY" not in str(line["error"])


async def test_a_pager_that_is_down_is_said_once_for_each_rest(caplog: pytest.LogCaptureFixture) -> None:
    """Ten incidents that meet one refusal together are one warning; so is the next refusal after the rest."""
    pager, time = FakePager(down=True), StillClock()
    watcher = reconciler(pager, time=time)
    each = [delivery(record_of(letter(code=f"code_{number}"), number)) for number in range(10)]
    for rest in (1, 2):
        await asyncio.gather(*map(watcher.handle, each), return_exceptions=True)
        assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == rest
        time.seconds += 3600


def test_a_second_dead_letter_of_an_event_is_no_duplicate() -> None:
    """Each dead letter counts, so the reconciler names no identity."""
    assert reconciler().identify(delivery()) is None  # type: ignore[func-returns-value] # None is the answer tested


async def test_entering_and_leaving_it_is_safe_with_and_without_such_pagers() -> None:
    """The repeating task lives exactly as long as the reconciler is entered."""
    for pagers in ((), (FakePager(keep_seconds=100),)):
        async with reconciler(*pagers):
            assert len(asyncio.all_tasks()) == 1 + len(pagers)
        assert len(asyncio.all_tasks()) == 1


async def test_pagers_that_forget_are_told_again_while_the_incident_lasts() -> None:
    """An Alertmanager-like pager gets the same page again until its time is over; one that remembers does not."""
    time, forgetful, steady = StillClock(), FakePager("am", keep_seconds=100), FakePager("hook")
    watcher = reconciler(forgetful, steady, time=time)
    await watcher.handle(delivery())
    for _ in range(4):
        time.seconds += 40
        await watcher.repeat_standing_pages()
    assert len(forgetful.pages) == 3
    assert len(set(forgetful.pages)) == 1
    assert len(steady.pages) == 1
