"""Pagers against real HTTP receivers: accepted, refused, slow, redirecting, gone (case 20, reconciler-paging)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import httpx2
import pytest
from standardwebhooks import Webhook

from hookline.contract import parse_webhook_secret
from hookline.deadletters import (
    AlertmanagerPager,
    Page,
    PagerRefusedError,
    PagerUnreachableError,
    Receiver,
    WebhookPager,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the published test secret
PAGE = Page(
    incident="0123456789abcdef",
    domain="shop",
    source="shop",
    type="batch.failed",
    hooks=("ci",),
    code="http_status",
    letter_class="permanent",
    count=3,
    update=False,
    first_failed_at_ms=1_796_032_800_000,
    last_failed_at_ms=1_796_032_800_000,
    opened_at_ms=1_796_032_800_000,
    paged_at_ms=1_796_032_800_000,
    letter="shop-hook_dlq/0/1",
    command="hookline dlq list --hook ci --config hookline.toml",
    host="ci.example.com",
    http_status=403,
)


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Desk:
    """A receiver on a loopback port that answers ``status`` with ``headers``; while ``answers`` is not set it is silent."""

    url: str = ""
    status: int = 202
    headers: Mapping[str, str] = field(default_factory=dict)
    answers: threading.Event = field(default_factory=threading.Event)
    seen: list[Seen] = field(default_factory=list)


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Run a receiver for one test."""
    desk = Desk()
    desk.answers.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            desk.seen.append(Seen(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
            desk.answers.wait()
            self.send_response(desk.status)
            for name, text in desk.headers.items():
                self.send_header(name, text)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        desk.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield desk
        desk.answers.set()
        server.shutdown()
        thread.join()


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client and close it."""
    async with httpx2.AsyncClient() as client:
        yield client


def webhook(desk: Desk, client: httpx2.AsyncClient, *, timeout_seconds: float = 5.0) -> WebhookPager:
    receiver = Receiver("desk", f"{desk.url}/pages?token=hunter2", client, timeout_seconds=timeout_seconds)
    return WebhookPager(receiver, keys=(parse_webhook_secret(SECRET),))


async def test_a_webhook_page_is_signed_json(desk: Desk, client: httpx2.AsyncClient) -> None:
    """Another implementation of Standard Webhooks verifies the page and reads the incident from it."""
    await webhook(desk, client).page(PAGE)
    (request,) = desk.seen
    document = Webhook(SECRET).verify(request.body, dict(request.headers))
    assert document["incident"] == PAGE.incident
    assert document["command"] == PAGE.command
    assert document["count"] == 3


async def test_a_page_sent_twice_has_one_message_id(desk: Desk, client: httpx2.AsyncClient) -> None:
    """A receiver that answered too late recognises the repeat."""
    pager = webhook(desk, client)
    await pager.page(PAGE)
    await pager.page(PAGE)
    assert len({request.headers["webhook-id"] for request in desk.seen}) == 1


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
async def test_only_success_accepts(desk: Desk, client: httpx2.AsyncClient, status: int) -> None:
    """Anything but 2xx is not accepted, and a redirect is not followed."""
    desk.status, desk.headers = status, {"location": f"{desk.url}/elsewhere"}
    with pytest.raises(PagerRefusedError) as caught:
        await webhook(desk, client).page(PAGE)
    assert caught.value.status == status
    assert len(desk.seen) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120.0), ("99999999", 3600.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None)],
)
async def test_retry_after_is_passed_on(
    desk: Desk, client: httpx2.AsyncClient, header: str, seconds: float | None
) -> None:
    """A 429 says when to come back, in seconds or as a date, bounded; what cannot be read is left to the backoff."""
    desk.status, desk.headers = 429, {"retry-after": header}
    with pytest.raises(PagerRefusedError) as caught:
        await webhook(desk, client).page(PAGE)
    assert caught.value.delay_seconds == seconds


async def test_a_silent_receiver_is_given_up_and_no_secret_is_told(desk: Desk, client: httpx2.AsyncClient) -> None:
    """P15: a receiver that takes the page and does not answer is not accepted, and the error names no token."""
    desk.answers.clear()
    with pytest.raises(PagerUnreachableError) as caught:
        await webhook(desk, client, timeout_seconds=0.05).page(PAGE)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(webhook(desk, client))


async def test_a_receiver_that_is_not_there_is_unreachable(client: httpx2.AsyncClient) -> None:
    """No connection, a name that does not resolve, and no address at all are the same: not accepted."""
    for url in ("http://127.0.0.1:1/", "http://nowhere.invalid/", "http://"):
        with pytest.raises(PagerUnreachableError):
            await WebhookPager(Receiver("desk", url, client)).page(PAGE)


@pytest.mark.parametrize("suffix", ["", "/", "/api/v2/alerts"])
async def test_alertmanager_gets_one_alert_on_its_path(desk: Desk, client: httpx2.AsyncClient, suffix: str) -> None:
    """The address may be given with or without the path; the alert has explicit start and end and names the command."""
    desk.status = 200
    receiver = Receiver("am", desk.url + suffix, client, headers={"authorization": "Bearer t"})
    await AlertmanagerPager(receiver, labels={"team": "delivery"}).page(PAGE)
    (request,) = desk.seen
    (alert,) = json.loads(request.body)
    assert request.path == "/api/v2/alerts"
    assert request.headers["authorization"] == "Bearer t"
    assert alert["labels"]["alertname"] == "HooklineDeadLetter"
    assert alert["labels"]["team"] == "delivery"
    assert alert["annotations"]["command"] == PAGE.command
    assert alert["startsAt"] < alert["endsAt"]
