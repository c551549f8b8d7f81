"""What an HTTP failure means, whichever client raised it.

Exception
+-- HttpStatusError
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from hookline.errs._names import lookup, names
from hookline.errs._sockets import connection_classifier
from hookline.errs._text import clean, cut
from hookline.errs._verdict import Verdict
from hookline.errs._walk import peek

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_BODY_BYTES: Final = 1024

DEFAULT_RETRY_STATUSES: Final[frozenset[int]] = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)}
) - {HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED}
"""408, 429 and 5xx without 501 and 505 (docs/errors.md)."""

KNATIVE_RETRY_STATUSES: Final[frozenset[int]] = frozenset({404, 408, 409, 429, *range(500, 600)})
"""What Knative's data plane retries: also 404, 409, 501 and 505 (knative/specs, data-plane.md)."""

_AWAY: Final = Verdict.INFRA_DEPENDENCY_RETRYABLE
_REFUSED: Final = Verdict.INFRA_DEPENDENCY
_MISUSED: Final = Verdict.UNKNOWN
_CLASSES: Final = (
    ("httpx httpx2 httpcore httpcore2", "NetworkError TimeoutException RemoteProtocolError ProxyError", _AWAY),
    ("httpx httpx2 httpcore httpcore2", "TooManyRedirects DecodingError", _REFUSED),
    ("requests", "ConnectionError Timeout ChunkedEncodingError", _AWAY),
    ("requests", "TooManyRedirects ContentDecodingError", _REFUSED),
    ("urllib3", "TimeoutError ProtocolError MaxRetryError NewConnectionError ProxyError SSLError", _AWAY),
    ("urllib3", "DecodeError", _REFUSED),
    ("aiohttp", "ClientConnectionError ClientPayloadError", _AWAY),
    ("aiohttp requests", "InvalidURL InvalidProxyURL", _MISUSED),
    ("http", "IncompleteRead BadStatusLine RemoteDisconnected", _AWAY),
)
# The first class in an error's MRO that is found here decides, so a subclass may differ from its base.
_CLIENTS: Final[dict[tuple[str, str], Verdict]] = {
    (package, name): verdict
    for packages, classes, verdict in _CLASSES
    for package in packages.split()
    for name in classes.split()
}
_STATUS_PATHS: Final = (("response", "status_code"), ("response", "status"), ("status_code",), ("status",))


class HttpStatusError(Exception):
    """Say that a receiver answered, and not with success.

    `retry_after_seconds` is what the receiver asked for, already read as seconds. Of `body` at most 1,024 bytes are
    kept: it lands in a dead letter's header.
    """

    def __init__(
        self, status: int, *, host: str, retry_after_seconds: float | None = None, body: bytes | str = b""
    ) -> None:
        self.status = status
        self.host = host
        self.retry_after_seconds = retry_after_seconds
        self.body = _excerpt(body)
        super().__init__(f"HTTP {status} from {host}" + (f": {self.body}" if self.body else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        wait_seconds, body = self.retry_after_seconds, self.body
        return partial(type(self), self.status, host=self.host, retry_after_seconds=wait_seconds, body=body), ()


def http_classifier(*, retry_statuses: Collection[int] = DEFAULT_RETRY_STATUSES) -> Callable[[BaseException], Verdict]:
    """Make the classifier of HTTP failures: ours, httpx's, requests', aiohttp's, urllib's, and any with a status.

    A status in `retry_statuses` is InfraDependencyRetryable, any other failure status InfraDependency; a client's
    timeout or lost connection InfraDependencyRetryable. A misuse of the client (a malformed URL) is not claimed.
    """
    statuses = frozenset(retry_statuses)

    def classify_http(error: BaseException) -> Verdict:
        status = http_status(error)
        if status is None:
            return _transport_verdict(error)
        return _AWAY if status in statuses else _REFUSED

    return classify_http


def http_status(error: BaseException) -> int | None:
    """Return the HTTP status that `error` itself carries; a success is no failure's status."""
    if isinstance(error, HttpStatusError):
        return error.status
    found = (peek(error, *path) for path in _STATUS_PATHS)
    return next((status for status in found if _is_failure_status(status)), None)


def lost_connection(error: BaseException) -> bool:
    """Tell whether an HTTP client raised `error` because it got no answer."""
    return _transport_verdict(error) is _AWAY


def _is_failure_status(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and (100 <= value < 200 or 300 <= value < 600)  # noqa: PLR2004  # the ranges of RFC 9110


def _transport_verdict(error: BaseException) -> Verdict:
    known = lookup(error, _CLIENTS)
    return known if known is not None else _url_verdict(error)


def _url_verdict(error: BaseException) -> Verdict:
    # urllib keeps the socket's error as a field, not as the cause, so it is part of this node.
    if not isinstance(error, OSError) or ("urllib", "URLError") not in names(error):
        return Verdict.UNKNOWN
    reason = peek(error, "reason")
    if isinstance(reason, TimeoutError):
        return _AWAY
    return connection_classifier(reason) if isinstance(reason, BaseException) else Verdict.UNKNOWN


def _excerpt(body: bytes | str) -> str:
    text = body[:MAX_BODY_BYTES].decode("utf-8", "replace") if isinstance(body, bytes) else body[:MAX_BODY_BYTES]
    return cut(clean(text).strip(), MAX_BODY_BYTES)
