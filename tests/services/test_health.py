"""Health and metrics, asked by real HTTP clients over real sockets."""

from __future__ import annotations

import asyncio
import signal
import socket
from dataclasses import dataclass, field

import httpx2
import pytest

from hookline.service import Check, HealthServer, ListenAddress, ListenError


class Metrics:
    """Writes one metric down, and the form it was asked for."""

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Answer by the kind of client."""
        if "openmetrics" in accept:
            return b"hookline_ready 1.0\n# EOF\n", "application/openmetrics-text; version=1.0.0; charset=utf-8"
        return b"hookline_ready 1.0\n", "text/plain; version=1.0.0; charset=utf-8"


@dataclass
class Probe:
    """A server whose checks the test decides."""

    live: list[Check] = field(default_factory=lambda: [Check("loop")])
    ready: list[Check] = field(default_factory=lambda: [Check("group"), Check("dead-letter-topic")])

    def server(self, listen: str = "127.0.0.1:0") -> HealthServer:
        """Make the server, not started."""
        return HealthServer(ListenAddress.parse(listen), lambda: self.live, lambda: self.ready, Metrics())

    async def get(self, path: str, method: str = "GET", **headers: str) -> httpx2.Response:
        """Ask once, on a new connection."""
        async with self.server() as server, httpx2.AsyncClient(base_url=f"http://{server.address}") as client:
            return await client.request(method, path, headers=headers)


async def test_livez_is_green_while_nothing_is_ready() -> None:
    """Liveness is the process's own: an outage of Kafka turns readiness red and liveness not."""
    probe = Probe(ready=[Check("kafka", "no broker answers")])
    assert (await probe.get("/livez")).status_code == 200
    assert (await probe.get("/readyz")).status_code == 503


async def test_livez_is_red_when_the_process_cannot_go_on() -> None:
    """P10: a process that cannot go on loses its liveness, and the answer names why."""
    answer = await Probe(live=[Check("loop"), Check("consumer", "thread has ended")]).get("/livez")
    assert answer.status_code == 503
    assert answer.text == "consumer: thread has ended\n"


async def test_readyz_lists_every_check_when_asked() -> None:
    """With ?verbose each check is a line, [+] when it holds and [-] with the reason when not."""
    answer = await Probe(ready=[Check("group"), Check("dead-letters", "topic x is\nmissing")]).get("/readyz?verbose")
    assert answer.status_code == 503
    assert answer.text.splitlines() == ["[+]group ok", "[-]dead-letters topic x is missing", "failed"]


async def test_readyz_tells_the_reason_on_one_line() -> None:
    """Without ?verbose the reasons stand on one line, so that an event of Kubernetes shows them."""
    answer = await Probe(ready=[Check("a", "one"), Check("b"), Check("c", "three")]).get("/readyz")
    assert answer.text == "a: one; c: three\n"


async def test_a_check_can_be_left_out() -> None:
    """?exclude=NAME leaves that check out, as Kubernetes' own health endpoints do."""
    answer = await Probe(ready=[Check("a", "one"), Check("b")]).get("/readyz?exclude=a&verbose")
    assert (answer.status_code, answer.text) == (200, "[+]b ok\nok\n")


async def test_a_check_that_raises_has_failed() -> None:
    """A probe is answered 503 when its checks cannot be made, and the error's text is not shown."""

    def broken() -> list[Check]:
        raise RuntimeError("password=canary")

    server = HealthServer(ListenAddress("127.0.0.1", 0), broken, broken, Metrics())
    async with server, httpx2.AsyncClient(base_url=f"http://{server.address}") as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "RuntimeError" in answer.text
    assert "canary" not in answer.text


async def test_reasons_show_no_credentials() -> None:
    """P15: credentials within a reason are masked, verbose or not."""
    probe = Probe(ready=[Check("pager", "no answer from https://user:canary@pager.example/x?token=canary")])
    for path in ("/readyz", "/readyz?verbose"):
        assert "canary" not in (await probe.get(path)).text


@pytest.mark.parametrize(
    ("accept", "form"), [("application/openmetrics-text", "application/openmetrics-text"), ("*/*", "text/plain")]
)
async def test_metrics_come_in_the_form_that_is_accepted(accept: str, form: str) -> None:
    """/metrics is OpenMetrics for a client that takes it, and the classic text else."""
    answer = await Probe().get("/metrics", accept=accept)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(form)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_head_is_answered_without_a_body(path: str) -> None:
    """HEAD works wherever GET does."""
    answer = await Probe().get(path, method="HEAD")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/livez/", 404),
        ("GET", "/docs", 404),
        ("POST", "/readyz", 405),
        ("DELETE", "/metrics", 405),
    ],
)
async def test_nothing_else_is_served(method: str, path: str, status: int) -> None:
    """There are three routes, they only read, and no other path leads to them."""
    assert (await Probe().get(path, method=method)).status_code == status


async def test_answers_do_not_tell_what_serves_them() -> None:
    """No server header, nothing to cache, no guessing of types."""
    headers = (await Probe().get("/readyz")).headers
    assert "server" not in headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


async def test_an_endless_request_head_is_refused() -> None:
    """A request whose head never ends is cut off at 16 KiB."""
    async with Probe().server() as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(b"GET /livez HTTP/1.1\r\nx: " + b"a" * 80_000)
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 400")


async def test_a_port_in_use_is_named() -> None:
    """An address that is taken is an error that says which, and leaves nothing running."""
    async with Probe().server() as first:
        second = Probe().server(str(first.address))
        with pytest.raises(ListenError) as caught:
            await second.start()
        assert caught.value.address == first.address
        assert str(first.address) in str(caught.value)
        await second.stop()


@pytest.mark.parametrize("listen", ["192.0.2.1:0", "no-such-host.invalid:8190"])
async def test_an_address_of_another_machine_is_named(listen: str) -> None:
    """An address that is not of this machine, or does not resolve, is the same error."""
    with pytest.raises(ListenError):
        await Probe().server(listen).start()


@pytest.mark.parametrize("listen", ["[::1]:0", "localhost:0", "[::]:0"])
async def test_it_listens_on_names_and_on_ipv6(listen: str) -> None:
    """A name, an IPv6 address, and all addresses work; port 0 is replaced by the one in use."""
    async with Probe().server(listen) as server:
        assert server.address.port > 0
        host = "127.0.0.1" if listen.startswith("[::]") else server.address.host
        url = f"http://{ListenAddress(host, server.address.port)}/livez"
        async with httpx2.AsyncClient() as client:
            assert (await client.get(url)).status_code == 200


async def test_stop_closes_connections_that_are_kept_alive() -> None:
    """Open connections, idle or in the middle of a request, do not keep the service from stopping."""
    server = Probe().server()
    await server.start()
    address = server.address
    async with httpx2.AsyncClient(base_url=f"http://{address}") as client:
        await client.get("/livez")
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /livez HTTP/1.1\r\nhost: x\r\n")
        await writer.drain()
        async with asyncio.timeout(10):
            await server.stop()
        assert await reader.read() == b""
        writer.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.host, address.port))


async def test_stop_may_be_called_twice_or_early() -> None:
    """Stopping what is stopped, or was never started, does nothing."""
    server = Probe().server()
    await server.stop()
    await server.start()
    await server.stop()
    await server.stop()


async def test_signals_stay_with_the_service() -> None:
    """The server leaves the handlers of SIGTERM and SIGINT alone: the service decides how it ends."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with Probe().server():
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
