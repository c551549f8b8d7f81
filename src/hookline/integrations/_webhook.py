"""Events posted to a URL as signed CloudEvents."""

from __future__ import annotations

import base64
import re
import ssl
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import httpx2
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from hookline.contract import sign_webhook, webhook_message_id
from hookline.errs import HttpStatusError
from hookline.integrations._addresses import Lookup, Resolver, system_lookup
from hookline.integrations._answers import Answer, exchange
from hookline.integrations._cloudevent import CONTENT_TYPE, cloudevent_json
from hookline.integrations._errors import NotOpenError, WebhookGoneError
from hookline.integrations._secret_files import SPEC_KEY_BYTES, SecretFiles, parse_secrets
from hookline.integrations._transport import GuardedTransport
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from hookline.contract import Event

MAX_PORT = 65_535

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e\xa0-\xff](?:[\t\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa0-\xff])?")
_OWNED_HEADER = re.compile(
    r"host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|accept-encoding|proxy-.*|"
    r"webhook-.*",
    re.IGNORECASE,
)
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, (str, Path, SecretStr)) else value


class WebhookOptions(BaseModel):
    """Keys of a hook of kind `webhook`. Its text and its errors show neither URL nor secrets."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    url: Annotated[
        str, Field(repr=False, description="Where to post: http or https. Credentials in it become Basic auth.")
    ]
    secret: Annotated[
        tuple[SecretStr, ...],
        BeforeValidator(_one_or_more),
        Field(description="One or several `whsec_` secrets, the newest first; each signs."),
    ] = ()
    secret_file: Annotated[
        tuple[Path, ...],
        BeforeValidator(_one_or_more),
        Field(description="One or several files of secrets, one a line; read again when they change."),
    ] = ()
    headers: Annotated[
        dict[str, SecretStr], Field(description="More request headers; those of HTTP framing and `webhook-*` are ours.")
    ] = {}
    allow_private_addresses: Annotated[
        bool, Field(description="Whether loopback and private networks may be reached.")
    ] = False
    ca_file: Annotated[
        Path | None, Field(description="PEM file of the authorities to trust, instead of the system's.")
    ] = None
    connect_timeout_seconds: Annotated[
        float, Field(gt=0, description="Bound on resolving, connecting and TLS, each.")
    ] = 4.0
    read_timeout_seconds: Annotated[float, Field(gt=0, description="Bound on waiting for the answer.")] = 10.0
    max_connections: Annotated[
        int, Field(ge=1, description="Connections kept and used at once; more requests wait.")
    ] = 100

    @field_validator("url")
    @classmethod
    def _callable(cls, text: str) -> str:
        if _UNSAFE_IN_URL.search(text):
            raise ValueError("a URL has no spaces, control characters or backslashes")
        try:
            url = httpx2.URL(text)
        except httpx2.InvalidURL:
            raise ValueError("this is no URL") from None
        if url.scheme not in {"http", "https"} or not _HOST.fullmatch(url.raw_host.decode("ascii")):
            raise ValueError("expected a URL such as https://example.com/hooks")
        if url.port is not None and not 1 <= url.port <= MAX_PORT:
            raise ValueError(f"a port is 1 to {MAX_PORT}")
        return text

    @field_validator("secret")
    @classmethod
    def _usable(cls, secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if secrets:
            parse_secrets([secret.get_secret_value() for secret in secrets])
        return secrets

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            if not _TOKEN.fullmatch(name) or _OWNED_HEADER.fullmatch(name):
                raise ValueError(f"the header {name[:80]!r} cannot be set here")
            if not _HEADER_VALUE.fullmatch(value.get_secret_value()):
                raise ValueError(f"the header {name[:80]!r} needs a value of printable Latin-1 characters")
        return headers

    @model_validator(mode="after")
    def _one_source_of_secrets(self) -> Self:
        if self.secret and self.secret_file:
            raise ValueError("give secret or secret_file, not both")
        return self


class Webhook:
    """Post every event to one URL as a structured CloudEvent, signed by Standard Webhooks.

    Any 2xx is done. Every other answer is an `hookline.errs.HttpStatusError`; no redirect is followed. `410 Gone` is a
    WebhookGoneError: the hook is held until a person releases it. Timeouts and
    connection errors pass as httpx2's own, an address that may not be called is an AddressRefusedError. The
    `webhook-id` of an event is the same over retries and restarts, so that the receiver can drop a repeat. An attempt
    takes no longer than `connect_timeout_seconds` and `read_timeout_seconds` together. For one event loop.
    """

    kind: ClassVar[str] = "webhook"
    Options: ClassVar[type[BaseModel]] = WebhookOptions

    def __init__(
        self,
        name: str,
        options: WebhookOptions,
        *,
        lookup: Lookup = system_lookup,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.options = options
        self._lookup = lookup
        self._now = now
        self._url, authorization = _without_credentials(httpx2.URL(options.url))
        self._headers = {"user-agent": "hookline", "accept": "*/*"} | authorization
        self._keys: Callable[[], Sequence[bytes]] = tuple
        self._transport: GuardedTransport | None = None
        self._log = get_logger(__name__)

    async def __aenter__(self) -> Self:
        """Read the secrets and the trusted authorities; nothing is connected yet.

        Raises OSError, ssl.SSLError or WebhookSecretError, and may be entered again after that.
        """
        options = self.options
        self._keys = self._load_keys()
        verify = None if options.ca_file is None else ssl.create_default_context(cafile=options.ca_file)
        resolver = Resolver(self._lookup, allow_private=options.allow_private_addresses)
        self._transport = GuardedTransport(resolver, verify=verify, max_connections=options.max_connections)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def handle(self, event: Event) -> None:
        """Post the event; returns when the receiver has answered 2xx."""
        if self._transport is None:
            raise NotOpenError(self.name)
        answer = await self._post(self._transport, self._request(event))
        if not answer.accepted:
            failure = WebhookGoneError if answer.status == HTTPStatus.GONE else HttpStatusError
            raise failure(
                answer.status,
                host=self._url.host,
                retry_after_seconds=answer.retry_after_seconds,
                body=answer.excerpt,
            )

    async def _post(self, transport: GuardedTransport, request: httpx2.Request) -> Answer:
        limit_seconds = self.options.connect_timeout_seconds + self.options.read_timeout_seconds
        try:
            return await exchange(transport, request, limit_seconds=limit_seconds)
        except httpx2.TransportError as error:
            # Tells the host to whoever reports the error, and nothing of the path and its tokens.
            error.request = httpx2.Request("POST", self._url.copy_with(raw_path=b"/"))
            raise

    def _request(self, event: Event) -> httpx2.Request:
        body = cloudevent_json(event)
        connect, read = self.options.connect_timeout_seconds, self.options.read_timeout_seconds
        return httpx2.Request(
            "POST",
            self._url,
            headers=self._headers | self._configured_headers() | self._own_headers(event, body),
            content=body,
            extensions={"timeout": {"connect": connect, "pool": connect, "read": read, "write": read}},
        )

    def _configured_headers(self) -> dict[str, str]:
        return {name.lower(): value.get_secret_value() for name, value in self.options.headers.items()}

    def _own_headers(self, event: Event, body: bytes) -> dict[str, str]:
        message_id, timestamp_seconds = webhook_message_id(event.source, event.id, self.name), int(self._now())
        headers = {"accept-encoding": "identity", "content-type": CONTENT_TYPE}
        if keys := self._keys():
            return headers | sign_webhook(keys, message_id, timestamp_seconds, body)
        return headers | {"webhook-id": message_id, "webhook-timestamp": str(timestamp_seconds)}

    def _load_keys(self) -> Callable[[], Sequence[bytes]]:
        if self.options.secret_file:
            files = SecretFiles(self.options.secret_file)
            self._warn_of_short_keys(files.read())
            return lambda: self._current_keys(files)
        if not self.options.secret:
            self._log.warning("webhook_unsigned", hook=self.name)
            return tuple
        keys = parse_secrets([secret.get_secret_value() for secret in self.options.secret])
        self._warn_of_short_keys(keys)
        return lambda: keys

    def _current_keys(self, files: SecretFiles) -> Sequence[bytes]:
        was_stale = files.stale is not None
        keys = files.current()
        if files.stale is not None and not was_stale:
            self._log.error("webhook_secret_not_read_again", hook=self.name, error=type(files.stale).__name__)
        return keys

    def _warn_of_short_keys(self, keys: Sequence[bytes]) -> None:
        if any(len(key) < SPEC_KEY_BYTES for key in keys):
            self._log.warning("webhook_secret_short", hook=self.name, at_least_bytes=SPEC_KEY_BYTES)


def _without_credentials(url: httpx2.URL) -> tuple[httpx2.URL, dict[str, str]]:
    if not url.userinfo:
        return url, {}
    pair = f"{url.username}:{url.password}".encode()
    return url.copy_with(userinfo=b""), {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
