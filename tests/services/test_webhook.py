from __future__ import annotations

import asyncio
import base64
import json
import logging
import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import standardwebhooks

from hookline.contract import WebhookSecretError
from hookline.errs import HttpStatusError, Verdict, classify
from hookline.integrations import AddressRefusedError, Webhook, WebhookOptions
from tests.support.missing import missing
from tests.unit.integrations.events import failed_batch
from tests.unit.integrations.logs import lines_of
from tests.unit.integrations.receiver import answer, drip, endless, half_body, hang, receiving

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()
OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
CANARY = "c4n4ryT0ken"


def webhook_to(url: str, **options: Any) -> Webhook:
    made = WebhookOptions.model_validate({"url": url, "secret": SECRET, "allow_private_addresses": True} | options)
    return Webhook("ci", made)


async def deliver(url: str, **options: Any) -> None:
    async with webhook_to(url, **options) as webhook:
        await webhook.handle(failed_batch())


async def failure_of(url: str, **options: Any) -> HttpStatusError:
    with pytest.raises(HttpStatusError) as caught:
        await deliver(url, **options)
    return caught.value


async def error_of(url: str, **options: Any) -> BaseException:
    [failure] = await asyncio.gather(deliver(url, **options), return_exceptions=True)
    assert failure is not None
    return failure


async def test_an_event_arrives_as_a_signed_cloudevent() -> None:
    """The receiver gets a structured CloudEvent that the reference library verifies, and nothing decompressible is asked."""
    with receiving() as receiver:
        await deliver(receiver.url)
    [request] = receiver.requests
    document = standardwebhooks.Webhook(SECRET).verify(request.body, request.headers)
    assert document["type"] == "batch.failed"
    assert document["data"] == {"batch_id": "batch-778", "error": "merge conflict", "size": 3}
    assert request.path == "/hooks"
    assert request.headers["content-type"] == "application/cloudevents+json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


async def test_the_id_is_the_same_over_retries_and_restarts() -> None:
    """P4: each attempt carries the event's own webhook-id, also from a new instance; another hook's differs."""
    with receiving(answer(503), answer(200)) as receiver:
        await failure_of(receiver.url)
        await deliver(receiver.url)
        async with Webhook("other", webhook_to(receiver.url).options) as other:
            await other.handle(failed_batch())
    first, second, third = (request.headers["webhook-id"] for request in receiver.requests)
    assert first == second != third
    assert "." not in first


@pytest.mark.parametrize("held", [SECRET, OLD])
async def test_a_rotation_rejects_nothing(tmp_path: Path, held: str) -> None:
    """While the file of secrets changes under the open hook, a receiver that holds both accepts every event."""
    path = tmp_path / "secret"
    path.write_text(OLD)
    with receiving() as receiver:
        async with webhook_to(receiver.url, secret=[], secret_file=str(path)) as webhook:
            await webhook.handle(failed_batch(1))
            path.write_text(f"{SECRET}\n{OLD}\n")
            await webhook.handle(failed_batch(2))
            path.write_text(SECRET)
            await webhook.handle(failed_batch(3))
    signed_by = {0: {OLD}, 1: {SECRET, OLD}, 2: {SECRET}}
    for number, request in enumerate(receiver.requests):
        if held in signed_by[number]:
            standardwebhooks.Webhook(held).verify(request.body, request.headers)
        else:
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                standardwebhooks.Webhook(held).verify(request.body, request.headers)


async def test_without_a_secret_events_go_unsigned_and_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """No secret, no signature: said once in the log when the hook opens."""
    with receiving() as receiver:
        await deliver(receiver.url, secret=[])
    assert "webhook-signature" not in receiver.requests[0].headers
    assert [log["event"] for log in lines_of(caplog)] == ["webhook_unsigned"]


async def test_a_missing_or_bad_secret_file_keeps_the_hook_from_opening(tmp_path: Path) -> None:
    """A secret that cannot be read is an error at the opening, and the hook may be entered again."""
    path = tmp_path / "secret"
    webhook = webhook_to("https://ci.example.com", secret=[], secret_file=str(path))
    with pytest.raises(FileNotFoundError):
        await webhook.__aenter__()
    path.write_text("not a secret\n")
    with pytest.raises(WebhookSecretError):
        await webhook.__aenter__()
    path.write_text(SECRET)
    async with webhook:
        pass


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_done(status: int) -> None:
    """Every 2xx means that the receiver took the event."""
    with receiving(answer(status)) as receiver:
        await deliver(receiver.url)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 410, 422, 429, 500, 502, 503, 504])
async def test_any_other_answer_is_an_error_with_its_facts(status: int) -> None:
    """Status, host, Retry-After and the beginning of the body reach whoever classifies the error."""
    with receiving(answer(status, b"no thanks", retry_after="7")) as receiver:
        error = await failure_of(receiver.url)
    assert (error.status, error.host, error.retry_after_seconds, error.body) == (status, "127.0.0.1", 7.0, "no thanks")
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("target", ["/elsewhere", "http://169.254.169.254/latest/meta-data/"])
async def test_redirects_are_never_followed(status: int, target: str) -> None:
    """A redirect is a failure with its status, and one request was made."""
    with receiving(answer(status, location=target)) as receiver:
        error = await failure_of(receiver.url)
    assert error.status == status
    assert len(receiver.requests) == 1


async def test_cookies_are_not_sent_back() -> None:
    """What a receiver sets does not come back to it, nor to anyone."""
    with receiving(answer(200, set_cookie="session=1")) as receiver:
        async with webhook_to(receiver.url) as webhook:
            await webhook.handle(failed_batch(1))
            await webhook.handle(failed_batch(2))
    assert all("cookie" not in request.headers for request in receiver.requests)


async def test_a_thousand_concurrent_events_arrive_once_each_over_few_connections() -> None:
    """Concurrent handles share the hook's pool, and each event is posted once."""
    with receiving() as receiver:
        async with webhook_to(
            receiver.url, max_connections=8, connect_timeout_seconds=60, read_timeout_seconds=60
        ) as webhook:
            await asyncio.gather(*(webhook.handle(failed_batch(number)) for number in range(1000)))
    assert sorted(json.loads(request.body)["subject"] for request in receiver.requests) == sorted(
        f"batch-{number}" for number in range(1000)
    )
    assert receiver.connections <= 8


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",  # noqa: S104 - refused here, not bound
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fd00::1]",
    ],
)
async def test_private_addresses_are_refused_by_default(host: str) -> None:
    """Loopback, private and metadata addresses, as literals in any spelling or behind a name, see no connection."""
    with receiving() as receiver, pytest.raises(AddressRefusedError):
        await deliver(f"http://{host}:{receiver.port}/", allow_private_addresses=False)
    assert receiver.connections == 0


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "224.0.0.1"]
)
async def test_metadata_is_refused_even_where_private_networks_are_allowed(host: str) -> None:
    """allow_private_addresses opens private networks, not metadata services, link-local or multicast."""
    with pytest.raises(AddressRefusedError) as caught:
        await deliver(f"http://{host}/")
    assert caught.value.host == host.strip("[]")


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP_PROXY neither sees the event nor takes it past the address check."""
    with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await deliver(receiver.url)
        with pytest.raises(AddressRefusedError):
            await deliver(receiver.url, allow_private_addresses=False)
    assert (len(receiver.requests), proxy.connections) == (1, 0)


def renamed(webhook: Webhook, *answers: list[str]) -> Webhook:
    """Give the hook a resolver that answers as scripted, the last answer for ever."""
    left = list(answers)

    async def lookup(_host: str, _port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return Webhook(webhook.name, webhook.options, lookup=lookup)


async def test_the_checked_address_is_the_one_connected_to() -> None:
    """The name is asked once and the checked answer is connected to, under the receiver's own Host: no rebinding."""
    with receiving() as receiver:
        async with renamed(webhook_to(f"http://receiver.test:{receiver.port}/hooks"), ["127.0.0.1"]) as webhook:
            await webhook.handle(failed_batch())
    assert receiver.requests[0].headers["host"] == f"receiver.test:{receiver.port}"


async def test_a_dead_address_is_passed_over_for_the_next() -> None:
    """Of several addresses the first that accepts a connection gets the event, once."""
    with receiving() as receiver:
        name = f"http://receiver.test:{receiver.port}/hooks"
        async with renamed(webhook_to(name), ["127.0.0.2", "127.0.0.1"]) as webhook:
            await webhook.handle(failed_batch())
    assert len(receiver.requests) == 1


async def test_an_unreachable_receiver_is_looked_up_anew() -> None:
    """A receiver that moved is found: after a refused connection the name is asked again."""
    with receiving() as receiver:
        name = f"http://receiver.test:{receiver.port}/hooks"
        async with renamed(webhook_to(name), ["127.0.0.2"], ["127.0.0.1"]) as webhook:
            with pytest.raises(httpx2.ConnectError):
                await webhook.handle(failed_batch())
            await webhook.handle(failed_batch())
    assert len(receiver.requests) == 1


async def test_a_closed_port_is_httpx2s_error_with_the_host_alone() -> None:
    """P15: a connection error passes as it is; its request names the host and neither path, token nor credential."""
    with receiving() as receiver:
        url = f"http://user:{CANARY}@127.0.0.1:{receiver.port}/{CANARY}?token={CANARY}"
    with pytest.raises(httpx2.ConnectError) as caught:
        await deliver(url)
    assert caught.value.request.url.host == "127.0.0.1"
    assert CANARY not in f"{caught.value} {caught.value.request.url} {caught.value.request.headers}"


async def test_a_hanging_receiver_is_a_timeout() -> None:
    """P10: a receiver that accepts and says nothing is httpx2's timeout."""
    with receiving(hang) as receiver, pytest.raises(httpx2.ReadTimeout):
        await deliver(receiver.url, read_timeout_seconds=0.05)


async def test_a_receiver_that_drips_its_head_is_a_timeout() -> None:
    """P10: an answer that comes a byte at a time, each within the read timeout, ends at the limit of the whole."""
    with receiving(drip) as receiver, pytest.raises(httpx2.ReadTimeout):
        await deliver(receiver.url, connect_timeout_seconds=0.1, read_timeout_seconds=0.2)


async def test_failures_say_whose_they_are() -> None:
    """P9: an unreachable or silent receiver is an outage that waits; an address that may not be called is permanent."""
    with receiving(hang) as receiver:
        silent = await error_of(receiver.url, read_timeout_seconds=0.05)
    closed = await error_of(receiver.url)
    refused = await error_of(receiver.url, allow_private_addresses=False)
    assert [classify(error) for error in (silent, closed)] == [Verdict.INFRA_DEPENDENCY_RETRYABLE] * 2
    assert not classify(refused).retryable


async def test_a_body_that_hangs_does_not_undo_the_status() -> None:
    """P10: once the status has come it decides: 200 is done and 500 an error, though the body never ends."""
    with receiving(half_body(200), half_body(500)) as receiver:
        await deliver(receiver.url, read_timeout_seconds=0.1)
        error = await failure_of(receiver.url, read_timeout_seconds=0.1)
    assert (error.status, error.body) == (500, "half")


@pytest.mark.parametrize("status", [200, 500])
async def test_an_endless_body_is_cut(status: int) -> None:
    """P10: a receiver that streams for ever is cut off; of its body 1,024 bytes are kept."""
    with receiving(endless(status)) as receiver:
        if status == 200:
            await deliver(receiver.url)
            return
        error = await failure_of(receiver.url)
    assert error.body == "x" * 1024


async def test_a_compressed_answer_is_not_unpacked() -> None:
    """A bomb stays packed: what the receiver calls gzip is kept as the bytes it sent."""
    with receiving(answer(500, b"not gzip at all", content_encoding="gzip")) as receiver:
        error = await failure_of(receiver.url)
    assert error.body == "not gzip at all"


async def test_credentials_in_the_url_become_basic_auth() -> None:
    """User and password of the URL go into the Authorization header, decoded, and not into the request line."""
    with receiving() as receiver:
        await deliver(f"http://ci:p%40ss@127.0.0.1:{receiver.port}/hooks?token=1")
    assert receiver.requests[0].headers["authorization"] == "Basic " + base64.b64encode(b"ci:p@ss").decode()
    assert receiver.requests[0].path == "/hooks?token=1"


async def test_configured_headers_are_sent() -> None:
    """Headers from the options go out with every request and can replace the user agent."""
    with receiving() as receiver:
        await deliver(receiver.url, headers={"X-Team": "infra", "User-Agent": "ours"})
    headers = receiver.requests[0].headers
    assert (headers["x-team"], headers["user-agent"]) == ("infra", "ours")


async def test_no_secret_reaches_a_log_or_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """P15: neither the clients' debug logs, nor ours, nor the error hold the URL's token, a header or the secret."""
    caplog.set_level(logging.DEBUG)
    with receiving(answer(500)) as receiver:
        error = await failure_of(
            f"http://user:{CANARY}@127.0.0.1:{receiver.port}/{CANARY}?token={CANARY}",
            headers={"x-api-key": CANARY},
            secret=f"whsec_{CANARY}a",
        )
    assert CANARY not in f"{caplog.text} {lines_of(caplog)} {error} {error!r} {vars(error)}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for receiver.test that is its own authority."""
    openssl = shutil.which("openssl")
    if openssl is None:
        missing("openssl is not installed (Debian: apt-get install openssl)")
    folder = tmp_path_factory.mktemp("tls")
    command = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=receiver.test -addext subjectAltName=DNS:receiver.test -keyout {folder}/key.pem -out {folder}/cert.pem"
    subprocess.run([openssl, *command.split()], check=True, capture_output=True)
    return folder


def server_context(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    return context


async def test_tls_is_verified_by_the_receivers_name(authority: Path) -> None:
    """The certificate is checked against the URL's name, though the connection goes to a checked address."""
    with receiving(tls=server_context(authority)) as receiver:
        url, ca_file = f"https://receiver.test:{receiver.port}/hooks", str(authority / "cert.pem")
        async with renamed(webhook_to(url, ca_file=ca_file), ["127.0.0.1"]) as webhook:
            await webhook.handle(failed_batch())
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(("host", "trusted"), [("receiver.test", False), ("other.test", True)])
async def test_a_certificate_of_another_name_or_authority_is_refused(
    authority: Path,
    host: str,
    trusted: bool,  # noqa: FBT001 - parametrized
) -> None:
    """An untrusted authority or a wrong name is a connection error, and no event is sent."""
    options = {"ca_file": str(authority / "cert.pem")} if trusted else {}
    with receiving(tls=server_context(authority)) as receiver:
        async with renamed(webhook_to(f"https://{host}:{receiver.port}/", **options), ["127.0.0.1"]) as webhook:
            with pytest.raises(httpx2.ConnectError):
                await webhook.handle(failed_batch())
    assert not receiver.requests
