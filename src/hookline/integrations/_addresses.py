"""Which addresses an event may reach: a table of our own, and a resolver that applies it.

`ipaddress.is_global` is not asked: on Python 3.11 it calls 64:ff9b::a9fe:a9fe, 2002:a9fe:a9fe::, fec0::1 and 5f00::1
global, and each of them can lead to a metadata service or a private network.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpx2

from hookline.integrations._errors import AddressRefusedError

Address = IPv4Address | IPv6Address
Lookup = Callable[[str, int], Awaitable[list[str]]]

PRIVATE: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("172.16.0.0/12", "private"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmark"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
    )
)

NEVER: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "this host"),
        ("100.100.100.200/32", "metadata service"),
        ("168.63.129.16/32", "metadata service"),
        ("169.254.0.0/16", "link-local"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("64:ff9b:1::/48", "local-use NAT64"),
        ("2001::/23", "protocol assignments"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("fd00:ec2::/32", "metadata service"),
        ("fd20:ce::/32", "metadata service"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)

GLOBAL_UNICAST = IPv6Network("2000::/3")
MAPPED = IPv6Network("::ffff:0:0/96")
NAT64 = IPv6Network("64:ff9b::/96")
SIX_TO_FOUR = IPv6Network("2002::/16")


def refusal(address: Address, *, allow_private: bool) -> str | None:
    """Say why `address` may not be called, or None when it may.

    An IPv4 address that an IPv6 one carries (mapped, NAT64, 6to4) is judged in its place. `allow_private` opens
    loopback, private, carrier-grade and benchmark networks; metadata services, link-local, multicast and reserved
    addresses stay shut.
    """
    judged = _embedded(address)
    never = _reason(judged, NEVER)
    if never is not None:
        return never
    private = _reason(judged, PRIVATE)
    if private is not None:
        return None if allow_private else private
    if isinstance(judged, IPv6Address) and judged not in GLOBAL_UNICAST:
        return "reserved"
    return None


def _embedded(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in MAPPED or address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in SIX_TO_FOUR:
        return IPv4Address((int(address) >> 80) & 0xFFFFFFFF)
    return address


def _reason(address: Address, table: tuple[tuple[IPv4Network | IPv6Network, str], ...]) -> str | None:
    return next((reason for network, reason in table if address in network), None)


async def system_lookup(host: str, port: int) -> list[str]:
    """Ask the system's resolver for every address of `host`; raises `OSError` when it knows none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Resolver:
    """Resolve one host to addresses that may be called; only those are ever connected to.

    A good answer is kept for `keep_seconds` and one lookup serves all who wait for it. The kept answer is made of
    checked literals, so a name that changes its mind (DNS rebinding) changes nothing. For one event loop.
    """

    def __init__(self, lookup: Lookup = system_lookup, *, allow_private: bool, keep_seconds: float = 10.0) -> None:
        self._lookup = lookup
        self._allow_private = allow_private
        self._keep_seconds = keep_seconds
        self._known: tuple[Address, ...] = ()
        self._fresh_until = 0.0
        self._turn = asyncio.Lock()

    async def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the callable addresses of `host`, in the resolver's order.

        Raises AddressRefusedError when there are only others, httpx2.ConnectError when the name has none.
        """
        if time.monotonic() < self._fresh_until:
            return self._known
        async with self._turn:
            if time.monotonic() >= self._fresh_until:
                self._known = self._allowed(host, await self._ask(host, port))
                self._fresh_until = time.monotonic() + self._keep_seconds
            return self._known

    def forget(self) -> None:
        """Look the name up again next time: none of its addresses could be reached."""
        self._fresh_until = 0.0

    async def _ask(self, host: str, port: int) -> list[Address]:
        try:
            answers = await self._lookup(host, port)
        except OSError as error:
            raise httpx2.ConnectError("the receiver's name could not be resolved") from error
        return [ip_address(answer.partition("%")[0]) for answer in dict.fromkeys(answers)]

    def _allowed(self, host: str, addresses: list[Address]) -> tuple[Address, ...]:
        reasons = {address: refusal(address, allow_private=self._allow_private) for address in addresses}
        allowed = tuple(address for address, reason in reasons.items() if reason is None)
        if not allowed:
            raise AddressRefusedError(host, {str(address): str(reason) for address, reason in reasons.items()})
        return allowed
