"""Hooks share one event, one loop and one process: what one of them does to itself harms nobody else.

Each test runs the real stage on the engine's real scheduler: siblings of the hook are done with every event, the next
events of the same subject and of others run on, and what the hook did is its own failure, once.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from hookline.contract import DeadLetterClass, Event
from tests.support.hooks import event_of
from tests.unit.hooks.hygiene import (
    ERRORS,
    Bad,
    BadFunction,
    Fine,
    cancel_and_raise,
    cancel_own_task,
    happenings,
    raising,
    works,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: ContextVar[str] = ContextVar("_PLACE", default="nobody's")


def change(name: str) -> Callable[[Event], object]:
    """Make an act that changes the event."""
    payload: dict[str, Callable[[Any], object]] = {
        "payload": lambda event: event.payload.pop("batch_id"),
        "nested": lambda event: event.payload["paths"].append("x"),
        "attributes": lambda event: event.attributes.update(a="b"),
        "field": lambda event: setattr(event, "subject", "mine"),
        "slot": lambda event: delattr(event, "id"),
    }
    return payload[name]


KINDS: dict[str, Callable[[Callable[[Event], object]], Any]] = {
    "at once": Bad,
    "awaited": lambda act: Bad(act, waits=True),
    "in a thread": BadFunction,
}
CHANGES = ("payload", "nested", "attributes", "field", "slot")


def named(make: Callable[[], BaseException]) -> str:
    """Name an error without asking it."""
    error = make()
    is_group = issubclass(type(error), BaseExceptionGroup)
    members = BaseExceptionGroup.__dict__["exceptions"].__get__(error) if is_group else ()
    return " of ".join(type(each).__name__ for each in (error, *members[:1]))


MISDEEDS = [
    pytest.param(kind, raising(make), id=f"{named(make)} {how}") for make in ERRORS for how, kind in KINDS.items()
]
MISDEEDS += [
    pytest.param(kind, change(name), id=f"changes {name} {how}") for name in CHANGES for how, kind in KINDS.items()
]
MISDEEDS += [
    pytest.param(kind, cancel_and_raise, id=f"cancels and raises {how}")
    for how, kind in KINDS.items()
    if kind is not BadFunction
]


@pytest.mark.parametrize(("kind", "act"), MISDEEDS)
async def test_what_a_hook_does_is_its_own_failure(
    kind: Callable[[Callable[[Event], object]], Any], act: Callable[[Event], object]
) -> None:
    """P1, P7, cases 13 (hooks-share-one-event), 14 (baseexception-from-hook) and 29: siblings and later events never notice."""
    bad, before, after = kind(act), Fine("before"), Fine("after", waits=3)
    events = happenings()
    async with works(before, bad, after) as running:
        running.feed(events)
        await running.until_settled()
        assert running.broken == []
    (letter,) = running.post.letters
    assert [failure.hook for failure in letter.failures] == ["bad"]
    assert letter.letter_class is DeadLetterClass.PERMANENT
    assert len(bad.done) == len(events) - 1
    for sibling in (before, after):
        assert sorted(sibling.done, key=str) == sorted(((e.subject, e.type, dict(e.payload)) for e in events), key=str)


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "awaited"])
async def test_a_hook_that_cancels_its_own_task_harms_nobody(*, waits: bool) -> None:
    """P7, case 9 (tenacity-swallows-cancel): that it fails of it or goes on is its own matter; nobody else is cancelled."""
    bad, before, after = Bad(cancel_own_task, waits=waits), Fine("before"), Fine("after", waits=3)
    events = happenings()
    async with works(before, bad, after) as running:
        running.feed(events)
        await running.until_settled()
        assert running.broken == []
    assert len(bad.done) + len(running.post.letters) == len(events)
    assert {failure.hook for letter in running.post.letters for failure in letter.failures} <= {"bad"}
    assert len(before.done) == len(after.done) == len(events)


async def test_a_hook_alone_harms_no_later_event() -> None:
    """P3, P7: without siblings an event takes a shorter way; every misdeed one after another, and the last event is done."""
    misdeeds = [*map(raising, ERRORS), cancel_and_raise]
    bad = Bad(lambda event: misdeeds[event.version - 1](event))
    async with works(bad) as running:
        for version in range(1, len(misdeeds) + 1):
            running.feed([event_of("do.misbehave", "one", version)])
        running.feed([event_of("do.pass", "one", len(misdeeds) + 1)])
        await running.until_settled()
        assert running.broken == []
    assert len(running.post.letters) == len(misdeeds)
    assert [event.type for event in bad.done] == ["do.pass"]


@pytest.mark.parametrize("how", KINDS)
async def test_each_hook_runs_in_a_context_of_its_own(how: str) -> None:
    """What a hook sets in its context, before and after it waits, is seen by no sibling and no later event."""
    seen: list[str] = []

    def look(_: Event) -> None:
        seen.append(_PLACE.get())
        _PLACE.set("mine")

    def hook(name: str) -> Any:
        made = KINDS[how](look)
        made.name = name
        return made

    hooks = [hook(name) for name in ("a", "b", "c")]
    async with works(*hooks) as running:
        running.feed([event_of("do.misbehave", "one", version) for version in (1, 2, 3)])
        await running.until_settled()
        assert running.broken == []
    assert seen == ["nobody's"] * 9
    assert _PLACE.get() == "nobody's"
    assert running.post.letters == []
