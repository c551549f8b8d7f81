"""Health and metrics over HTTP, inside the service's own event loop.

    Exception
    └── ListenError     the address cannot be listened on; says which and why

``/livez`` turns red only when this process cannot go on: it never asks Kafka, so that an outage does not restart it.
Because it is answered by the loop that runs the hooks, a loop that stands still fails it without any code.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import uvicorn
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

from hookline.service._listen import ListenAddress
from hookline.service._secrets import redacted_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_LONGEST_REASON = 300
_LONGEST_REQUEST_HEAD_BYTES = 16_384
_KEEP_ALIVE_SECONDS = 5
_STOP_SECONDS = 1


class ListenError(Exception):
    """The health server's address cannot be used: it is taken, not allowed, or not of this machine."""

    def __init__(self, address: ListenAddress, reason: str) -> None:
        super().__init__(f"cannot listen on {address}: {reason}; set another address as http.listen")
        self.address = address


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, and why it does not."""

    name: str
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it holds: there is no reason why not."""
        return not self.reason

    def __str__(self) -> str:
        return f"[+]{self.name} ok" if self.ok else f"[-]{self.name} {_line(self.reason)}"


class Exposition(Protocol):
    """What can write metrics down for a scrape."""

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics and their content type, in a form that ``accept`` takes; never raises."""
        ...


class HealthServer:
    """Serves ``/livez``, ``/readyz`` and ``/metrics``, and nothing else, on one address.

    ``live`` and ``ready`` return the checks of this moment; they are called on the loop for every request and must be
    quick. One that raises is a failed check. Not for reuse: start once, stop once (or more often).
    """

    def __init__(
        self,
        listen: ListenAddress,
        live: Callable[[], Sequence[Check]],
        ready: Callable[[], Sequence[Check]],
        metrics: Exposition,
    ) -> None:
        self._listen = listen
        self._live = live
        self._ready = ready
        self._metrics = metrics
        self._server = uvicorn.Server(self._config())
        self._turning: asyncio.Task[None] | None = None
        self._address = listen

    @property
    def address(self) -> ListenAddress:
        """Where it listens; after `start` with the port that the system chose."""
        return self._address

    async def start(self) -> None:
        """Bind and serve; returns when a client can connect. Raises `ListenError`."""
        bound = await self._bind()
        host, port = bound.getsockname()[:2]
        self._address = ListenAddress(host, port)
        config = self._server.config
        config.load()
        # The steps of uvicorn's own serve(), less its signal handlers: signals are the service's.
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[bound])
        self._turning = asyncio.create_task(self._server.main_loop(), name="health-server")

    async def stop(self) -> None:
        """Stop listening and close every connection, in at most two seconds."""
        if self._turning is None:
            return
        self._server.should_exit = True
        turning, self._turning = self._turning, None
        await turning
        await self._server.shutdown()

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        await self.stop()

    def _config(self) -> uvicorn.Config:
        routes = [
            Route("/livez", self._livez),
            Route("/readyz", self._readyz),
            Route("/metrics", self._scrape),
        ]
        return uvicorn.Config(
            Router(routes, redirect_slashes=False),
            access_log=False,
            h11_max_incomplete_event_size=_LONGEST_REQUEST_HEAD_BYTES,
            http="h11",
            lifespan="off",
            log_config=None,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            ws="none",
        )

    async def _bind(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(self._listen.host, self._listen.port, type=socket.SOCK_STREAM)
            family, address = found[0][0], found[0][4]
            both = family is socket.AF_INET6 and address[0] == "::" and socket.has_dualstack_ipv6()
            return socket.create_server(address, family=family, dualstack_ipv6=both)
        except OSError as error:
            raise ListenError(self._listen, error.strerror or type(error).__name__) from error

    async def _livez(self, request: Request) -> Response:
        return _answer(request, self._live)

    async def _readyz(self, request: Request) -> Response:
        return _answer(request, self._ready)

    async def _scrape(self, request: Request) -> Response:
        body, content_type = self._metrics.render(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": content_type, **_HEADERS})


def _answer(request: Request, look: Callable[[], Sequence[Check]]) -> Response:
    excluded = set(request.query_params.getlist("exclude"))
    checks = [check for check in _looked(look) if check.name not in excluded]
    failed = [check for check in checks if not check.ok]
    if "verbose" in request.query_params:
        lines = [*map(str, checks), "failed" if failed else "ok"]
    else:
        lines = ["; ".join(f"{check.name}: {_line(check.reason)}" for check in failed) or "ok"]
    return PlainTextResponse("\n".join(lines) + "\n", status_code=503 if failed else 200, headers=_HEADERS)


def _looked(look: Callable[[], Sequence[Check]]) -> Sequence[Check]:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - a probe must be answered, whatever is broken
        return [Check("checks", f"could not be made: {type(error).__name__}")]


def _line(reason: str) -> str:
    """Keep a reason to one line without credentials."""
    text = redacted_text(" ".join(reason.split()))
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
