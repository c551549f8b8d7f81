"""The guard against a flood of dead letters of one hook."""

from __future__ import annotations

from hookline.hooks._guard import Guard
from hookline.hooks._policy import GuardPolicy

POLICY = GuardPolicy(outcomes=100, subjects=50, share=0.5)


def first_held(fails: list[bool], subjects: int, policy: GuardPolicy = POLICY) -> int | None:
    """Tell after how many dead letters the hook is held, when outcomes come as told over so many subjects."""
    guard, letters = Guard(policy), 0
    for number, failed in enumerate(fails, 1):
        if failed:
            letters += 1
            if guard.failed(f"s{number % subjects}", number):
                return letters
    return None


def test_a_hook_that_fails_every_event_is_held_after_a_hundred() -> None:
    """P9: a bad deploy of 2,000 events costs a hundred dead letters."""
    assert first_held([True] * 2_000, 1_000) == 100


def test_a_hook_that_fails_most_events_is_held() -> None:
    """P9: three of four are most of them."""
    held = first_held([number % 4 != 0 for number in range(2_000)], 1_000)
    assert held is not None
    assert held <= 100


def test_a_hook_that_fails_some_events_is_not() -> None:
    """P9: two of five are bad events; there is no end to them, and each is a dead letter."""
    assert first_held([number % 5 < 2 for number in range(20_000)], 1_000) is None


def test_few_subjects_never_hold_a_hook() -> None:
    """P9: what fails for forty-nine subjects may be their fault."""
    assert first_held([True] * 5_000, 49) is None


def test_it_begins_anew_after_it_was_reset() -> None:
    """P9: what was before somebody mended the hook counts no more."""
    guard = Guard(POLICY)
    for number in range(1, 100):
        assert not guard.failed(f"s{number}", number)
    guard.reset()
    assert not guard.failed("s100", 100)


def test_it_can_be_switched_off() -> None:
    """A guard that is not wanted holds nothing."""
    assert first_held([True] * 2_000, 1_000, GuardPolicy(enabled=False)) is None
