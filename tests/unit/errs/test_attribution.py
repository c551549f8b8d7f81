"""What a failure is about."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errs import (
    Attribution,
    Redactor,
    Subject,
    Verdict,
    attribute,
    attribution,
    classify,
    describe,
    detail,
    redacted,
    user_error,
)

if TYPE_CHECKING:
    from hookline.contract import HookFailure

BATCH = Subject("batch", "batch-778")
REQUEST = Subject("request", "request-1")
CANARY = "s3cr3t-CANARY-0451"


def found(error: BaseException, redactor: Redactor | None = None) -> Attribution:
    """Collect what is attached to `error`."""
    return attribution(error, redactor=redactor or Redactor())


def attached(**members: object) -> Mapping[str, Any]:
    """Attach members and return what is told of them."""
    return found(detail(ValueError(), members)).detail


def told(error: BaseException, *, subject: str = "batch-778") -> HookFailure:
    """Describe an error as the failure of one hook about an event."""
    return describe(
        "ci", error, verdict=Verdict.UNKNOWN, attempts=1, elapsed_seconds=0.0, redactor=Redactor(), subject=subject
    )


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


def test_a_failure_is_about_its_hook_and_its_event_too() -> None:
    """A failure document is never unattributed: the hook comes first, the event's own subject next, then what was attached."""
    failure = told(attribute(ValueError(), [BATCH, Subject("hook", "ci")]))
    assert failure.subjects == (Subject("hook", "ci"), Subject("subject", "batch-778"), BATCH)
    assert told(ValueError(), subject="").subjects == (Subject("hook", "ci"),)


def test_the_order_of_members_decides_no_subject() -> None:
    """The union of subjects is the same whatever the order of a group's members."""
    members = [attribute(ValueError(), [BATCH]), attribute(KeyError(), [REQUEST]), attribute(OSError(), [BATCH])]
    unions = {frozenset(found(ExceptionGroup("g", list(order))).subjects) for order in itertools.permutations(members)}
    assert unions == {frozenset((BATCH, REQUEST))}


def test_values_are_plain_redacted_and_bounded() -> None:
    """Details are JSON-shaped whatever was attached; secrets are hidden and long values cut (P15)."""
    circular: dict[str, object] = {}
    circular["self"] = circular
    known = attached(
        url="https://u:p@h/x",
        long="x" * 10_000,
        nan=math.nan,
        big=10**5000,
        circular=circular,
        list=[1, None, True, b"x", {"\x00": object}],
        few={1.5},
    )
    assert known["url"] == "https://[redacted]@h/x"
    assert len(str(known["long"]).encode()) <= 1024
    assert known["nan"] == "nan"
    assert isinstance(known["big"], str)
    assert known["few"] == [1.5]


@pytest.mark.parametrize("name", ["password", "client_secret", "Authorization", "api-key", "access_token", "Cookie"])
@pytest.mark.parametrize("value", [CANARY, 4711, {"deep": CANARY}, [CANARY]], ids=["text", "number", "object", "list"])
def test_a_value_is_hidden_by_its_name(name: str, value: object) -> None:
    """What stands under a secret's name is a secret, at any level; the rules are those for text (P15, case 18)."""
    assert attached(**{name: value}) == {name: "[redacted]"}
    assert attached(outer={name: value}) == {"outer": {name: "[redacted]"}}
    assert redacted({"a": [{name: value}]}, Redactor().redact) == {"a": [{name: "[redacted]"}]}


def test_headers_as_pairs_are_hidden_by_their_names() -> None:
    """HTTP clients give headers as pairs of text or bytes; the value beside a secret's name is hidden (P15, case 18)."""
    pairs = [("accept", "*/*"), (b"X-Api-Key", CANARY.encode()), ["authorization", f"Digest {CANARY}"]]
    known = attached(headers=pairs, size=["4", "5"])
    assert known["headers"] == [["accept", "*/*"], ["X-Api-Key", "[redacted]"], ["authorization", "[redacted]"]]
    assert known["size"] == ["4", "5"]


def test_configured_patterns_hide_members_and_subjects() -> None:
    """A pattern for `name=value` hides the member of that name, and the subject of that type (P15, case 18)."""
    own = Redactor(patterns=[r"ssn=(?P<secret>[0-9-]+)"], secrets=[CANARY])
    error = attribute(detail(ValueError(), {"ssn": "078-05-1120", "note": f"it was {CANARY}"}), [Subject("ssn", "078")])
    assert found(error, own).detail == {"ssn": "[redacted]", "note": "it was [redacted]"}
    assert found(error, own).subjects == (Subject("ssn", "[redacted]"),)


def test_a_secret_at_the_edge_of_what_is_looked_at_is_dropped() -> None:
    """Of a long value only a window is redacted; what the window splits is not shown (P15, case 18)."""
    for length in range(5_000, 5_200, 7):
        text = "authorization: " + "y" * length + f"\npostgres://app:{CANARY}@db/x" + "z" * 9_000
        assert "s3cr3t" not in str(attached(value=text))


def test_subjects_and_details_are_counted() -> None:
    """A thousand of each are thirty-two, and it is said that some are missing."""
    many = attribute(
        detail(ValueError(), {str(n): n for n in range(1000)}), [Subject("n", str(n)) for n in range(1000)]
    )
    assert (len(found(many).subjects), len(found(many).detail), found(many).truncated) == (32, 32, True)


def test_what_is_known_twice_is_not_missing() -> None:
    """Repeats of a subject or of a name over many levels fill nothing up."""
    error: Exception = ValueError()
    for _ in range(50):
        error = detail(attribute(error, [BATCH]), {"step": "merge"})
    assert found(error) == Attribution((BATCH,), {"step": "merge"})


def nested(levels: int) -> object:
    """Make lists in lists, ten in each."""
    return "x" * 100 if not levels else [nested(levels - 1)] * 10


@pytest.mark.parametrize(
    "members",
    [
        {"wide": nested(4)},
        {f"key-{n}": "ä" * 900 for n in range(32)},
        {"ä" * 50_000_000: 1},
        {"text": "ä" * 25_000_000},
        {"bytes": b"\xff" * 50_000_000},
    ],
    ids=["nested", "many", "huge name", "huge text", "huge bytes"],
)
def test_a_detail_is_bounded_in_all(members: dict[str, object]) -> None:
    """Four KiB of JSON are kept, two of subjects, at once and whatever was attached; that it was cut can be seen (case 29)."""
    failure = told(
        attribute(detail(ValueError(), members), [Subject("s" * 999, "ä" * 9999 + str(n)) for n in range(99)])
    )
    assert len(json.dumps(dict(failure.detail))) <= 2 * 4096
    assert sum(len(json.dumps(str(each))) for each in failure.subjects) <= 2 * 2048
    assert failure.truncated or "[truncated]" in str(failure.detail)
    assert failure.subjects[0] == Subject("hook", "ci")


class Hostile:
    """Raises whatever is asked of it."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error

    __repr__ = __str__

    @property
    def __class__(self) -> Any:
        raise self._error

    @__class__.setter
    def __class__(self, _: object) -> None:
        raise self._error


class HostileMapping(dict[str, object]):
    """A mapping whose members cannot be had."""

    def items(self) -> Any:
        """Fail."""
        raise ZeroDivisionError


class Endless(Mapping[str, object]):
    """A mapping without an end."""

    def __getitem__(self, name: str) -> object:
        return name

    def __iter__(self) -> Iterator[str]:
        return map(str, itertools.count())

    def __len__(self) -> int:
        raise OverflowError


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hostile(ZeroDivisionError()),
        lambda: Hostile(SystemExit(1)),
        lambda: Hostile(RecursionError()),
        lambda: HostileMapping(a=1),
        Endless,
    ],
    ids=["unprintable", "SystemExit", "RecursionError", "no items", "endless"],
)
def test_values_that_cannot_be_had(make: Callable[[], object]) -> None:
    """A value that raises, wherever it is touched, costs nothing but itself (case 29)."""
    value = make()
    known = attached(before=1, value=value, nested=[value, {"deep": value}], after=2)
    assert (known["before"], known["after"]) == (1, 2)
    json.dumps(known, allow_nan=False)


def test_what_is_no_subject_is_told_all_the_same() -> None:
    """A slip in attributing costs neither the failure nor what was meant (case 29)."""
    slips = cast("list[Subject]", [("batch", "b-1"), "b-2", None, Subject(5, 6), Hostile(SystemExit(1))])  # type: ignore[arg-type]  # the slips are the point
    failure = told(attribute(ValueError("x"), slips))
    assert failure.message == "x"
    assert Subject("5", "6") in failure.subjects
    assert any("b-2" in each.id for each in failure.subjects)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30) | st.binary(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=9), inner, max_size=4),
    max_leaves=30,
)  # fmt: skip  # one strategy


@given(st.dictionaries(st.text(st.characters(), max_size=9), values, max_size=6), st.lists(st.text(st.characters())))
def test_attributing_is_total(members: dict[str, object], names: list[str]) -> None:
    """Whatever is attached can be written as JSON and as UTF-8, and a reader gets it as it was told (case 29)."""
    failure = told(attribute(detail(ValueError(), members), [Subject(name, name) for name in names]))
    text = json.dumps([dict(failure.detail), [str(each) for each in failure.subjects]], allow_nan=False)
    text.encode()
    assert json.loads(text)[0] == failure.detail
    assert not any(bad in str(each) for each in failure.subjects for bad in "\x00\n\x1b")
