"""The breaker of one hook, by its own clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.hooks._breaker import Breaker
from hookline.hooks._policy import BreakerPolicy

POLICY = BreakerPolicy(window_seconds=30, subjects=20, share=0.5, probe_seconds=5, max_probe_seconds=20)


def fail(breaker: Breaker, subjects: range, now: float, ended: int) -> bool:
    """Let attempts fail one after another, of as many subjects; tells whether one of them opened the breaker."""
    return any(breaker.failed(f"s{number}", now, ended + at + 1) for at, number in enumerate(subjects))


def opened(now: float = 100.0) -> Breaker:
    """Give a breaker that has just opened."""
    breaker = Breaker(POLICY)
    breaker.tick(now, 0)
    assert fail(breaker, range(20), now, 0)
    return breaker


def test_it_opens_for_many_subjects_and_half_of_the_attempts() -> None:
    """P9: twenty subjects within the window, and at least half of all that the hook did: its dependency is away."""
    breaker = Breaker(POLICY)
    breaker.tick(0, 1_000)
    assert not fail(breaker, range(19), 1, 1_000)
    assert breaker.failed("s19", 2, 1_020)
    assert breaker.is_open


def test_one_subject_alone_never_opens_it() -> None:
    """P9: an event that is bad fails again and again; that is no outage."""
    breaker = Breaker(POLICY)
    breaker.tick(0, 0)
    assert not any(breaker.failed("bad", second / 10, second) for second in range(1_000))


def test_a_hook_that_mostly_succeeds_is_left_alone() -> None:
    """P9: twenty subjects that fail among a thousand that do not are twenty events."""
    breaker = Breaker(POLICY)
    breaker.tick(0, 0)
    assert not any(breaker.failed(f"s{number}", 1, 50 * number) for number in range(1, 100))


def test_attempts_before_the_first_failure_and_the_first_tick_count() -> None:
    """P9: twenty failures after a hundred successes are a sixth of the attempts, also within the first second."""
    breaker = Breaker(POLICY)
    breaker.tick(0, 0)
    assert not fail(breaker, range(20), 0.5, 100)


def test_attempts_since_it_closed_count() -> None:
    """P9: twenty failures after thirty successes since it closed are less than half, whatever was before."""
    breaker = opened()
    breaker.close(200, 1_000)
    assert not fail(breaker, range(20), 200.5, 1_030)
    assert fail(breaker, range(20, 30), 200.6, 1_050)


def test_what_failed_before_the_window_counts_no_more() -> None:
    """P9: failures that lie far apart are no outage."""
    breaker = Breaker(POLICY)
    for number in range(100):
        breaker.tick(number * 10.0, number)
        assert not breaker.failed(f"s{number}", number * 10.0, number)


def test_probes_wait_longer_each_time_and_one_that_is_answered_closes_it() -> None:
    """P9: one probe at a time, the pauses double up to the most, and the first answer closes the breaker."""
    breaker, now = opened(), 100.0
    for pause in (5, 10, 20, 20):
        assert not breaker.may_probe(now + pause - 0.1)
        now += pause
        assert breaker.may_probe(now)
        breaker.begin_probe(now, 30)
        assert not breaker.may_probe(now + 29)
        breaker.end_probe(now, 20, answered=False)
    breaker.begin_probe(now + 20, 30)
    breaker.end_probe(now + 20, 20, answered=True)
    assert not breaker.is_open


def test_only_the_latest_probe_is_awaited_and_only_once() -> None:
    """P9: what a probe says that took so long that another has begun is old, and so is what one says that has ended."""
    breaker = opened()
    first = breaker.begin_probe(105, 30)
    second = breaker.begin_probe(135, 30)
    assert not breaker.is_awaited(first)
    assert breaker.is_awaited(second)
    breaker.end_probe(140, 22, answered=False)
    assert not breaker.is_awaited(second)


def test_a_probe_that_tells_nothing_passes_its_turn_on() -> None:
    """P9: a probe that asked to be run again neither closes the breaker nor makes the next one wait."""
    breaker = opened()
    probe = breaker.begin_probe(105, 30)
    breaker.pass_on_probe()
    assert breaker.is_open
    assert not breaker.is_awaited(probe)
    assert breaker.may_probe(105)


def test_a_probe_that_is_never_heard_of_again_is_followed_by_another() -> None:
    """P9: its partition may have been revoked; the breaker may not stay open for that."""
    breaker = opened()
    breaker.begin_probe(105, 30)
    assert not breaker.may_probe(134)
    assert breaker.may_probe(135)


def test_it_can_be_switched_off() -> None:
    """A breaker that is not wanted never opens."""
    breaker = Breaker(BreakerPolicy(enabled=False))
    assert not fail(breaker, range(1_000), 1, 0)


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0, 5), st.booleans()), max_size=200))
def test_it_is_total_and_remembers_little(steps: list[tuple[int, float, bool]]) -> None:
    """P9: whatever comes in whatever order, it opens only when there was a reason, and keeps no more than the window."""
    breaker, now, ended = Breaker(POLICY), 0.0, 0
    for subject, pause, ticks in steps:
        now, ended = now + pause, ended + 1
        if ticks:
            breaker.tick(now, ended)
        if breaker.failed(f"s{subject}", now, ended):
            assert len({other for other, _, _ in steps}) >= POLICY.subjects
            breaker.close(now, ended)
    assert not breaker.is_open
