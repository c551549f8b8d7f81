"""What each error means: the matrix of docs/errors.md."""

from __future__ import annotations

import asyncio
import errno
import json
import smtplib
import socket
import ssl
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import httpx2
import pytest

from hookline.errs import (
    DEFAULT_CLASSIFIERS,
    DEFAULT_RETRY_STATUSES,
    KNATIVE_RETRY_STATUSES,
    HttpStatusError,
    Verdict,
    classify,
    dependency_error,
    http_classifier,
    retryable_dependency_error,
    retryable_error,
    user_error,
)
from tests.unit.errs.making import foreign

AWAY = Verdict.INFRA_DEPENDENCY_RETRYABLE
REFUSED = Verdict.INFRA_DEPENDENCY
KNATIVE = Path(__file__).with_name("knative-data-plane-status.json")


def status(code: int) -> HttpStatusError:
    """Make the answer of a receiver."""
    return HttpStatusError(code, host="ci.example.com")


@pytest.mark.parametrize(
    ("verdict", "retryable", "dependency"),
    [
        (Verdict.UNKNOWN, False, False),
        (Verdict.USER, False, False),
        (Verdict.INFRA, False, False),
        (Verdict.INFRA_RETRYABLE, True, False),
        (Verdict.INFRA_DEPENDENCY, False, True),
        (Verdict.INFRA_DEPENDENCY_RETRYABLE, True, True),
    ],
)
def test_a_verdict_says_whether_to_retry_and_whose_fault(
    verdict: Verdict, *, retryable: bool, dependency: bool
) -> None:
    """Only the two retryable verdicts retry, and only the two dependency verdicts count as an outage (P9)."""
    assert (verdict.retryable, verdict.dependency) == (retryable, dependency)


def test_ranks_follow_the_table() -> None:
    """InfraRetryable > InfraDependencyRetryable > Infra > User > InfraDependency > Unknown."""
    assert sorted(Verdict, key=lambda verdict: -verdict.rank) == [
        Verdict.INFRA_RETRYABLE,
        Verdict.INFRA_DEPENDENCY_RETRYABLE,
        Verdict.INFRA,
        Verdict.USER,
        Verdict.INFRA_DEPENDENCY,
        Verdict.UNKNOWN,
    ]


def test_http_statuses() -> None:
    """408, 429 and 5xx wait for the receiver; 501, 505 and every other failure status is permanent."""
    waiting = {408, 429, *range(500, 600)} - {501, 505}
    assert {code for code in range(100, 600) if classify(status(code)) is AWAY} == waiting
    assert {classify(status(code)) for code in set(range(600)) - waiting} == {REFUSED}


@pytest.mark.parametrize("row", json.loads(KNATIVE.read_text())["rows"], ids=lambda row: str(row["status"]))
def test_knative_statuses_are_one_setting_away(row: dict[str, object]) -> None:
    """With KNATIVE_RETRY_STATUSES the classifier follows Knative's table; the default differs on 404, 409, 501, 505."""
    classifiers = (http_classifier(retry_statuses=KNATIVE_RETRY_STATUSES),)
    if row["delivered"]:
        return
    for code in knative_codes(str(row["status"])):
        assert (classify(status(code), classifiers) is AWAY) is row["retry"]


def knative_codes(pattern: str) -> list[int]:
    """Return the statuses a row of the table speaks of."""
    if pattern == "other 4xx":
        return sorted(set(range(400, 500)) - {400, 401, 403, 404, 408, 409, 429})
    return list(range(int(pattern[0]) * 100, int(pattern[0]) * 100 + 100)) if "x" in pattern else [int(pattern)]


def test_the_default_differs_from_knative_only_where_documented() -> None:
    """The two sets of statuses differ on 404, 409, 501 and 505 alone."""
    assert set(KNATIVE_RETRY_STATUSES) ^ set(DEFAULT_RETRY_STATUSES) == {404, 409, 501, 505}


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (httpx2.ConnectError("x"), AWAY),
        (httpx2.ReadTimeout("x"), AWAY),
        (httpx2.PoolTimeout("x"), AWAY),
        (httpx2.RemoteProtocolError("x"), AWAY),
        (httpx2.ProxyError("x"), AWAY),
        (httpx2.TooManyRedirects("x"), REFUSED),
        (httpx2.DecodingError("x"), REFUSED),
        (httpx2.UnsupportedProtocol("x"), Verdict.UNKNOWN),
        (httpx2.LocalProtocolError("x"), Verdict.UNKNOWN),
        (httpx2.InvalidURL("x"), Verdict.UNKNOWN),
        (foreign("requests.exceptions", "RequestException", "ConnectionError", "SSLError", base=OSError), AWAY),
        (foreign("requests.exceptions", "RequestException", "Timeout", "ReadTimeout", base=OSError), AWAY),
        (foreign("requests.exceptions", "RequestException", "InvalidURL", base=OSError), Verdict.UNKNOWN),
        (foreign("urllib3.exceptions", "HTTPError", "MaxRetryError"), AWAY),
        (foreign("aiohttp.client_exceptions", "ClientError", "ClientConnectionError", "ServerDisconnectedError"), AWAY),
        (foreign("aiohttp.client_exceptions", "ClientError", "ClientResponseError", status=503), AWAY),
        (foreign("aiohttp.client_exceptions", "ClientError", "ClientResponseError", status=422), REFUSED),
        (foreign("github.GithubException", "GithubException", status=403), REFUSED),
        (foreign("slack_sdk.errors", "SlackApiError", status_code=200), Verdict.UNKNOWN),
        (urllib.error.HTTPError("http://x", 503, "m", Message(), None), AWAY),
        (urllib.error.HTTPError("http://x", 404, "m", Message(), None), REFUSED),
        (urllib.error.URLError(ConnectionRefusedError()), AWAY),
        (urllib.error.URLError(TimeoutError()), AWAY),
        (urllib.error.URLError(FileNotFoundError(errno.ENOENT, "x")), Verdict.UNKNOWN),
        (urllib.error.URLError("unknown url type: gopher"), Verdict.UNKNOWN),
    ],
    ids=repr,
)
def test_http_clients(error: Exception, verdict: Verdict) -> None:
    """A client's lost connection or timeout waits for the receiver; its misuse is nobody's outage."""
    assert classify(error) is verdict


def test_a_status_error_of_a_client_speaks_by_its_status() -> None:
    """The status of the response an exception carries decides."""
    request = httpx2.Request("POST", "https://ci.example.com/hooks")
    gone, busy = (
        httpx2.HTTPStatusError("x", request=request, response=httpx2.Response(code, request=request))
        for code in (410, 503)
    )
    assert (classify(gone), classify(busy)) == (REFUSED, AWAY)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (TimeoutError(), Verdict.INFRA_RETRYABLE),
        (TimeoutError(errno.ETIMEDOUT, "connect"), AWAY),
        (ConnectionRefusedError(), AWAY),
        (ConnectionResetError(), AWAY),
        (BrokenPipeError(), AWAY),
        (socket.gaierror(socket.EAI_NONAME, "x"), AWAY),
        (ssl.SSLCertVerificationError("x"), AWAY),
        (OSError(errno.EHOSTUNREACH, "x"), AWAY),
        (OSError(errno.ENOSPC, "x"), AWAY),
        (OSError(errno.EMFILE, "x"), Verdict.INFRA_RETRYABLE),
        (MemoryError(), Verdict.INFRA_RETRYABLE),
        (FileNotFoundError(errno.ENOENT, "x"), Verdict.UNKNOWN),
        (PermissionError(errno.EACCES, "x"), Verdict.UNKNOWN),
        (OSError("x"), Verdict.UNKNOWN),
        (ValueError("x"), Verdict.UNKNOWN),
        (KeyError("x"), Verdict.UNKNOWN),
        (StopIteration(), Verdict.UNKNOWN),
        (RecursionError(), Verdict.UNKNOWN),
        (asyncio.CancelledError(), Verdict.UNKNOWN),
        (SystemExit(0), Verdict.UNKNOWN),
        (GeneratorExit(), Verdict.UNKNOWN),
        (KeyboardInterrupt(), Verdict.UNKNOWN),
    ],
    ids=repr,
)
def test_plain_errors(error: BaseException, verdict: Verdict) -> None:
    """Connections wait for the other end, a bare timeout counts attempts, a missing file and a bug are permanent."""
    assert classify(error) is verdict


def raised_in(module: str) -> BaseException:
    """Raise a bare TimeoutError in a module's code."""
    names = {"__name__": module}
    exec("def fail():\n    raise TimeoutError", names)  # noqa: S102  # a frame of that module
    fail = names["fail"]
    assert callable(fail)
    with pytest.raises(TimeoutError) as caught:
        fail()
    return caught.value


@pytest.mark.parametrize(
    ("module", "verdict"),
    [
        ("aiohttp.helpers", AWAY),
        ("urllib.request", AWAY),
        ("http.client", AWAY),
        ("socket", AWAY),
        ("ssl", AWAY),
        ("asyncio.timeouts", Verdict.INFRA_RETRYABLE),
        ("app.hooks", Verdict.INFRA_RETRYABLE),
    ],
)
def test_a_timeout_is_whose_code_raised_it(module: str, verdict: Verdict) -> None:
    """A client's own timeout, also when it is a bare TimeoutError, waits for the receiver; a hook's counts attempts (P9)."""
    assert classify(raised_in(module)) is verdict


def test_a_receiver_that_does_not_answer_is_a_dependency() -> None:
    """The timeout of urllib while it reads is a bare TimeoutError; a real silent receiver is waited for (P9)."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.05)
    assert classify(caught.value) is AWAY


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (smtplib.SMTPServerDisconnected("x"), AWAY),
        (smtplib.SMTPConnectError(421, "x"), AWAY),
        (smtplib.SMTPResponseException(451, "x"), AWAY),
        (smtplib.SMTPDataError(554, "x"), REFUSED),
        (smtplib.SMTPAuthenticationError(535, "x"), REFUSED),
        (smtplib.SMTPNotSupportedError("x"), Verdict.UNKNOWN),
        (foreign("aiosmtplib.errors", "SMTPException", "SMTPConnectTimeoutError", "SMTPTimeoutError"), AWAY),
        (foreign("aiosmtplib.errors", "SMTPException", "SMTPResponseException", code=450), AWAY),
        (foreign("app.errors", "SMTPResponseException", code=450), Verdict.UNKNOWN),
    ],
    ids=repr,
)
def test_mail_servers(error: Exception, verdict: Verdict) -> None:
    """A mail server that is lost or says 4xx is waited for, 5xx is its last word (RFC 5321, 4.2.1)."""
    assert classify(error) is verdict


async def test_asyncio_sums_up_addresses_in_a_plain_oserror() -> None:
    """Several addresses that fail each its own way are a lost connection, though asyncio's error has no errno."""
    loop = asyncio.get_running_loop()
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()

    class Resolver:
        async def __call__(self, *_: object, **__: object) -> list[tuple[object, ...]]:
            kind = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
            return [(socket.AF_INET, *kind, ("127.0.0.1", at)) for at in (port, port - 1)]

    loop.getaddrinfo = Resolver()  # type: ignore[assignment, method-assign]  # two addresses, neither listening
    with pytest.raises(OSError) as caught:  # noqa: PT011  # the class is the point: a plain OSError
        await asyncio.open_connection("two.example.com", port)
    assert type(caught.value) is OSError
    assert classify(caught.value) is AWAY


@pytest.mark.parametrize(
    ("wrap", "verdict"),
    [
        (user_error, Verdict.USER),
        (retryable_error, Verdict.INFRA_RETRYABLE),
        (dependency_error, REFUSED),
        (retryable_dependency_error, AWAY),
    ],
)
def test_an_explicit_wrap_wins_wherever_it_stands(wrap: object, verdict: Verdict) -> None:
    """No classifier is asked when somebody on the chain said what it means."""
    assert callable(wrap)
    wrapped = wrap(TimeoutError())
    outer = ConnectionResetError()
    outer.__cause__ = wrapped
    assert classify(wrapped) is verdict
    assert classify(outer) is verdict


def test_the_outermost_of_two_wraps_wins() -> None:
    """Whoever wraps later knows more."""
    assert classify(user_error(retryable_error(ValueError()))) is Verdict.USER


def test_the_outermost_node_that_a_classifier_claims_wins() -> None:
    """Nodes are asked from the outside in, and at each node the classifiers in their order."""
    outer = status(404)
    outer.__cause__ = ConnectionResetError()
    plain = RuntimeError()
    plain.__cause__ = ConnectionResetError()
    assert (classify(outer), classify(plain)) == (REFUSED, AWAY)


def test_classifiers_are_asked_in_order() -> None:
    """The first that claims a node decides it."""

    def user(_: BaseException) -> Verdict:
        return Verdict.USER

    assert classify(TimeoutError(), (user, *DEFAULT_CLASSIFIERS)) is Verdict.USER
    assert classify(TimeoutError(), (*DEFAULT_CLASSIFIERS, user)) is Verdict.INFRA_RETRYABLE


def test_the_context_is_no_cause() -> None:
    """An error raised while handling another does not mean what the other meant."""
    error = ValueError()
    error.__context__ = ConnectionResetError()
    assert classify(error) is Verdict.UNKNOWN


def test_a_wrap_raised_from_another_error_still_wraps() -> None:
    """`raise wrap(x) from y` keeps what the wrap says and what it wraps."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # the wrap's class is private
        raise user_error(ValueError("bad order")) from ConnectionResetError()
    assert classify(caught.value) is Verdict.USER


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), BaseException()], ids=repr
)
def test_no_classifier_retries_what_ends_a_program(error: BaseException) -> None:
    """Case 9 (tenacity-swallows-cancel): whatever somebody's rule claims, an exit or a cancellation is never tried again."""

    def everything(_: BaseException) -> Verdict:
        return Verdict.INFRA_RETRYABLE

    assert classify(error, (everything,)) is Verdict.UNKNOWN
    assert classify(BaseExceptionGroup("g", [error]), (everything, *DEFAULT_CLASSIFIERS)) is Verdict.UNKNOWN
    assert classify(ValueError(), (everything,)) is Verdict.INFRA_RETRYABLE


def test_a_classifier_that_raises_has_said_nothing() -> None:
    """One broken classifier costs its own opinion, never the delivery's verdict."""

    def broken(_: BaseException) -> Verdict:
        raise ZeroDivisionError

    assert classify(TimeoutError(), (broken, *DEFAULT_CLASSIFIERS)) is Verdict.INFRA_RETRYABLE
