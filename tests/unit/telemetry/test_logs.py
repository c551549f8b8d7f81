"""Log lines: one shape for everybody, no secret, nothing that breaks the line."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hookline
from hookline.errs import Redactor
from hookline.telemetry import LOG_FIELDS, LogFormat, configure_logging, get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "s3cr3t-CANARY-0451"


def fail(text: str) -> NoReturn:
    """Raise an error that says `text`."""
    raise ValueError(text)


def throw(error: BaseException) -> NoReturn:
    """Raise `error`."""
    raise error


class Log:
    """A stream that is configured as the log, and read back."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def configure(self, *, format: LogFormat = "json", level: str = "info") -> None:  # noqa: A002  # the setting's own name
        """Send every record here."""
        configure_logging(format=format, level=level, stream=self.stream, redact=Redactor(secrets=[CANARY]).redact)

    def alone(self) -> None:
        """Take away the test runner's own handlers, which fail the test on a bad record."""
        root = logging.getLogger()
        root.handlers[:] = [each for each in root.handlers if getattr(each, "stream", None) is self.stream]

    def text(self) -> str:
        """Take what was written since the last look."""
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text

    def lines(self) -> list[dict[str, Any]]:
        """Take the lines written since the last look, as JSON."""
        return [json.loads(line) for line in self.text().splitlines()]

    def line(self) -> dict[str, Any]:
        """Take the one line written since the last look."""
        (line,) = self.lines()
        return line


@pytest.fixture
def log() -> Iterator[Log]:
    """Configure the process's log, and put back what was there."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    quiet = {
        name: logging.getLogger(name).level
        for name in ("httpx", "httpx2", "httpcore", "httpcore2", "urllib3", "asyncio", "uvicorn.error")
    }
    logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)  # a server of another test may have set it
    log = Log()
    log.configure()
    yield log
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, was in quiet.items():
        logging.getLogger(name).setLevel(was)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_the_shape_of_a_line(log: Log) -> None:
    """Timestamp in RFC 3339 UTC with milliseconds, level, event and logger come first, then the fields."""
    get_logger("hookline.hooks").warning("hook failed", hook="ci", attempt=3)
    line = log.line()
    assert list(line) == ["timestamp", "level", "event", "logger", "hook", "attempt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("timestamp"))
    assert line == {"level": "warning", "event": "hook failed", "logger": "hookline.hooks", "hook": "ci", "attempt": 3}


def test_libraries_take_the_same_way(log: Log) -> None:
    """Records of uvicorn and librdkafka, through the standard library, have the same shape."""
    logging.getLogger("uvicorn.error").info("started %s", "server", extra={"color_message": "x"})
    line = log.line()
    assert (line["event"], line["logger"], line["level"]) == ("started server", "uvicorn.error", "info")


def test_structlogs_own_loggers_take_the_same_way(log: Log) -> None:
    """A hook that uses structlog itself is in the same log."""
    structlog.get_logger("my.hook").info("said", a=1)
    line = log.line()
    assert (line["event"], line["logger"], line["a"]) == ("said", "my.hook", 1)


def test_the_level_holds(log: Log) -> None:
    """What is below the level is not written; configuring again changes it."""
    get_logger("a").debug("quiet")
    assert log.lines() == []
    log.configure(level="debug")
    get_logger("a").debug("loud")
    assert log.line()["event"] == "loud"


def test_configuring_twice_writes_once(log: Log) -> None:
    """The second call replaces the first; a logger made before it goes on."""
    logger = get_logger("a")
    logger.info("one")
    log.configure()
    logger.info("two")
    assert [line["event"] for line in log.lines()] == ["one", "two"]


def test_request_lines_of_http_clients_are_not_news(log: Log) -> None:
    """An HTTP client writes a line with the URL for each request; only its warnings are kept."""
    logging.getLogger("httpx2").info("HTTP Request: POST https://x/?token=1")
    logging.getLogger("httpx2").warning("odd")
    assert log.line()["event"] == "odd"


def test_secrets_do_not_reach_the_log(log: Log) -> None:
    """Whatever the level of nesting, in the event, a field, a key, a traceback or an argument (P15, case 18)."""
    logger = get_logger("a")
    logger.info(CANARY, field=CANARY, nested={"list": [f"https://u:{CANARY}@h"], CANARY: 1}, raw=CANARY.encode())
    logger.info("named", headers={"Authorization": "Bearer x1", "cookie": "x1", "password": "x1"}, api_key="x1")
    logging.getLogger("lib").info("argument %s", CANARY)
    try:
        fail(CANARY)
    except ValueError as error:
        logger.exception("failed", error=error)
    text = log.text()
    assert CANARY not in text
    assert "x1" not in text


def test_an_event_cannot_break_its_line(log: Log) -> None:
    """Line ends, escapes, text direction and a megabyte are one line of JSON in ASCII."""
    get_logger("a").info("a\nb\r\u2028\x1b[31m", subject="\u202e\x00\ud800", type="x" * 1_000_000)
    text = log.text()
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert len(text) < 10_000


def test_a_payload_is_never_cut(log: Log) -> None:
    """The reconciler's line must be enough to put the event back."""
    get_logger("a").info("dropped", payload={"long": "x" * 100_000})
    assert len(log.line()["payload"]["long"]) == 100_000


def test_a_long_traceback_loses_its_middle(log: Log) -> None:
    """The end of a traceback says what happened and is kept."""
    try:
        fail("x" * 100_000 + " the end")
    except ValueError:
        get_logger("a").exception("failed")
    exception = log.line()["exception"]
    assert len(exception) < 20_000
    assert exception.startswith("Traceback")
    assert exception.endswith("the end")


class HostileError(Exception):
    """Has a cause that cannot be looked at."""

    __cause__ = property(lambda _: 1 // 0)


def deep() -> BaseException:
    """Make an error with ten thousand others behind it."""
    error: BaseException = OSError("first")
    for _ in range(10_000):
        outer = ValueError("outer")
        outer.__context__ = error
        error = outer
    return error


@pytest.mark.parametrize(
    "error",
    [HostileError("said"), ExceptionGroup("said", [KeyError(n) for n in range(100_000)]), deep(), SystemExit("said")],
    ids=lambda error: type(error).__name__,
)
def test_any_error_has_a_traceback(log: Log, error: BaseException) -> None:
    """One that cannot be walked, or that is beyond counting, is told alone, and at once (case 29)."""
    log.alone()
    try:
        throw(error)
    except BaseException:  # noqa: BLE001  # whatever it is
        get_logger("a").exception("failed", hook="ci")
    line = log.line()
    assert (line["event"], line["hook"]) == ("failed", "ci")
    assert line["exception"].startswith("Traceback")
    assert type(error).__name__ in line["exception"]
    assert len(line["exception"]) < 20_000


def test_a_traceback_shows_what_is_behind_an_error(log: Log) -> None:
    """Cause and context are told before the error, without secrets (P15)."""
    try:
        try:
            fail(f"postgres://u:{CANARY}@h/db")
        except ValueError as cause:
            raise LookupError("no batch") from cause
    except LookupError:
        get_logger("a").exception("failed")
    exception = log.line()["exception"]
    assert exception.index("ValueError") < exception.index("LookupError: no batch")
    assert "in fail" in exception
    assert CANARY not in exception


def test_no_cut_shows_a_part_of_a_secret(log: Log) -> None:
    """What is cut out of a traceback takes no half of a secret with it, at either end (P15)."""
    for length in (*range(3_700, 4_100, 7), *range(12_200, 12_320, 7), *range(20_400, 20_500, 7)):
        text = "x" * length + f" {CANARY} " + "y" * 60_000 + f" {CANARY} " + "z" * length
        try:
            fail(text)
        except ValueError:
            get_logger("a").exception("failed")
        shown = log.line()["exception"]
        assert "s3cr3t" not in shown
        assert "-0451" not in shown


def test_documents_are_short_on_a_console(log: Log) -> None:
    """People read a failure in a few words and a document as JSON; the JSON format keeps both as they are."""
    failures = [{"hook": "ci", "code": "timeout", "attempts": 3, "location": "app/ci.py:10 in handle", "causes": []}]
    forms: tuple[LogFormat, ...] = ("console", "json")
    for form in forms:
        log.configure(format=form)
        get_logger("a").error("dead letter", id="1/0", failures=failures, payload={"b": [1]}, hooks=["ci", "chat"])
    console, line = log.text().splitlines()
    assert "ci: timeout, tried 3 times, at app/ci.py:10 in handle" in console
    assert '{"b":[1]}' in console
    assert "ci, chat" in console
    assert console.index("1/0") < console.index("timeout")
    assert json.loads(line)["failures"] == failures


def test_fields_of_the_task_are_added(log: Log) -> None:
    """Fields bound around a hook stand on its lines and on those of libraries, and on nobody else's."""

    async def run(event_id: str) -> None:
        with structlog.contextvars.bound_contextvars(event_id=event_id):
            await asyncio.sleep(0)
            get_logger("a").info("ours")
            logging.getLogger("lib").info("theirs")
        get_logger("a").info("after")

    async def both() -> None:
        await asyncio.gather(run("e1"), run("e2"))

    asyncio.run(both())
    lines = [(line["event"], line.get("event_id")) for line in log.lines()]
    assert sorted(lines, key=str) == [("after", None), ("after", None), ("ours", "e1"), ("ours", "e2"), ("theirs", "e1"), ("theirs", "e2")]  # fmt: skip


def test_a_field_cannot_take_the_place_of_another(log: Log) -> None:
    """A field named like one of the line's own is kept beside it."""
    get_logger("a").info("said", level="high", logger="x")
    line = log.line()
    assert (line["level"], line["level_"], line["logger"], line["logger_"]) == ("info", "high", "a", "x")


def test_a_record_that_cannot_be_shown_says_so(log: Log) -> None:
    """Wrong arguments in a library's call cost that call's text only."""
    log.alone()
    logging.getLogger("lib").info("%d apples", "no")
    logging.getLogger("lib").info("next")
    first, second = log.lines()
    assert first["said"] == "%d apples"
    assert second["event"] == "next"


class Unprintable:
    """Raises when it is printed."""

    def __str__(self) -> str:
        raise SystemExit(1)


def values() -> st.SearchStrategy[object]:
    """Make anything somebody might log."""
    plain = (
        st.none()
        | st.booleans()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.datetimes()
        | st.integers(4400, 5000).map(lambda digits: 10**digits)
    )
    odd = st.sampled_from([Unprintable(), -(2**64), math.inf, object(), ValueError("x"), {1, 2}, Unprintable])
    keys = st.text(st.characters()) | st.integers() | st.none()
    return st.recursive(plain | odd, lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values(), event=st.text(st.characters()))
def test_anything_can_be_logged(log: Log, value: object, event: str) -> None:
    """Every value makes one line of strict JSON, and none makes the caller fail."""
    get_logger("a").info(event, value=value)

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    (text,) = log.text().splitlines()
    assert json.loads(text, parse_constant=refuse)["logger"] == "a"


def test_circles_and_depth(log: Log) -> None:
    """A structure that holds itself, or holds others ten thousand deep, is cut (case 29)."""
    circle: list[object] = []
    circle.append(circle)
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    shared: list[object] = []
    for _ in range(40):
        shared = [shared, shared]
    get_logger("a").info("odd", circle=circle, deep=deep, shared=shared)
    assert log.line()["circle"] == ["[circular or too deep]"]


def test_the_console_is_for_people(log: Log) -> None:
    """On a stream that is no terminal: no colours, no control of the terminal from a value (P15)."""
    log.configure(format="console")
    get_logger("hookline.hooks").warning("hook failed \x1b[31m", hook="c\u202ei")
    text = log.text()
    assert "hook failed" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_terminal_that_knows_no_unicode(log: Log) -> None:
    """What the stream cannot hold is escaped, not lost with the line."""
    raw = io.BytesIO()
    log.stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)  # type: ignore[assignment]  # a stream with an encoding of its own
    log.configure(format="console")
    get_logger("a").info("grün")
    assert b"gr\\xfcn" in raw.getvalue()


def test_the_table_of_fields_names_those_of_a_line(log: Log) -> None:
    """The line's own fields are in the table."""
    try:
        fail("x")
    except ValueError:
        get_logger("a").exception("x", stack_info=True)
    assert set(log.line()) <= set(LOG_FIELDS)


def written_fields() -> set[str]:
    """Find the fields that the package's own lines have, by name."""
    package = Path(hookline.__file__).parent
    calls = [
        node
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and re.search(r"(^|\.)(_log\.\w+|say)$", ast.unparse(node.func))
    ]
    assert len(calls) > 20
    return {word.arg for call in calls for word in call.keywords if word.arg}


def test_the_table_of_fields_names_those_that_are_written() -> None:
    """Whoever looks a field of a line up finds it in docs/metrics.md."""
    assert written_fields() - {"exc_info", "stack_info"} <= LOG_FIELDS.keys()


def test_without_configuration_the_host_application_decides(caplog: pytest.LogCaptureFixture) -> None:
    """A library's logger hands its records to the standard library and prints nothing itself."""
    with caplog.at_level(logging.INFO):
        get_logger("hookline.publish").info("published", event_id="e1")
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("hookline.publish", "published")


class Unwalkable(Exception):  # noqa: N818 - a class that is wrong on purpose
    """Will not say what is behind it."""

    __cause__ = property(lambda _: 1 // 0)


def test_a_line_of_ours_can_be_printed_by_any_handler(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that is not ours raises what an error raises when it is looked at; whoever logs may not get that (case 29)."""
    error = Unwalkable("said")
    get_logger("test.any").error("failed", exc_info=(Unwalkable, error, None))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "Unwalkable: said" in logging.Formatter().formatException(record.exc_info)
