"""Which hooks an event belongs to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.hooks import DuplicateHookError, Hook, Hooks, InvalidHookError, MergedHooks, hooks_of, type_pattern
from tests.support.hooks import Script, event_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

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


@given(st.text(alphabet="ab.*[?\n", max_size=8), st.text(alphabet="ab.[?\n", max_size=8))
def test_only_the_star_is_special(pattern: str, type: str) -> None:
    """A pattern without a star matches itself alone; one star matches any text between what stands around it."""
    if "*" not in pattern:
        assert bool(type_pattern(pattern).fullmatch(type)) == (type == pattern)
    head, _, tail = pattern.partition("*")
    if "*" in pattern and "*" not in tail:
        expected = type.startswith(head) and type.endswith(tail) and len(type) >= len(head) + len(tail)
        assert bool(type_pattern(pattern).fullmatch(type)) == expected


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


class Commenting:
    """A good hook."""

    name = "comment"

    async def handle(self, _: Event) -> None:
        """Do nothing."""


class Nameless:
    """A hook that forgot its name."""

    async def handle(self, _: Event) -> None:
        """Do nothing."""


class EmptyName(Commenting):
    """A hook that dead letters could not name."""

    name = " "


class NumberedName(Nameless):
    """A hook whose name is no text."""

    name = 5


class Misspelt:
    """A hook whose method is misspelt."""

    name = "misspelt"

    async def handel(self, _: Event) -> None:
        """Do nothing."""


class NotCallable:
    """A hook whose handle is a text."""

    name = "text"
    handle = "handle"


class WithoutEvent:
    """A hook that takes no event."""

    name = "none"

    async def handle(self) -> None:
        """Do nothing."""


class WithTooMuch:
    """A hook that takes more than the event."""

    name = "more"

    async def handle(self, _: Event, more: int) -> None:
        """Do nothing."""


class Yielding:
    """A hook that would be called and never run."""

    name = "yielding"

    async def handle(self, event: Event) -> AsyncIterator[Event]:
        """Do nothing."""
        yield event


class WithMore(Commenting):
    """A hook that can do with more than the event."""

    async def handle(self, event: Event, *more: int, **named: int) -> None:  # type: ignore[override]  # wider than the good one
        """Do nothing."""


BAD_HOOKS = [
    Commenting, Nameless(), EmptyName(), NumberedName(), Misspelt(), NotCallable(), WithoutEvent(), WithTooMuch(), Yielding(), None, "comment",
]  # fmt: skip  # a list


@pytest.mark.parametrize("hook", BAD_HOOKS, ids=repr)
def test_what_cannot_be_a_hook_is_refused_when_it_is_wired(hook: object) -> None:
    """A mistake in a hook is told at the start, not by the first event, wherever the hook is listed."""

    class Listing(Hooks):
        hooks = (hook,)  # type: ignore[assignment]  # what is tested

    with pytest.raises(InvalidHookError):
        Hooks({"batch.*": [hook]})  # type: ignore[list-item]  # what is tested
    with pytest.raises(InvalidHookError):
        MergedHooks(Listing({}))


@pytest.mark.parametrize("hooks", [Commenting(), Commenting, "comment", None, 5, {"comment": Commenting()}], ids=repr)
def test_hooks_stand_in_a_list(hooks: object) -> None:
    """A hook by itself, or anything else that is no list of them, is refused, and so is a list without patterns."""
    with pytest.raises(InvalidHookError):
        Hooks({"batch.*": hooks})  # type: ignore[dict-item]  # what is tested
    with pytest.raises(InvalidHookError):
        Hooks([hooks])  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InvalidHookError):
        Hooks({5: []})  # type: ignore[dict-item]  # what is tested


@pytest.mark.parametrize("resolver", [Commenting(), Hooks, None], ids=repr)
def test_only_resolvers_are_merged(resolver: object) -> None:
    """A hook, or the class of a resolver, is no resolver."""
    with pytest.raises(InvalidHookError):
        MergedHooks(resolver)  # type: ignore[arg-type]  # what is tested


def test_the_refusal_names_what_was_probably_meant() -> None:
    """A misspelt method is named, and so is the way to write a hook that stands in no list."""
    with pytest.raises(InvalidHookError, match="handel"):
        Hooks({"*": [Misspelt()]})  # type: ignore[list-item]  # what is tested
    with pytest.raises(InvalidHookError, match=r"\[Commenting\(\)\]"):
        Hooks({"*": Commenting})  # type: ignore[dict-item]  # what is tested


def test_whatever_can_be_called_with_one_event_is_a_hook() -> None:
    """Neither the kind of list nor further parameters matter, and a hook need not be of a class of its own."""
    namespace = cast("Hook", SimpleNamespace(name="namespace", handle=print))
    listed: list[Hook] = [WithMore(), namespace]
    hooks = Hooks({"*": iter(listed)})
    assert names(hooks, "batch.failed") == ["comment", "namespace"]


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


def test_merged_hooks_answer_the_same_to_the_same() -> None:
    """Whoever plans by the tuple plans once, also when hooks come from a file and from code."""
    both = MergedHooks(Hooks({"*": [Script("a")]}), Hooks({"batch.*": [Script("b")]}))
    first = both.for_event(event_of("batch.failed"))
    assert [hook.name for hook in first] == ["a", "b"]
    assert both.for_event(event_of("batch.merged")) is not first
    assert both.for_event(event_of("batch.failed", subject="other")) is first
    assert [hook.name for hook in both.for_event(event_of("request.landed"))] == ["a"]
