"""Groups: ours and foreign, deep, shared and circular."""

from __future__ import annotations

import asyncio

import pytest

from hookline.errs import (
    HookCrashedError,
    HookErrorGroup,
    HttpStatusError,
    Verdict,
    classify,
    one_line,
    retryable_error,
    user_error,
)


def test_no_failure_is_no_group() -> None:
    """Hooks that succeeded leave nothing behind (P7)."""
    assert HookErrorGroup.of([("a", None), ("b", None)]) is None
    assert HookErrorGroup.of([]) is None


def test_every_member_is_reachable_by_its_own_type() -> None:
    """`except*` finds each hook's error as it was raised (P7)."""
    group = HookErrorGroup.of([("a", ValueError("x")), ("b", None), ("c", HttpStatusError(503, host="h"))])
    assert group is not None
    reached: list[Exception] = []
    try:
        raise group
    except* HttpStatusError as found:
        reached += found.exceptions
    except* ValueError as found:
        reached += found.exceptions
    assert {type(error) for error in reached} == {ValueError, HttpStatusError}


def test_the_message_is_one_line_that_names_the_hooks() -> None:
    """A failed delivery is one log record."""
    group = HookErrorGroup.of([("comment", ValueError("a\nb\x00")), ("ci", KeyError("k"))])
    assert group is not None
    assert len(str(group).splitlines()) == 1
    assert "comment" in str(group)
    assert "ci" in str(group)
    assert one_line(group) == str(group)


@pytest.mark.parametrize("crash", [SystemExit(0), GeneratorExit(), KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_is_no_exception_is_held_and_permanent(crash: BaseException) -> None:
    """A hook that raises SystemExit or cancels itself has failed; it stops nobody (cases 9 and 14)."""
    group = HookErrorGroup.of([("a", crash)])
    assert group is not None
    (member,) = group.exceptions
    assert isinstance(member, HookCrashedError)
    assert member.__cause__ is crash
    assert classify(group) is Verdict.UNKNOWN


def test_split_keeps_the_type() -> None:
    """What `except*` leaves over is still a HookErrorGroup."""
    group = HookErrorGroup.of([("a", ValueError()), ("b", KeyError())])
    assert group is not None
    match, rest = group.split(ValueError)
    assert isinstance(match, HookErrorGroup)
    assert isinstance(rest, HookErrorGroup)


def test_one_retryable_member_retries_the_delivery() -> None:
    """A transient failure beside a permanent one still retries (P7)."""
    group = HookErrorGroup.of([("a", user_error(ValueError())), ("b", HttpStatusError(503, host="h"))])
    assert group is not None
    assert classify(group) is Verdict.INFRA_DEPENDENCY_RETRYABLE


def test_a_wrap_inside_speaks_for_its_member_only() -> None:
    """A member that is wrapped as permanent does not silence its sibling."""
    group = ExceptionGroup("g", [user_error(TimeoutError()), TimeoutError()])
    assert classify(group) is Verdict.INFRA_RETRYABLE


def test_a_wrap_above_decides_the_whole() -> None:
    """Whoever wraps the group has weighed its members."""
    assert classify(user_error(ExceptionGroup("g", [TimeoutError()]))) is Verdict.USER


def test_a_claimed_node_above_decides_the_whole() -> None:
    """A node outside the group that a classifier claims is asked before the members."""
    outer = HttpStatusError(404, host="h")
    outer.__cause__ = ExceptionGroup("g", [TimeoutError()])
    assert classify(outer) is Verdict.INFRA_DEPENDENCY


async def test_a_task_group_is_weighed_by_its_real_errors() -> None:
    """What asyncio.TaskGroup raises is descended; cancelled siblings say nothing (case 17)."""
    # The body fails, not a task: CPython 3.11 loses the cancellation of a waiting TaskGroup while coverage traces it.
    with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012  # a task group is the statement
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.Event().wait())
            raise ConnectionResetError
    assert classify(caught.value) is Verdict.INFRA_DEPENDENCY_RETRYABLE


def test_a_base_group_is_descended() -> None:
    """A group that holds a cancellation beside a real error means what the real error means (case 17)."""
    group = BaseExceptionGroup("g", [asyncio.CancelledError(), retryable_error(ValueError())])
    assert classify(group) is Verdict.INFRA_RETRYABLE
    held = HookErrorGroup.of([("a", group)])
    assert held is not None
    assert classify(held) is Verdict.INFRA_RETRYABLE


def test_three_thousand_groups_deep() -> None:
    """Depth costs no stack (case 29)."""
    error: Exception = TimeoutError()
    for _ in range(3000):
        error = ExceptionGroup("g", [error])
    assert classify(error) is Verdict.INFRA_RETRYABLE


def test_shared_members_are_entered_once() -> None:
    """Sixty levels that each hold the next twice are sixty groups, not 2**60 (case 29)."""
    error: Exception = TimeoutError()
    for _ in range(60):
        error = ExceptionGroup("g", [error, error])
    assert classify(error) is Verdict.INFRA_RETRYABLE


def test_circles_end() -> None:
    """An error that causes itself, two that cause each other, a member caused by its group (case 29)."""
    own = ValueError()
    own.__cause__ = own
    first, second = ValueError(), ConnectionResetError()
    first.__cause__, second.__cause__ = second, first
    member = ValueError()
    group = ExceptionGroup("g", [member, TimeoutError()])
    member.__cause__ = group
    verdicts = [classify(error) for error in (own, first, group, member)]
    assert verdicts == [
        Verdict.UNKNOWN,
        Verdict.INFRA_DEPENDENCY_RETRYABLE,
        Verdict.INFRA_RETRYABLE,
        Verdict.INFRA_RETRYABLE,
    ]
