"""What a page says, and what it never says."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hookline.deadletters import AlertmanagerPager, IncidentBook, Page, PageWriter, Receiver, StoredLetter
from hookline.deadletters._text import one_line, rfc3339
from hookline.errs import Redactor, Subject
from tests.unit.deadletters.making import NOW_MS, bare_record, failure, letter, stored


def page_of(each: StoredLetter, *, config_path: str = "hookline.toml") -> Page:
    book = IncidentBook()
    incident, _ = book.join(each.sighting, 0.0, NOW_MS)
    return PageWriter("shop", Redactor().redact, config_path).write(incident, NOW_MS)


def test_a_page_names_what_a_person_needs() -> None:
    """Domain, hook, code, host, HTTP status, count, first and last time, and the command to type are all there."""
    document = page_of(stored(letter()), config_path="my config.toml").document()
    wanted = {"domain": "shop", "hooks": ["ci"], "code": "http_status", "host": "ci.example.com", "http_status": 403}
    assert wanted.items() <= document.items()
    assert document["count"] == 1
    assert document["first_failed_at"] == document["last_failed_at"] == "2026-11-30T10:00:00.000Z"
    command = shlex.split(str(document["command"]))
    assert command == ["hookline", "dlq", "list", "--hook", "ci", "--config", "my config.toml"]


def test_a_page_holds_no_payload_and_no_secret() -> None:
    """P15 (case 18): neither the event's payload nor an error's text goes into a page, and what goes is redacted."""
    dead = letter(hooks=("https://user:hunter2@ci.example.com",))
    text = json.dumps(page_of(stored(dead)).document())
    assert "hunter2" not in text
    assert "batch_id" not in text
    assert dead.message not in text


def test_a_page_says_what_its_example_is_about() -> None:
    """P15 (case 18): the subjects of one letter, redacted and at most eight; the facts that were attached stay in it."""
    secret = Subject("url", "https://user:hunter2@ci.example.com")
    many = tuple(Subject("request", f"r-{number}") for number in range(20))
    about = replace(failure(), subjects=(Subject("hook", "ci"), secret, *many), detail={"step": "merge"})
    page = page_of(stored(replace(letter(), failures=(about,))))
    assert len(page.subjects) == 8
    assert page.subjects[1] == "request:r-0"
    assert page.document()["subjects"] == list(page.subjects)
    pager = AlertmanagerPager(Receiver("am", "http://am", client=None))  # type: ignore[arg-type] # it sends nothing
    assert "request:r-0" in json.dumps(pager.alert(page))
    assert not any(word in json.dumps(page.document()) for word in ("hunter2", "merge"))


def test_an_older_letter_is_about_its_event() -> None:
    """A letter without attribution is about the subject of its event; one that is no event about nothing known."""
    assert page_of(stored(letter())).subjects == ("subject:batch-1",)
    assert page_of(StoredLetter.read(bare_record(None, None))).subjects == ()


def test_an_undecodable_letter_has_a_page_too() -> None:
    """A record without our headers, null or not, makes a page with unknown source and type and a command that finds it."""
    for value in (None, b"", b"\xff\xfe"):
        page = page_of(StoredLetter.read(bare_record(None, value)))
        assert (page.source, page.type, page.code) == ("unknown", "unknown", "unknown")
        assert shlex.split(page.command)[:3] == ["hookline", "dlq", "list"]


def test_an_alert_is_identified_by_what_the_incident_keeps() -> None:
    """Counts and times are annotations: a second page of an incident is the same alert, with explicit start and end."""
    pager = AlertmanagerPager(Receiver("am", "http://am", client=None), keep_seconds=3600)  # type: ignore[arg-type] # not sent
    first = page_of(stored(letter()))
    alert = pager.alert(first)
    assert alert["labels"] == {
        "alertname": "HooklineDeadLetter",
        "code": "http_status",
        "domain": "shop",
        "event_source": "shop",
        "event_type": "batch.failed",
        "hook": "ci",
        "host": "ci.example.com",
        "severity": "critical",
    }
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-11-30T10:00:00.000Z", "2026-11-30T11:00:00.000Z")


@given(st.text(max_size=600))
def test_a_line_is_one_printable_bounded_line(text: str) -> None:
    """Whatever comes, a page's text is a single printable line within its bound."""
    line = one_line(text, 100)
    assert len(line) <= 100
    assert all(char.isprintable() for char in line)


@given(st.integers() | st.none())
def test_no_time_makes_a_page_crash(milliseconds: int | None) -> None:
    """Case 32 (timestamps): a time that no calendar holds is left out."""
    text = rfc3339(milliseconds)
    assert text is None or text.endswith("Z")
