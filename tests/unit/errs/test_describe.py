"""What a dead letter, a page and a person are told about a failure."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import threading
import urllib.error
from email.message import Message
from typing import TYPE_CHECKING

import httpx2
import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from hookline.errs import (
    HookErrorGroup,
    HttpStatusError,
    Redactor,
    Verdict,
    attribute,
    describe,
    line_with_cause,
    one_line,
    retry_after_seconds,
    retryable_error,
    user_error,
)

if TYPE_CHECKING:
    from hookline.contract import HookFailure

CANARY = "s3cr3t-CANARY-0451"


def told(error: BaseException, redactor: Redactor | None = None) -> HookFailure:
    """Describe `error` as the failure of one hook."""
    return describe(
        "ci", error, verdict=Verdict.UNKNOWN, attempts=3, elapsed_seconds=1.5, redactor=redactor or Redactor()
    )


def chained(*errors: BaseException) -> BaseException:
    """Make the first error be caused by the second, and so on."""
    for outer, inner in itertools.pairwise(errors):
        outer.__cause__ = inner
    return errors[0]


def test_the_facts_of_the_delivery_are_told() -> None:
    """Hook, verdict, attempts and time stand beside the error."""
    failure = told(ValueError("x"))
    assert (failure.hook, failure.verdict, failure.attempts, failure.elapsed_seconds) == ("ci", "unknown", 3, 1.5)


def test_the_leaf_is_told_and_the_way_to_it() -> None:
    """The type and message are the cause's, the wrappers stand in `causes`, outermost first (case 17)."""
    error = chained(RuntimeError("comment failed"), LookupError("no pull request"), KeyError("number"))
    failure = told(error)
    assert (failure.exception, failure.message) == ("KeyError", "'number'")
    assert failure.causes == ("RuntimeError: comment failed", "LookupError: no pull request")


def test_a_wrapped_error_is_told_as_itself() -> None:
    """Wraps that classify or attribute leave no trace in the text (case 17)."""
    failure = told(attribute(user_error(ValueError("bad order")), []))
    assert (failure.exception, failure.message, failure.causes) == ("ValueError", "bad order", ())


def test_a_wrap_raised_from_another_error_shows_both() -> None:
    """`raise user_error(x) from y` loses neither x nor y."""
    wrap = user_error(ValueError("bad order"))
    wrap.__cause__ = KeyError("total")
    failure = told(wrap)
    assert (failure.exception, failure.causes) == ("KeyError", ("ValueError: bad order",))


def test_tenacitys_retry_error_is_seen_through() -> None:
    """A RetryError of tenacity hides the last attempt's error; it is told (case 17)."""

    @tenacity.retry(stop=tenacity.stop_after_attempt(2))
    def fail() -> None:
        raise KeyError("number")

    with pytest.raises(tenacity.RetryError) as caught:
        fail()
    assert told(caught.value).exception == "KeyError"


def test_a_group_is_told_by_its_real_leaves() -> None:
    """Every leaf is named, cancelled siblings are not (case 17)."""
    inner = ExceptionGroup("unhandled errors in a TaskGroup", [KeyError("k"), ExceptionGroup("g", [OSError("o")])])
    failure = told(BaseExceptionGroup("g", [asyncio.CancelledError(), inner]))
    assert failure.exception == "KeyError"
    assert failure.causes == ("KeyError: 'k'", "OSError: o")


def test_a_group_of_one_is_told_as_its_leaf() -> None:
    """A TaskGroup around one failure adds nothing (case 17)."""
    failure = told(ExceptionGroup("unhandled errors in a TaskGroup (1 sub-exception)", [KeyError("k")]))
    assert (failure.exception, failure.message, failure.causes) == ("KeyError", "'k'", ())


def test_a_wide_group_is_bounded() -> None:
    """Ten thousand leaves are eight lines, the last of which counts the rest."""
    failure = told(ExceptionGroup("g", [ValueError(str(n)) for n in range(10_000)]))
    assert len(failure.causes) == 8
    assert "9993" in failure.causes[-1]


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), KeyboardInterrupt()])
def test_a_crash_is_told(error: BaseException) -> None:
    """A hook that raises what stops a program is told as a crash, plain or in the group (case 14)."""
    group = HookErrorGroup.of([("ci", error)])
    assert group is not None
    assert told(error).code == told(group).code == "hook_crashed"
    assert told(group).exception == type(error).__name__


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HttpStatusError(503, host="h"), "http_status"),
        (TimeoutError(), "timeout"),
        (httpx2.ReadTimeout("x"), "timeout"),
        (httpx2.ConnectError("x"), "connection"),
        (ConnectionResetError(), "connection"),
        (asyncio.CancelledError(), "cancelled"),
        (ValueError(), "hook_exception"),
        (chained(RuntimeError(), ConnectionResetError()), "connection"),
        (retryable_error(TimeoutError()), "timeout"),
    ],
    ids=repr,
)
def test_codes(error: BaseException, code: str) -> None:
    """The code is one stable word, from the outermost error that has one."""
    assert told(error).code == code


def test_host_and_status_of_ours() -> None:
    """A page names the receiver and its answer, also from below a wrapper."""
    failure = told(chained(RuntimeError("x"), HttpStatusError(503, host="ci.example.com", body=b"busy")))
    assert (failure.host, failure.http_status) == ("ci.example.com", 503)
    assert "busy" in failure.message


def test_host_and_status_of_a_client() -> None:
    """An error of httpx knows its request; one whose request was never set is told without."""
    request = httpx2.Request("POST", f"https://u:{CANARY}@ci.example.com/h?token={CANARY}")
    error = httpx2.HTTPStatusError("x", request=request, response=httpx2.Response(502, request=request))
    assert (told(error).host, told(error).http_status) == ("ci.example.com", 502)
    assert told(httpx2.ConnectError("x")).host is None


def test_host_from_a_url() -> None:
    """Of a URL only the host is told: no credential, no path, no query (P15)."""
    error = urllib.error.HTTPError(f"https://u:{CANARY}@ci.example.com:8443/{CANARY}", 404, "m", Message(), None)
    assert told(error).host == "ci.example.com"


def test_the_body_of_an_answer_is_bounded() -> None:
    """At most 1,024 bytes of it are kept, whatever its characters."""
    error = HttpStatusError(500, host="h", body="ä\x00" * 5000)
    assert len(error.body.encode()) <= 1024
    assert len(HttpStatusError(500, host="h", body=b"\xff" * 5000).body.encode()) <= 1024


def test_the_longest_wait_that_was_asked_for() -> None:
    """A Retry-After anywhere in a group is found; the longest counts."""
    group = ExceptionGroup("g", [HttpStatusError(429, host="h", retry_after_seconds=n) for n in (5, 30)])
    assert retry_after_seconds(group) == 30
    assert retry_after_seconds(ValueError()) is None


DATE = "Mon, 30 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "86400"}, 3600),
        ({"Retry-After": "Mon, 30 Nov 2026 10:00:30 GMT", "Date": DATE}, 30),
        ({"Retry-After": "Mon, 30 Nov 2026 10:00:30 GMT"}, 0),
        ({"Retry-After": "Mon, 30 Nov 2026 10:00:30 GMT", "Date": "lunchtime"}, 0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_a_client_passes_on_what_was_asked_for(headers: dict[str, str], seconds: float | None) -> None:
    """P9: a Retry-After in the answer that a client's error holds is honoured; a date counts from the answer's own time."""
    request = httpx2.Request("POST", "https://ci.example.com/h")
    answer = httpx2.Response(429, headers=headers, request=request)
    assert retry_after_seconds(httpx2.HTTPStatusError("x", request=request, response=answer)) == seconds
    message = Message()
    for name, text in headers.items():
        message[name] = text
    assert retry_after_seconds(urllib.error.HTTPError("http://x", 429, "m", message, None)) == seconds


@pytest.mark.parametrize(
    "seconds", [10**400, float("inf"), "7", object()], ids=["huge", "infinite", "text", "anything"]
)
def test_a_wait_that_is_none_costs_nothing(seconds: object) -> None:
    """Whatever stands in the field, the answer is at most an hour or none (case 29)."""
    error = HttpStatusError(429, host="h", retry_after_seconds=seconds)  # type: ignore[arg-type]  # a slip of a hook
    assert retry_after_seconds(error) in {3600.0, None}


def test_secrets_are_hidden_before_the_cut() -> None:
    """A secret that the cut would split is gone all the same (P15, case 18)."""
    text = "x" * 4060 + f" Authorization: Bearer {CANARY}"
    failure = told(chained(RuntimeError(text), ValueError(text)))
    assert "s3cr3t" not in failure.message + "".join(failure.causes)


def test_a_secret_at_the_edge_of_the_window_is_dropped() -> None:
    """Of a huge text only a window is redacted; what the window splits is not shown (P15)."""
    for length in range(65_480, 65_536, 7):
        masked = "authorization: " + "y" * (length - 15)
        text = f"{masked}\npostgres://app:{CANARY}@db/x" + "z" * 70_000
        assert "s3cr3t" not in told(ValueError(text)).message


def test_the_input_of_a_validation_error_is_not_told() -> None:
    """A validation error repeats its input in its text; the payload does not reach a header (P15, case 18)."""

    class Order(BaseModel):
        ssn: int

    with pytest.raises(ValidationError) as caught:
        Order.model_validate({"ssn": CANARY})
    failure = told(caught.value)
    assert CANARY not in failure.message
    assert "ssn" in failure.message
    assert CANARY not in told(chained(RuntimeError(str(caught.value)))).message


class UnprintableError(Exception):
    """Raises what it was given when it is printed."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def __str__(self) -> str:
        raise self.error


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit(1), RecursionError(), asyncio.CancelledError()])
def test_an_error_that_cannot_be_printed(error: BaseException) -> None:
    """Whatever `__str__` raises, the class is told (case 29)."""
    assert told(UnprintableError(error)).exception.endswith(".UnprintableError")
    assert "UnprintableError" in one_line(UnprintableError(error))


def test_a_text_of_fifty_megabytes() -> None:
    """The message is 4 KiB, marked as cut (case 29)."""
    failure = told(ValueError("ä" * 25_000_000))
    assert 4000 < len(failure.message.encode()) <= 4096
    assert failure.message.endswith("[truncated]")


def test_text_is_cleaned() -> None:
    """NULs, surrogates, escapes, line ends and text direction do not reach a header or a terminal."""
    failure = told(ValueError("a\x00b\ud800c\x1b[31m\r\nd\u202ee"))
    assert failure.message == "a\ufffdb\ufffdc\ufffd[31m d\ufffde"


def test_errors_that_cannot_be_copied() -> None:
    """Nothing is pickled or copied: a lock, or arguments `__init__` would miss, are no trouble (case 29)."""

    class OddError(Exception):
        def __init__(self, code: int, message: str) -> None:
            self.lock = threading.Lock()
            super().__init__(f"{code} {message}")

    assert told(OddError(1, "x")).message == "1 x"


def test_hostile_classes() -> None:
    """Properties that raise and a class that denies what it is cost nothing but themselves (case 29)."""

    class HostileError(Exception):
        __class__ = property(lambda _: 1 // 0)
        __cause__ = property(lambda _: 1 // 0)
        status = response = host = request = sqlstate = url = property(lambda _: 1 // 0)

    assert told(HostileError("x")).message == "x"
    assert told(ExceptionGroup("g", [HostileError("x")])).message == "x"


def test_circles_and_depth() -> None:
    """Circular causes, a member caused by its group, 3,000 groups deep: told at once (case 29)."""
    own = ValueError("own")
    own.__cause__ = own
    member = KeyError("member")
    group = ExceptionGroup("g", [member])
    member.__cause__ = group
    deep: Exception = OSError("deep")
    for _ in range(3000):
        deep = ExceptionGroup("g", [deep])
    assert [told(error).exception for error in (own, group, deep)] == ["ValueError", "KeyError", "OSError"]


def test_public_names_only() -> None:
    """A class is told as its package shows it, without private modules."""
    assert told(HttpStatusError(500, host="h")).exception == "hookline.errs.HttpStatusError"
    assert told(concurrent.futures.BrokenExecutor()).exception == "concurrent.futures.BrokenExecutor"


def errors() -> st.SearchStrategy[BaseException]:
    """Make trees of errors: plain, unprintable, wrapped, caused, grouped."""
    texts = st.text(st.characters(), max_size=50)
    plain = st.builds(ValueError, texts) | st.builds(HttpStatusError, st.integers(), host=texts, body=texts)
    crashes = st.builds(SystemExit, texts) | st.builds(asyncio.CancelledError)
    odd = st.builds(UnprintableError, st.builds(ZeroDivisionError))

    def grown(inner: st.SearchStrategy[BaseException]) -> st.SearchStrategy[BaseException]:
        groups = st.builds(BaseExceptionGroup, texts, st.lists(inner, min_size=1, max_size=4))
        caused = st.builds(chained, plain, inner)
        return groups | caused | st.builds(user_error, inner)

    return st.recursive(plain | crashes | odd, grown, max_leaves=20)


@given(errors())
def test_describing_is_total_and_bounded(error: BaseException) -> None:
    """Any error has a description within its bounds, in characters that any header and terminal holds (case 29)."""
    failure = told(error)
    both = line_with_cause(error, redactor=Redactor())
    lines = [failure.message, *failure.causes, failure.exception, one_line(error), both]
    assert len(failure.message.encode()) <= 4096
    assert len(failure.causes) <= 8
    assert all(len(cause.encode()) <= 256 for cause in failure.causes)
    assert len(both.encode()) <= 1024
    assert not any(bad in line for line in lines for bad in "\x00\n\r\x1b\u202e")
