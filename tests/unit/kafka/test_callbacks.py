from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from hookline.kafka import ErrorKind, Fault
from hookline.kafka._callbacks import GuardedOAuth, QuietLog, guarded_on_fault

if TYPE_CHECKING:
    import pytest

    from hookline.kafka import OAuthToken


class _Tokens:
    def __init__(self, *answers: OAuthToken | Exception) -> None:
        self._answers = list(answers)

    def __call__(self, _: str | None) -> OAuthToken:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_the_last_token_serves_while_the_callable_fails() -> None:
    """A token that still holds is not thrown away because a new one cannot be had."""
    token = ("good", time.time() + 600)
    guarded = GuardedOAuth(_Tokens(token, OSError("down")))
    assert [guarded(None), guarded(None)] == [token, token]


def test_without_a_token_the_client_is_kept_asking() -> None:
    """A failing callable never raises into C; its stand-in expires soon, so that the client asks again."""
    _, expiry, *_ = GuardedOAuth(_Tokens(OSError("down")))(None)
    assert time.time() < expiry <= time.time() + 60


def test_a_failing_callable_tells_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    """Its exception may hold a credential: only the type is logged (P15)."""
    with caplog.at_level(logging.DEBUG):
        GuardedOAuth(_Tokens(ValueError("client_secret=hunter2")))(None)
    assert "ValueError" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_fault_is_told_in_our_words() -> None:
    """Listeners see a fault with its kind, not an error of the client."""
    told: list[Fault] = []
    guarded_on_fault(told.append)(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert told == [Fault("_ALL_BROKERS_DOWN", ErrorKind.DEPENDENCY, "1/1 brokers are down")]


def test_a_failing_listener_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    """An exception of a listener must not surface in an unrelated call of the client."""

    def fail(_: Fault) -> None:
        raise RuntimeError("listener")

    guarded_on_fault(fail)(KafkaError(KafkaError._TRANSPORT))
    assert len(caplog.records) == 1


def test_a_repeated_line_is_written_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """A broker that is away does not flood the log, and is not forgotten either."""
    now = [100.0]
    log = QuietLog(logging.getLogger("quiet"), clock=lambda: now[0])
    for seconds in (0, 1, 5, 11):
        now[0] = 100.0 + seconds
        log.log(logging.ERROR, "%s away", "h:1")
        log.log(logging.ERROR, "other %d", seconds)
    lines = [record.getMessage() for record in caplog.records]
    assert lines.count("h:1 away") == 2
    assert len(lines) == 6
