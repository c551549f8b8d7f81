"""What a failure is about."""

from __future__ import annotations

import math

from hookline.errs import Attribution, Redactor, Subject, Verdict, attribute, attribution, classify, detail, user_error

BATCH = Subject("batch", "batch-778")
REQUEST = Subject("request", "request-1")


def found(error: BaseException) -> Attribution:
    """Collect what is attached to `error`."""
    return attribution(error, redactor=Redactor())


def test_nothing_attached_is_unattributed() -> None:
    """An error nobody attributed has no subjects and no detail."""
    assert found(ValueError()) == Attribution()


def test_attributing_does_not_classify() -> None:
    """The verdict is the error's own, wrapped or not."""
    assert classify(attribute(TimeoutError(), [BATCH])) is Verdict.INFRA_RETRYABLE
    assert classify(detail(user_error(ValueError()), {"step": "merge"})) is Verdict.USER


def test_subjects_are_collected_once_outermost_first() -> None:
    """Subjects from every level of the chain, each once."""
    inner = RuntimeError()
    inner.__cause__ = attribute(ValueError(), [BATCH, REQUEST])
    assert found(attribute(inner, [REQUEST])).subjects == (REQUEST, BATCH)


def test_the_outer_detail_wins() -> None:
    """Of two details of one name the one attached later stays."""
    error = detail(detail(ValueError(), {"step": "inner", "a": 1}), {"step": "outer"})
    assert found(error).detail == {"step": "outer", "a": 1}


def test_groups_are_united() -> None:
    """What members of a group carry is not lost below it."""
    group = ExceptionGroup("g", [attribute(ValueError(), [BATCH]), detail(KeyError(), {"b": 2})])
    assert found(detail(group, {"a": 1})) == Attribution((BATCH,), {"a": 1, "b": 2})


def test_values_are_plain_redacted_and_bounded() -> None:
    """Details are JSON-shaped whatever was attached; secrets are hidden and long values cut (P15)."""
    circular: dict[str, object] = {}
    circular["self"] = circular
    error = detail(
        ValueError(),
        {
            "url": "https://u:p@h/x",
            "long": "x" * 10_000,
            "nan": math.nan,
            "big": 10**5000,
            "circular": circular,
            "list": [1, None, True, b"x", {"\x00": object}],
        },
    )
    known = found(error).detail
    assert known["url"] == "https://[redacted]@h/x"
    assert len(str(known["long"]).encode()) <= 1024
    assert known["nan"] == "nan"
    assert isinstance(known["big"], str)


def test_subjects_and_details_are_counted() -> None:
    """A thousand of each are thirty-two."""
    error = attribute(
        detail(ValueError(), {str(n): n for n in range(1000)}), [Subject("n", str(n)) for n in range(1000)]
    )
    assert (len(found(error).subjects), len(found(error).detail)) == (32, 32)
