"""GitHub webhooks as hook events.

source      github
type        <event>.<action>, or <event> when the payload names no action
subject     owner/name#number of the issue, pull request or discussion; else owner/name of the repository; else the
            login of the account: organization, sponsored, where the app is installed, that purchased, or the
            sender; a security advisory, which belongs to no account, is its GHSA id
id          unversioned, its cause the delivery: GitHub repeats a delivery under the same name, so it stays one event
timestamp   the newest time that the payload names, for it is a snapshot; unset when it names none
payload     the webhook's own, integers beyond 2**53 as strings

A repository that is renamed is another subject from then on; where order must hold across that, take `repository.id`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hookline import Event
from hookline.contract import MAX_EXACT_INTEGER, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCE: Final = "github"

_UNSET_MS: Final = 0
# GitHub numbers issues, pull requests and discussions of a repository in one sequence.
_NUMBERED: Final = ("issue", "pull_request", "discussion")
_OUTSIDE_REPOSITORIES: Final = (
    ("organization", "login"),
    ("sponsorship", "sponsorable", "login"),
    ("installation", "account", "login"),
    ("marketplace_purchase", "account", "login"),
    ("security_advisory", "ghsa_id"),
    ("sender", "login"),
)


class NoSubjectError(ValueError):
    """A payload names nothing that an event could be about."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook as GitHub posts it: `event` is its header X-GitHub-Event, `delivery` X-GitHub-Delivery."""

    event: str
    delivery: str
    payload: Mapping[str, Any]


def event_of(webhook: Webhook) -> Event:
    """Make the hook event of a webhook; the same webhook always makes the same event. Raises NoSubjectError."""
    return Event.unversioned(
        source=SOURCE,
        type=_type_of(webhook),
        subject=_subject_of(webhook),
        cause=webhook.delivery,
        timestamp_ms=max(_moments(webhook.payload), default=_UNSET_MS),
        payload=_exact(webhook.payload),
    )


def _type_of(webhook: Webhook) -> str:
    action = webhook.payload.get("action")
    return f"{webhook.event}.{action}" if action else webhook.event


def _subject_of(webhook: Webhook) -> str:
    payload = webhook.payload
    if repository := _text_at(payload, ("repository", "full_name")):
        number = next((number for name in _NUMBERED if (number := _text_at(payload, (name, "number")))), None)
        return f"{repository}#{number}" if number else repository
    for path in _OUTSIDE_REPOSITORIES:
        if text := _text_at(payload, path):
            return text
    raise NoSubjectError(f"{webhook.event} {webhook.delivery} names no repository, account or advisory")


def _text_at(payload: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    value: Any = payload
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return str(value) if isinstance(value, str | int) else None


def _moments(payload: Mapping[str, Any]) -> Iterator[int]:
    """List the times, in milliseconds, that a payload and the objects in it name as something_at."""
    for members in (payload, *(value for value in payload.values() if isinstance(value, dict))):
        for name, value in members.items():
            if name.endswith("_at") and isinstance(value, str):
                yield parse_time(value)
            elif name.endswith("_at") and isinstance(value, int):  # in some events GitHub counts seconds
                yield value * 1000


def _exact(value: Any) -> Any:
    """Spell integers as strings that a consumer could not hold: numbers of a payload travel as doubles."""
    if isinstance(value, dict):
        return {name: _exact(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_exact(member) for member in value]
    if isinstance(value, int) and abs(value) > MAX_EXACT_INTEGER:
        return str(value)
    return value
