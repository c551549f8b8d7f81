"""An httpx2 transport that connects to checked addresses only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    import ssl
    from types import TracebackType

    from hookline.integrations._addresses import Address, Resolver

MAX_ADDRESSES = 4


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Resolve the request's host, refuse what may not be called, and connect to exactly the address that was checked.

    The request goes out under its own Host header and its own TLS name (SNI and certificate); only the address in the
    connection is the resolver's. So there is no second lookup that could answer differently. Proxies and trust settings of
    the environment are ignored. Connections are kept and shared by the address. For one event loop.
    """

    def __init__(self, resolver: Resolver, *, verify: ssl.SSLContext | None, max_connections: int) -> None:
        self._resolver = resolver
        self._inner = httpx2.AsyncHTTPTransport(
            verify=True if verify is None else verify,
            trust_env=False,
            limits=httpx2.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send to the first allowed address that accepts a connection.

        Raises AddressRefusedError, and httpx2.ConnectError or ConnectTimeout when no address answers.
        """
        failure: httpx2.TransportError = httpx2.ConnectError("the receiver's name has no address")
        for address in (await self._addresses(request))[:MAX_ADDRESSES]:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        self._resolver.forget()
        raise failure

    async def _addresses(self, request: httpx2.Request) -> tuple[Address, ...]:
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        connect_seconds = request.extensions["timeout"]["connect"]
        try:
            async with asyncio.timeout(connect_seconds):
                return await self._resolver.resolve(request.url.raw_host.decode("ascii"), port)
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("the receiver's name was not resolved in time") from error

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._inner.__aexit__(exc_type, exc_value, traceback)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


def _pinned(request: httpx2.Request, address: Address) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )
