"""How the example turns GitHub webhooks into hook events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from examples.github.mapping import NoSubjectError, Webhook, event_of
from examples.github.webhooks import WebhookFileError, read_webhooks
from hookline.contract import MAX_EXACT_INTEGER, decode_record, encode_event, parse_time

if TYPE_CHECKING:
    from hookline import Event

_EXAMPLES: Final = Path(__file__).parents[2] / "vectors" / "github-webhooks" / "examples.jsonl"
_REPOSITORY: Final = {"repository": {"full_name": "octocat/hello", "owner": {"login": "octocat"}}}


@pytest.fixture(scope="module")
def webhooks() -> list[Webhook]:
    return read_webhooks(_EXAMPLES)


def _event(payload: dict[str, Any], event: str = "issues", delivery: str = "issues/0") -> Event:
    return event_of(Webhook(event, delivery, payload))


def test_every_recorded_webhook_is_there(webhooks: list[Webhook]) -> None:
    """The file holds 329 webhooks of 58 kinds, each delivered once."""
    assert len(webhooks) == 329
    assert len({webhook.event for webhook in webhooks}) == 58
    assert len({webhook.delivery for webhook in webhooks}) == 329


def test_every_recorded_webhook_survives_the_wire(webhooks: list[Webhook]) -> None:
    """Each becomes an event that may be published, and a consumer reads it as it was made."""
    for webhook in webhooks:
        event = event_of(webhook)
        assert decode_record(*encode_event(event)) == event


def test_every_recorded_webhook_has_an_identity_of_its_own(webhooks: list[Webhook]) -> None:
    """No two deliveries make the same event."""
    assert len({event_of(webhook).identity for webhook in webhooks}) == len(webhooks)


def test_a_delivery_that_comes_again_is_the_same_event(webhooks: list[Webhook]) -> None:
    """The mapping depends on the webhook alone, so GitHub's redelivery is a duplicate and not news."""
    assert [event_of(webhook) for webhook in webhooks] == [event_of(webhook) for webhook in webhooks]


def test_the_payload_is_the_webhooks_own(webhooks: list[Webhook]) -> None:
    """Nothing of the recorded payloads is left out or changed: none holds an integer too large for a double."""
    assert all(event_of(webhook).payload == webhook.payload for webhook in webhooks)


@pytest.mark.parametrize(
    ("event", "payload", "expected"),
    [("issues", {"action": "opened"}, "issues.opened"), ("push", {}, "push"), ("push", {"action": None}, "push")],
)
def test_the_type_is_the_event_and_its_action(event: str, payload: dict[str, Any], expected: str) -> None:
    """The type is `<event>.<action>`, or `<event>` when there is no action."""
    assert _event(_REPOSITORY | payload, event).type == expected


@pytest.mark.parametrize("numbered", ["issue", "pull_request", "discussion"])
def test_the_subject_is_what_is_numbered_in_its_repository(numbered: str) -> None:
    """An event about an issue, pull request or discussion has `owner/name#number` as its subject."""
    assert _event(_REPOSITORY | {numbered: {"number": 7}}).subject == "octocat/hello#7"


def test_the_subject_is_the_repository_when_nothing_in_it_is_numbered() -> None:
    """An event about a repository has `owner/name` as its subject, whoever sent it from which organization."""
    around = {"organization": {"login": "octo-org"}, "sender": {"login": "hubot"}, "issue": None}
    assert _event(_REPOSITORY | around).subject == "octocat/hello"


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"organization": {"login": "octo-org"}, "installation": {"id": 5}}, "octo-org"),
        ({"sponsorship": {"sponsorable": {"login": "octocat"}}}, "octocat"),
        ({"installation": {"account": {"login": "octocat"}}}, "octocat"),
        ({"marketplace_purchase": {"account": {"login": "octo-org"}}}, "octo-org"),
        ({"security_advisory": {"ghsa_id": "GHSA-1"}}, "GHSA-1"),
        ({}, "hubot"),
    ],
)
def test_outside_repositories_the_subject_is_the_account(payload: dict[str, Any], expected: str) -> None:
    """Without a repository the subject is the account that the event is about, in the last resort its sender."""
    assert _event({"sender": {"login": "hubot"}} | payload).subject == expected


def test_an_event_about_nothing_is_refused() -> None:
    """A payload that names no subject raises: an event without a subject has no order and may not be published."""
    with pytest.raises(NoSubjectError):
        _event({"zen": "Speak like a human."})


def test_the_timestamp_is_the_newest_time_of_the_snapshot() -> None:
    """Of the times that a payload and the objects in it name, the newest counts; null and planned times do not."""
    times = {"created_at": "2019-05-15T15:20:39Z", "updated_at": "2019-05-15T17:20:40+02:00", "closed_at": None}
    event = _event(_REPOSITORY | {"issue": {"number": 1, "due_on": "2030-01-01T00:00:00Z"} | times})
    assert event.timestamp_ms == parse_time("2019-05-15T15:20:40Z")


def test_a_time_in_seconds_is_understood() -> None:
    """Where GitHub counts seconds since the epoch, the timestamp is the same instant."""
    assert _event({"installation": {"account": {"login": "o"}, "created_at": 1557933591}}).timestamp_ms == 1557933591000


def test_an_event_without_a_time_says_so() -> None:
    """A payload that names no time gives an unset timestamp: the clock of a replay would make another event."""
    assert _event(_REPOSITORY).timestamp_ms == 0


def test_integers_that_a_double_cannot_hold_travel_as_strings() -> None:
    """Beyond 2**53 an integer becomes a string wherever it stands; up to there it stays a number."""
    payload = {"ids": [MAX_EXACT_INTEGER, {"id": MAX_EXACT_INTEGER + 1}, -MAX_EXACT_INTEGER - 1]}
    expected = [MAX_EXACT_INTEGER, {"id": str(MAX_EXACT_INTEGER + 1)}, str(-MAX_EXACT_INTEGER - 1)]
    assert _event(_REPOSITORY | payload).payload["ids"] == expected


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"event": "push", "example": 0}', "null"])
def test_a_line_that_is_no_webhook_is_refused(line: str, tmp_path: Path) -> None:
    """A file with anything but recorded webhooks raises, so that nothing is left out silently."""
    path = tmp_path / "recorded.jsonl"
    path.write_text(f'{{"event": "push", "example": 0, "payload": {{}}}}\n\n{line}\n')
    with pytest.raises(WebhookFileError):
        read_webhooks(path)
