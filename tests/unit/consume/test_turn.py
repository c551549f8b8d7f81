"""Whose suspects run when several engines have some."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import Turn
from hookline.consume._marks import Marks, encode_marks
from tests.unit.consume.lives import Disk, life
from tests.unit.consume.scheduling import Gates, turns, waits_for

if TYPE_CHECKING:
    from collections.abc import Sequence


async def test_a_batch_that_is_slow_keeps_no_other_group_waiting() -> None:
    """P10, P11: batches of several groups run together, since nobody is charged for them."""
    gates, turn = Gates(), Turn()
    slow, other = _crashed("a0"), _crashed("b0")
    act = waits_for(gates, ["a0"])
    async with life(slow, act, turn=turn) as first, life(other, act, turn=turn) as second:
        first.fetch()
        await first.bench.until(lambda: gates.inside)
        second.fetch()
        await second.bench.until(second.is_through)
        gates.open("a0")
        await first.bench.until(first.is_through)


async def test_a_record_that_runs_alone_runs_beside_no_suspect() -> None:
    """P11: it is charged, so whoever else may take the process down waits; and it waits for them."""
    gates, turn = Gates(), Turn()
    batch, single, late = _crashed("a0"), _crashed("b0", alone=True), _crashed("c0")
    act = waits_for(gates, ["a0", "b0"])
    async with (
        life(batch, act, turn=turn) as first,
        life(single, act, turn=turn) as second,
        life(late, act, turn=turn) as third,
    ):
        first.fetch()
        await first.bench.until(lambda: gates.inside)
        second.fetch()
        await turns()
        assert gates.inside == ["a0"]
        third.fetch()
        gates.open("a0")
        await second.bench.until(lambda: gates.inside == ["b0"])
        await turns()
        assert not third.is_through()
        gates.open("b0")
        await third.bench.until(lambda: third.is_through() and second.is_through())


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=12))
def test_nothing_runs_beside_what_runs_alone(wanted: Sequence[tuple[bool, int, int, bool]]) -> None:
    """P11: whoever comes when, and also where some are cancelled while they wait or run; all others have their turn."""
    inside: list[bool] = []
    served: list[int] = []

    async def take(turn: Turn, place: int, *, alone: bool, after: int, during: int) -> None:
        await turns(after)
        async with turn.alone() if alone else turn.together():
            inside.append(alone)
            assert len(inside) == 1 or not any(inside)
            try:
                await turns(during)
            finally:
                inside.remove(alone)
        served.append(place)

    async def all_of_them() -> None:
        turn = Turn()
        tasks = [
            asyncio.create_task(take(turn, place, alone=alone, after=after, during=during))
            for place, (alone, after, during, _) in enumerate(wanted)
        ]
        await turns(3)
        for task, (_, _, _, is_cancelled) in zip(tasks, wanted, strict=True):
            if is_cancelled:
                task.cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()

    asyncio.run(all_of_them())
    assert {place for place, (*_, is_cancelled) in enumerate(wanted) if not is_cancelled} <= set(served)


def _crashed(value: str, *, alone: bool = False) -> Disk:
    """Make a topic of one record, whose owner went down while that ran."""
    marks = Marks(0, (), (), clean=False, started=(0,) if alone else ())
    return Disk({0: [value]}, committed={0: (0, encode_marks(marks, 0).text)})
