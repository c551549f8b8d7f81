"""Errors that cross to another process and back, as those of a process pool do."""

from __future__ import annotations

import copy
import pickle

import pytest

from hookline.contract import InvalidEventError, MalformedRecordError
from hookline.errs import (
    HookCrashedError,
    HookErrorGroup,
    HttpStatusError,
    Redactor,
    Subject,
    Verdict,
    attribute,
    attribution,
    classify,
    dependency_error,
    detail,
    one_line,
    retry_after_seconds,
    retryable_dependency_error,
    retryable_error,
    user_error,
)

STATUS = HttpStatusError(429, host="ci.example.com", retry_after_seconds=7, body="slow down")


@pytest.mark.parametrize(
    "error",
    [
        STATUS,
        user_error(ValueError("x")),
        retryable_error(ValueError("x")),
        dependency_error(KeyError("k")),
        retryable_dependency_error(STATUS),
        detail(attribute(user_error(STATUS), [Subject("batch", "b-1")]), {"step": "merge"}),
        HookCrashedError(SystemExit(3)),
        HookErrorGroup("hook ci: x", [user_error(ValueError("x")), STATUS]),
        InvalidEventError("payload", "is wrong"),
        MalformedRecordError("decode_error", "is wrong"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("cross", [lambda error: pickle.loads(pickle.dumps(error)), copy.deepcopy], ids=["pickle", "copy"])  # fmt: skip  # noqa: S301  # our own bytes
def test_what_an_error_says_outlives_the_crossing(error: BaseException, cross: object) -> None:
    """A hook's helper in a process pool raises ours: text, verdict, attribution and wait arrive whole (case 29)."""
    assert callable(cross)
    again = cross(error)
    assert type(again) is type(error)
    assert one_line(again) == one_line(error)
    assert classify(again) is classify(error)
    assert retry_after_seconds(again) == retry_after_seconds(error)
    assert attribution(again, redactor=Redactor()) == attribution(error, redactor=Redactor())


def test_a_verdict_is_what_decides_on_the_other_side() -> None:
    """A wrap that crossed still wraps."""
    again = pickle.loads(pickle.dumps(user_error(TimeoutError())))  # noqa: S301  # our own bytes
    assert classify(again) is Verdict.USER
