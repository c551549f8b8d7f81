"""The pagers: who is told of an incident, and how it is known that they heard."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable
from urllib.parse import urlsplit

import httpx2

from hookline.contract import sign_webhook, webhook_message_id
from hookline.deadletters._clock import Clock
from hookline.deadletters._errors import PagerRefusedError, PagerUnreachableError
from hookline.deadletters._text import rfc3339
from hookline.errs import parse_retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.contract import JsonValue

_OK = range(200, 300)
_ALERTS_PATH = "/api/v2/alerts"


@runtime_checkable
class Pager(Protocol):
    """Tells people of an incident.

    ``page`` returns when the page was accepted, and raises `PageNotAcceptedError` when it is not known to be. It may be called again with the same page.
    ``keep_seconds`` above 0 means that the pager forgets: it is told again, without news, for so long after an incident's last dead letter.
    """

    @property
    def name(self) -> str:
        """The pager's name in metrics and logs."""

    @property
    def keep_seconds(self) -> float:
        """How long an incident must be repeated to this pager; 0 for one that remembers."""

    async def page(self, page: AnyPage) -> None:
        """Deliver a page, or raise."""


class AnyPage(Protocol):
    """What a pager delivers: a page about dead letters, or about a hook whose events wait."""

    @property
    def occasion(self) -> tuple[str, ...]:
        """What tells this page from every other one, the same when it is sent again."""

    @property
    def opened_at_ms(self) -> int:
        """When its incident began, in milliseconds since 1970."""

    @property
    def paged_at_ms(self) -> int:
        """When it was written."""

    def document(self) -> dict[str, JsonValue]:
        """Return it as JSON."""

    def labels(self) -> dict[str, str]:
        """Return what stays the same while its incident lasts."""

    def annotations(self) -> dict[str, str | None]:
        """Return what changes while its incident lasts."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """The HTTP end of a pager. ``headers`` (an authorization, say) go with every request; ``timeout_seconds`` bounds the whole of one.

    The client is the caller's, who closes it. Redirects are not followed and no answer's body is read.
    """

    name: str
    url: str = field(repr=False)
    client: httpx2.AsyncClient = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 10.0

    async def post(self, body: bytes, headers: Mapping[str, str], path: str = "") -> None:
        """Send a JSON body to the URL, or to ``path`` below it, and return on any 2xx.

        Raises `PagerRefusedError` or `PagerUnreachableError`.
        """
        url = self.url if self.url.endswith(path) else self.url.rstrip("/") + path
        try:
            async with asyncio.timeout(self.timeout_seconds):
                together = {"content-type": "application/json", **self.headers, **headers}
                status, retry_after = await self._send(url, body, together)
        except TimeoutError as error:
            raise PagerUnreachableError(self.name, f"nothing in {self.timeout_seconds:g} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise PagerUnreachableError(self.name, self._why(error)) from error
        if status not in _OK:
            raise PagerRefusedError(self.name, status, retry_after_seconds=retry_after)

    async def _send(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, float | None]:
        request = self.client.stream("POST", url, content=body, headers=headers, follow_redirects=False)
        async with request as response:
            return response.status_code, parse_retry_after(response.headers.get("retry-after"), datetime.now(UTC))

    def _why(self, error: Exception) -> str:
        # The URL may hold a token, and so may the error's text: the host and the kind of error are enough.
        return f"{type(error).__name__} at {urlsplit(self.url).hostname or 'an address without a host'}"


@dataclass(frozen=True, slots=True)
class WebhookPager:
    """Posts a page as JSON, signed by Standard Webhooks when there are keys (several while a secret is rotated)."""

    kind: ClassVar[str] = "webhook"
    receiver: Receiver
    keys: tuple[bytes, ...] = field(default=(), repr=False)
    clock: Clock = field(default_factory=Clock)
    keep_seconds: float = 0.0

    @property
    def name(self) -> str:
        """The receiver's name."""
        return self.receiver.name

    async def page(self, page: AnyPage) -> None:
        """Post the page; any 2xx accepts it."""
        body = json.dumps(page.document()).encode()
        await self.receiver.post(body, self._signature(page, body))

    def _signature(self, page: AnyPage, body: bytes) -> dict[str, str]:
        message_id = webhook_message_id(self.name, *page.occasion)
        if not self.keys:
            return {"webhook-id": message_id}
        return sign_webhook(self.keys, message_id, int(self.clock.wall()), body)


@dataclass(frozen=True, slots=True)
class AlertmanagerPager:
    """Posts a page as an alert to Alertmanager: its address, with or without ``/api/v2/alerts``.

    An alert is its labels, so they hold what one incident keeps; counts and times are annotations. It starts with the incident's first page and ends
    ``keep_seconds`` after this one unless it is sent again, which the reconciler does while the incident lasts.
    """

    kind: ClassVar[str] = "alertmanager"
    receiver: Receiver
    severity: str = "critical"
    keep_seconds: float = 3600.0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The receiver's name."""
        return self.receiver.name

    async def page(self, page: AnyPage) -> None:
        """Post the alert; any 2xx accepts it."""
        await self.receiver.post(json.dumps([self.alert(page)]).encode(), {}, _ALERTS_PATH)

    def alert(self, page: AnyPage) -> dict[str, JsonValue]:
        """Return the alert of a page, without labels that are empty (Alertmanager drops those)."""
        labels = {**self.labels, **page.labels(), "severity": self.severity}
        return {
            "labels": {name: text for name, text in labels.items() if text},
            "annotations": {name: text for name, text in page.annotations().items() if text is not None},
            "startsAt": rfc3339(page.opened_at_ms),
            "endsAt": rfc3339(page.paged_at_ms + int(self.keep_seconds * 1000)),
        }
