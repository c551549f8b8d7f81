"""Callbacks that librdkafka calls into, made safe: an exception that escapes one surfaces in an unrelated call."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ._errors import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError

OAuthToken: TypeAlias = "tuple[str, float] | tuple[str, float, str] | tuple[str, float, str, dict[str, str]]"
"""(token, expiry in unix seconds[, principal[, SASL extensions]])."""
OAuth: TypeAlias = "Callable[[str | None], OAuthToken]"
"""Given `sasl.oauthbearer.config`, returns a token. Called on a thread of the client; may block."""
OnFault: TypeAlias = "Callable[[Fault], None]"

_logger: Final = logging.getLogger("hookline.kafka")
_STOPGAP_SECONDS: Final = 10.0
_REPEAT_SECONDS: Final = 10.0
_REMEMBERED_LINES: Final = 256


class GuardedOAuth:
    """An oauth callable that never raises.

    While the callable fails, the last token serves until it expires, then one that the broker refuses: the client
    reports the refusal and asks again within ten seconds, so it recovers without a restart.
    """

    def __init__(self, fetch: OAuth) -> None:
        self._fetch = fetch
        self._last: OAuthToken | None = None

    def __call__(self, config: str | None) -> OAuthToken:
        """Fetch a token, or stand in for one."""
        try:
            self._last = self._fetch(config)
        except Exception as error:  # noqa: BLE001 - user code called from C: what escapes here corrupts the client
            # The text of the exception may hold a credential, so only its type is told.
            _logger.error("the oauth callable failed with %s", type(error).__name__)  # noqa: TRY400 - no traceback either
            return self._stand_in()
        return self._last

    def _stand_in(self) -> OAuthToken:
        now = time.time()
        if self._last is not None and self._last[1] > now:
            return self._last
        return ("unavailable", now + _STOPGAP_SECONDS)


def guarded_on_fault(on_fault: OnFault | None) -> Callable[[KafkaError], None]:
    """Turn a listener for faults into an `error_cb` that never raises."""

    def error_cb(error: KafkaError) -> None:
        if on_fault is None:
            return
        try:
            on_fault(Fault.of(error))
        except Exception:
            _logger.exception("a listener for faults of a Kafka client failed")

    return error_cb


class LogSink(Protocol):
    """The part of `logging.Logger` that a client writes to."""

    def log(self, level: int, msg: str, *args: object) -> None:
        """Write a line."""
        ...


class QuietLog:
    """Hands a client's lines to a logger, a repeated one at most every ten seconds.

    A client whose broker is away writes the same line up to twenty times a second.
    """

    def __init__(self, sink: LogSink, clock: Callable[[], float] = time.monotonic) -> None:
        self._sink = sink
        self._clock = clock
        self._written: dict[str, float] = {}

    def log(self, level: int, msg: str, *args: object) -> None:
        """Write a line unless the same one was just written."""
        text = msg % args if args else msg
        now = self._clock()
        if now - self._written.get(text, float("-inf")) < _REPEAT_SECONDS:
            return
        if len(self._written) >= _REMEMBERED_LINES:
            self._written.clear()
        self._written[text] = now
        self._sink.log(level, "%s", text)
