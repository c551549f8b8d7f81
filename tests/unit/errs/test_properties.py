"""Laws of the processor."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.errs import (
    HookErrorGroup,
    HttpStatusError,
    Verdict,
    attribute,
    classify,
    dependency_error,
    retryable_dependency_error,
    retryable_error,
    user_error,
)

WRAPS = {
    user_error: Verdict.USER,
    retryable_error: Verdict.INFRA_RETRYABLE,
    dependency_error: Verdict.INFRA_DEPENDENCY,
    retryable_dependency_error: Verdict.INFRA_DEPENDENCY_RETRYABLE,
}


def members() -> st.SearchStrategy[Exception]:
    """Make errors of every verdict, plain, wrapped and in groups."""
    plain = st.sampled_from([ValueError, TimeoutError, ConnectionResetError, PermissionError]).map(lambda kind: kind())
    http = st.integers(100, 599).map(lambda code: HttpStatusError(code, host="h"))
    leaves: st.SearchStrategy[Exception] = plain | http
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(lambda wrap, error: wrap(error), st.sampled_from(list(WRAPS)), inner)
            | st.lists(inner, min_size=1, max_size=4).map(lambda errors: ExceptionGroup("g", errors))
            | inner.map(lambda error: attribute(error, []))
        ),
        max_leaves=8,
    )


@given(
    st.lists(members(), min_size=1, max_size=6).flatmap(
        lambda errors: st.tuples(st.just(errors), st.permutations(errors))
    )
)
def test_the_order_of_members_says_nothing(both: tuple[list[Exception], list[Exception]]) -> None:
    """A group means the same in any order."""
    given_order, any_order = both
    verdict = classify(ExceptionGroup("g", given_order))
    assert classify(ExceptionGroup("g", any_order)) is verdict
    for order in both:
        hooks = HookErrorGroup.of((f"hook-{place}", error) for place, error in enumerate(order))
        assert hooks is not None
        assert classify(hooks) is verdict
        assert len(str(hooks).splitlines()) == 1


@given(st.lists(members(), min_size=1, max_size=6))
def test_a_group_means_its_weightiest_member(errors: list[Exception]) -> None:
    """Members are judged alone, and the highest rank is the group's verdict."""
    alone = [classify(error) for error in errors]
    assert classify(ExceptionGroup("g", errors)) is max(alone, key=lambda verdict: verdict.rank)


@given(st.lists(members(), min_size=1, max_size=6))
def test_nesting_says_nothing(errors: list[Exception]) -> None:
    """A group of groups means what its leaves mean."""
    nested = ExceptionGroup("g", [ExceptionGroup("g", [error]) for error in errors])
    assert classify(nested) is classify(ExceptionGroup("g", errors))


@given(members(), st.sampled_from(list(WRAPS.items())))
def test_a_wrap_above_decides(error: Exception, wrap: tuple[object, Verdict]) -> None:
    """Whatever is below, the outermost explicit wrap is the verdict."""
    make, verdict = wrap
    assert callable(make)
    assert classify(make(error)) is verdict


@given(st.lists(st.builds(ValueError), min_size=1, max_size=8), st.data())
def test_circles_of_any_shape_end(errors: list[Exception], data: st.DataObject) -> None:
    """Causes may point anywhere, groups may hold anything: there is a verdict (case 29)."""
    nodes = [*errors, ExceptionGroup("g", errors)]
    for node in nodes:
        node.__cause__ = data.draw(st.sampled_from(nodes))
    assert isinstance(classify(nodes[0]), Verdict)
