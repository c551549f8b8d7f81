"""Which hooks an event belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.hooks import DuplicateHookError, Hook, Hooks, MergedHooks, hooks_of
from tests.support.hooks import Script, event_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline import Event
    from hookline.hooks import Resolver


def names(resolver: Resolver, type: str) -> list[str]:
    """Name the hooks of a type, in order."""
    return [hook.name for hook in resolver.for_event(event_of(type))]


@pytest.mark.parametrize(
    ("pattern", "type", "wanted"),
    [
        ("batch.failed", "batch.failed", True),
        ("batch.failed", "batch.failed.late", False),
        ("batch.*", "batch.failed", True),
        ("batch.*", "batch.failed.late", True),
        ("batch.*", "batch", False),
        ("batch.*", "minibatch.failed", False),
        ("*.failed", "batch.step.failed", True),
        ("*", "anything", True),
        ("b*d", "batch.failed", True),
        ("batch.failed", "batchxfailed", False),
        ("batch.[f]ailed", "batch.failed", False),
        ("BATCH.*", "batch.failed", False),
        ("*", "two\nlines", True),
    ],
)
def test_a_star_stands_for_any_characters_and_nothing_else_is_special(pattern: str, type: str, wanted: bool) -> None:  # noqa: FBT001 - pytest's parameters are positional
    """In a pattern `*` crosses dots; every other character means itself, and the whole type must match."""
    hooks = Hooks({pattern: [Script("a")]})
    assert bool(hooks.for_event(event_of(type))) is wanted


def test_a_hook_matched_twice_runs_once() -> None:
    """Patterns overlap; a hook does not care by how many it was found."""
    both, one = Script("both"), Script("one")
    hooks = Hooks({"batch.*": [both, one], "*": [both], "*.failed": [both]})
    assert names(hooks, "batch.failed") == ["both", "one"]
    assert names(hooks, "request.landed") == ["both"]
    assert hooks.hooks == (both, one)


def test_two_hooks_of_one_name_are_refused() -> None:
    """Neither a dead letter nor a metric could tell them apart, also when they stand under different patterns."""
    with pytest.raises(DuplicateHookError):
        Hooks({"batch.*": [Script("a")], "request.*": [Script("a")]})
    with pytest.raises(DuplicateHookError):
        MergedHooks(Hooks({"*": [Script("a")]}), Hooks({"*": [Script("a")]}))


def test_resolvers_are_merged() -> None:
    """Hooks from a file stand beside hooks from code; one that both name runs once."""
    shared = Script("shared")
    merged = MergedHooks(Hooks({"*": [shared, Script("a")]}), Hooks({"batch.*": [shared, Script("b")]}))
    assert names(merged, "batch.failed") == ["shared", "a", "b"]
    assert [hook.name for hook in merged.hooks] == ["shared", "a", "b"]


def test_a_resolver_need_not_list_its_hooks() -> None:
    """Anything with for_event resolves; one that lists nothing merges all the same."""

    class Bare:
        def for_event(self, _: Event) -> Sequence[Hook]:
            return [Script("found")]

    assert hooks_of(Bare()) == ()
    assert names(MergedHooks(Hooks({"*": [Script("a")]}), Bare()), "batch.failed") == ["a", "found"]
