from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import pytest

from hookline.testing import Double, assert_idempotent, events
from tests.unit.testing.hooks import Comment, CommentTwice, Hangs, MarkFirst, MarkLast, Plain

if TYPE_CHECKING:
    from hookline import Event

EVENT = events.batch_failed()


async def test_an_idempotent_hook_passes() -> None:
    """A hook whose other side knows a repeat may be given an event again, however it was cut off."""
    await assert_idempotent(Comment(), EVENT)


async def test_what_makes_a_hook_passes_too() -> None:
    """A class, a function and a coroutine function make each course a fresh hook."""

    async def make() -> Comment:
        return Comment()

    await assert_idempotent(Comment, EVENT)
    await assert_idempotent(make, EVENT)


async def test_a_hook_that_acts_again_is_found() -> None:
    """A hook that acts each time that an event comes is not idempotent."""
    with pytest.raises(AssertionError, match="succeeded and came again"):
        await assert_idempotent(CommentTwice(), EVENT)


async def test_a_hook_that_acts_twice_only_when_cut_off_is_found() -> None:
    """Noting that it is done after the effect does not help against a crash between: the cut behind the effect shows it."""
    with pytest.raises(AssertionError, match=r"cut off at suspension 2.*\n.*1|cut off at suspension 2"):
        await assert_idempotent(MarkLast(), EVENT)


async def test_a_hook_that_loses_its_effect_is_found() -> None:
    """Noting that it is done before the effect loses it when the run is cut off between."""
    with pytest.raises(AssertionError, match="cut off at suspension 1"):
        await assert_idempotent(MarkFirst(), EVENT)


async def test_effects_may_lie_anywhere() -> None:
    """`effects` tells them, here the rows of a table; the function that makes the hook clears it."""
    database = sqlite3.connect(":memory:")

    class Insert:
        name = "insert"

        def __init__(self, statement: str) -> None:
            self._statement = statement
            database.execute("drop table if exists seen")
            database.execute("create table seen (id text primary key, subject text, times int default 1)")

        async def handle(self, event: Event) -> None:
            await asyncio.sleep(0)
            database.execute(self._statement, (event.id, event.subject))
            await asyncio.sleep(0)

    async def rows(_: Insert) -> list[tuple[object, ...]]:
        return database.execute("select * from seen").fetchall()

    once = "insert into seen (id, subject) values (?, ?) on conflict do nothing"
    again = "insert into seen (id, subject) values (?, ?) on conflict (id) do update set times = times + 1"
    await assert_idempotent(lambda: Insert(once), EVENT, effects=rows)
    with pytest.raises(AssertionError, match="not idempotent"):
        await assert_idempotent(lambda: Insert(again), EVENT, effects=rows)
    database.close()


async def test_no_effect_is_no_proof() -> None:
    """When nothing can be seen of a run, the check says so instead of passing."""
    with pytest.raises(AssertionError, match="no effect"):
        await assert_idempotent(Comment(), EVENT, effects=lambda _: None)


async def test_somebody_must_see_the_effects() -> None:
    """Without a double among the hook's attributes `effects` is needed."""
    with pytest.raises(TypeError, match="effects=lambda"):
        await assert_idempotent(Plain(), EVENT)


async def test_a_hook_that_cannot_be_copied_is_made() -> None:
    """A hook that holds what cannot be copied needs a function that makes one."""

    class Holds(Comment):
        def __init__(self) -> None:
            super().__init__()
            self.connection = sqlite3.connect(":memory:")
            self.connection.close()

    with pytest.raises(TypeError, match="give a function"):
        await assert_idempotent(Holds(), EVENT)
    await assert_idempotent(Holds, EVENT)


async def test_a_plain_function_is_checked_as_far_as_it_can_be() -> None:
    """A plain function cannot be cut off; that it may run twice is checked all the same."""
    with pytest.raises(AssertionError, match="succeeded and came again"):
        await assert_idempotent(Plain(), EVENT, effects=lambda hook: hook.seen)


async def test_a_hook_that_fails_has_no_effect_to_compare() -> None:
    """A hook that raises in a run that nobody disturbs is told with its error."""
    failing = Comment()
    failing.host = Double(answers={"comment": ConnectionError("away")})
    with pytest.raises(AssertionError, match="raised"):
        await assert_idempotent(failing, EVENT)


async def test_a_hook_that_hangs_is_told() -> None:
    """A hook that never ends is told with the line where it waits, in no time."""
    with pytest.raises(AssertionError, match=r"hooks\.py:\d+, in handle"):
        await assert_idempotent(Hangs(), EVENT, effects=lambda _: None)
