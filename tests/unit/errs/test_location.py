"""Where a failure was raised, and the line that shows it with its cause."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, cast

import pytest

from hookline.errs import HttpStatusError, Redactor, line_with_cause, location, retryable_error, user_error
from tests.unit.errs.test_describe import CANARY, chained, told

if TYPE_CHECKING:
    from collections.abc import Callable


def raised(act: Callable[[], object]) -> BaseException:
    """Return what `act` raises, with its traceback."""
    try:
        act()
    except BaseException as error:  # noqa: BLE001  # whatever it is
        return error
    pytest.fail("it raised nothing")


def parse() -> object:
    """Fail inside the standard library."""
    return json.loads("{")


def retry_parsing() -> object:
    """Fail with a wrap around an error that was raised elsewhere."""
    try:
        return parse()
    except ValueError as error:
        raise retryable_error(error) from error


def give_up_parsing() -> object:
    """Fail with an error of one's own, whose cause is another."""
    try:
        return parse()
    except ValueError as error:
        raise RuntimeError("no batch") from error


def raise_a_wrap() -> None:
    """Fail with an error that was itself never raised."""
    raise user_error(ValueError("bad order"))


@pytest.mark.parametrize(
    ("act", "function"),
    [(parse, "parse"), (retry_parsing, "parse"), (give_up_parsing, "parse"), (raise_a_wrap, "raise_a_wrap")],
)
def test_the_location_is_in_the_hooks_own_code(act: Callable[[], object], function: str) -> None:
    """File, line and function are those of the deepest frame outside libraries, of the leaf or whoever raised above it."""
    place = told(raised(act)).location or ""
    assert re.fullmatch(rf"[^ ]*unit/errs/test_location\.py:\d+ in {function}", place)
    assert not place.startswith("/")


def test_a_time_limit_is_told_and_not_the_cancellation_it_used() -> None:
    """`asyncio.timeout` raises its TimeoutError from a cancellation; where that struck is the location (case 17)."""

    async def hang() -> None:
        await asyncio.Event().wait()

    async def limited() -> None:
        async with asyncio.timeout(0):
            await hang()

    failure = told(raised(lambda: asyncio.run(limited())))
    assert (failure.exception, failure.code, failure.causes) == ("TimeoutError", "timeout", ())
    assert (failure.location or "").endswith(" in hang")


def test_the_location_of_a_group_is_its_first_leafs() -> None:
    """Members carry their own tracebacks (case 17)."""
    group = BaseExceptionGroup("g", [raised(parse), raised(raise_a_wrap)])
    assert (told(group).location or "").endswith(" in parse")


def test_an_error_of_hookline_itself_has_its_deepest_place() -> None:
    """Where no frame is the hook's own, the deepest one is told; an error that nobody raised has none."""
    error = raised(lambda: Redactor(patterns=["("]))
    while error.__traceback__ and error.__traceback__.tb_frame.f_code.co_filename == __file__:
        error.__traceback__ = error.__traceback__.tb_next
    assert re.search(r"\bre/_parser\.py:\d+ in ", location(error, redactor=Redactor()) or "")
    assert location(ValueError(), redactor=Redactor()) is None


def test_a_location_is_redacted_and_bounded() -> None:
    """A path may hold a secret and be of any length; the source and the values stay away (P15)."""
    names = {"namespace": 1}
    code = compile(f"def {'f' * 300}():\n  raise ValueError('{CANARY}')", f"/srv/{CANARY}/{'é' * 300}.py", "exec")
    exec(code, names)  # noqa: S102  # a function in a file of any name
    place = told(raised(cast("Callable[[], object]", names["f" * 300])), Redactor(secrets=[CANARY])).location or ""
    assert len(place.encode()) <= 256
    assert CANARY not in place


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("bad order"), "ValueError: bad order"),
        (chained(ValueError("cannot map batch"), KeyError("k")), "ValueError: cannot map batch <- KeyError: 'k'"),
        (chained(RuntimeError("a"), OSError("b"), KeyError("k")), "RuntimeError: a <- KeyError: 'k'"),
        (retryable_error(ValueError("bad order")), "ValueError: bad order"),
        (ExceptionGroup("g", [KeyError("k")]), "KeyError: 'k'"),
        (ExceptionGroup("g", [KeyError("k"), OSError("o")]), "2 errors: KeyError: 'k'; OSError: o"),
        (HttpStatusError(503, host="h"), f"HttpStatusError: {HttpStatusError(503, host='h')}"),
        (ValueError(), "ValueError"),
    ],
    ids=repr,
)
def test_a_line_shows_what_was_said_and_what_is_behind_it(error: BaseException, line: str) -> None:
    """The hook's own words stand beside the leaf they came from (case 17)."""
    assert line_with_cause(error, redactor=Redactor()) == line
