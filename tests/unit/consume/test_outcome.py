"""The decision after a failure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import Retry, RetryPolicy, decide
from hookline.contract import DeadLetterClass
from hookline.errs import Verdict

POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 20),
    initial_seconds=st.floats(0.001, 10),
    max_seconds=st.floats(0.001, 100),
    dependency_seconds=st.floats(0, 100_000),
)
ATTEMPTS = st.integers(1, 1_000)
SECONDS = st.floats(0, 1_000_000)


@given(st.sampled_from(Verdict), ATTEMPTS, SECONDS, POLICIES)
def test_the_decision_is_total(verdict: Verdict, attempt: int, elapsed: float, policy: RetryPolicy) -> None:
    """P6: for every verdict, attempt and policy there is one decision, and a retry waits within its bound."""
    decision = decide(verdict, attempt, elapsed, policy)
    match decision:
        case Retry(delay_seconds):
            assert verdict.retryable
            assert 0 <= delay_seconds <= policy.max_seconds
        case DeadLetterClass.PERMANENT:
            assert not verdict.retryable
        case _:
            assert decision is DeadLetterClass.EXHAUSTED
            assert verdict.retryable


@given(POLICIES, SECONDS)
def test_attempts_bound_what_is_retryable_by_itself(policy: RetryPolicy, elapsed: float) -> None:
    """P6: exactly `max_attempts` attempts, however long they took."""
    decisions = [decide(Verdict.INFRA_RETRYABLE, n, elapsed, policy) for n in range(1, policy.max_attempts + 1)]
    assert all(isinstance(decision, Retry) for decision in decisions[:-1])
    assert decisions[-1] is DeadLetterClass.EXHAUSTED


@given(POLICIES, ATTEMPTS, SECONDS)
def test_time_bounds_failures_of_a_dependency(policy: RetryPolicy, attempt: int, elapsed: float) -> None:
    """P9: while the time allowed has not passed, no number of attempts makes an outage a dead letter."""
    decision = decide(Verdict.INFRA_DEPENDENCY_RETRYABLE, attempt, elapsed, policy)
    assert (decision is DeadLetterClass.EXHAUSTED) == (elapsed >= policy.dependency_seconds)


@given(POLICIES, st.floats(0, 1e9))
def test_a_dependency_may_ask_for_a_longer_wait(policy: RetryPolicy, asked: float) -> None:
    """`Retry-After` is honoured up to an hour."""
    policy = RetryPolicy(policy.max_attempts + 1, policy.initial_seconds, policy.max_seconds, 1e9)
    decision = decide(Verdict.INFRA_DEPENDENCY_RETRYABLE, 1, 0.0, policy, at_least_seconds=asked)
    assert isinstance(decision, Retry)
    assert decision.delay_seconds >= min(asked, 3600.0)
    assert decision.delay_seconds <= max(3600.0, policy.max_seconds)


def test_waits_grow_to_their_bound() -> None:
    """Waits double from the first to the longest, with at most a tenth of the first added."""
    policy = RetryPolicy(initial_seconds=1.0, max_seconds=10.0)
    delays = [policy.delay_seconds(attempt) for attempt in range(1, 8)]
    for delay, base in zip(delays, [1, 2, 4, 8, 10, 10, 10], strict=True):
        assert base <= delay <= min(base + 0.1, 10.0)
