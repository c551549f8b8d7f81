"""Hooks that are async context managers: entered before their first event, left after their last."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from hookline.consume import Done, Hold, Retry
from hookline.hooks import Hooks
from tests.support.hooks import Script, attempt, delivery_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Event
    from hookline.hooks import Hook


class Room:
    """A hook that must be entered; it notes what happens to it, and in which task."""

    def __init__(self, name: str = "room", *, broken: int = 0) -> None:
        self.name = name
        self._broken = broken
        self.notes: list[str] = []
        self.tasks: set[asyncio.Task[object] | None] = set()
        self.leaving: asyncio.Event | None = None

    async def __aenter__(self) -> Self:
        self.tasks.add(asyncio.current_task())
        if self._broken:
            self._broken -= 1
            self.notes.append("broken")
            raise ConnectionRefusedError
        self.notes.append("entered")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.tasks.add(asyncio.current_task())
        self.notes.append("leaving")
        if self.leaving is not None:
            await self.leaving.wait()
        self.notes.append("left")

    async def handle(self, _: Event) -> None:
        """Note it."""
        self.notes.append("handled")


async def until_open(stage_waiting: object) -> None:
    """Let the keepers run until no hook waits."""
    assert callable(stage_waiting)
    await eventually_async(lambda: not stage_waiting(), what="all hooks are entered")


async def test_a_hook_is_entered_before_and_left_after_its_events() -> None:
    """It is entered when the stage is, and left when the stage is, by one and the same task."""
    room = Room()
    async with stage_of(Hooks({"*": [room]})) as stage:
        await until_open(stage.waiting_hooks)
        assert await attempt(stage, delivery_of()) == Done()
    assert room.notes == ["entered", "handled", "leaving", "left"]
    assert len(room.tasks) == 1


async def test_a_hook_that_cannot_be_entered_holds_its_events_alone() -> None:
    """P7, P9: its event is held, uncharged, while its sibling runs; it is named, and tried again by itself."""
    room, other = Room(broken=1), Script("other")
    async with stage_of(Hooks({"*": [room, other]})) as stage:
        await asyncio.sleep(0)
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Hold)
        assert stage.waiting_hooks() == ["room"]
        assert len(other.runs) == 1
        await until_open(stage.waiting_hooks)
    assert room.notes[:2] == ["broken", "entered"]


async def test_a_sibling_that_fails_meanwhile_is_tried_again_alone() -> None:
    """P7: not being entered is no failure and does not keep a sibling from its retries."""
    room, flaky = Room(broken=1), Script("flaky", TimeoutError())
    async with stage_of(Hooks({"*": [room, flaky]})) as stage:
        await asyncio.sleep(0)
        delivery = delivery_of()
        assert isinstance(await attempt(stage, delivery), Retry)
        assert isinstance(await attempt(stage, delivery), Hold)
    assert len(flaky.runs) == 2
    assert "handled" not in room.notes


async def test_a_hook_that_no_list_names_is_entered_by_its_first_event() -> None:
    """A resolver need not list its hooks; then the first event waits for the entering, and none comes before it."""
    room = Room()

    class Late:
        def for_event(self, _: Event) -> Sequence[Hook]:
            return [room]

    async with stage_of(Late()) as stage:
        assert isinstance(await attempt(stage, delivery_of()), Hold)
        await until_open(stage.waiting_hooks)
        assert await attempt(stage, delivery_of()) == Done()
    assert room.notes == ["entered", "handled", "leaving", "left"]


async def test_a_slow_exit_is_bounded() -> None:
    """One that does not get away is cancelled, and keeps no other from leaving."""
    slow, quick = Room("slow"), Room("quick")
    slow.leaving = asyncio.Event()
    async with stage_of(Hooks({"*": [slow, quick]}), leave_seconds=0.01) as stage:
        await until_open(stage.waiting_hooks)
    assert slow.notes == ["entered", "leaving"]
    assert quick.notes == ["entered", "leaving", "left"]


async def test_a_hook_that_never_could_be_entered_does_not_hold_up_the_end() -> None:
    """The pause before another try ends with the stage."""
    room = Room(broken=99)
    async with stage_of(Hooks({"*": [room]})):
        await asyncio.sleep(0)
    assert set(room.notes) == {"broken"}
