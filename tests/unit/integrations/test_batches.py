from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from hookline.integrations._batches import BatchWriter

if TYPE_CHECKING:
    from collections.abc import Sequence


class Shelf:
    """A store that keeps its batches, can be held, and fails where it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_commit = threading.Event()
        self.may_commit.set()
        self.opening: Exception | None = None
        self.committing: Exception | None = None
        self.refused: dict[int, Exception] = {}
        self.closed = threading.Event()
        self.threads: set[str] = set()

    def open(self) -> None:
        """Wait until the store may commit, and fail as told."""
        self.threads.add(threading.current_thread().name)
        self.may_commit.wait()
        if self.opening is not None:
            raise self.opening

    def commit(self, items: Sequence[int]) -> Sequence[Exception | None]:
        """Wait until the store may commit, keep the batch, and fail as told."""
        self.threads.add(threading.current_thread().name)
        self.may_commit.wait()
        self.batches.append(list(items))
        if self.committing is not None:
            raise self.committing
        return [self.refused.get(item) for item in items]

    def close(self) -> None:
        """Say that it was closed."""
        self.closed.set()


async def test_what_waits_together_is_written_together_in_order() -> None:
    """Many concurrent submits are few batches, each item in one of them, in the order they came."""
    shelf = Shelf()
    writer = BatchWriter(shelf, name="shelf", max_items=64)
    await writer.start()
    await asyncio.gather(*(writer.submit(number) for number in range(1000)))
    await writer.aclose()
    assert [number for batch in shelf.batches for number in batch] == list(range(1000))
    assert len(shelf.batches) <= 17
    assert len(shelf.threads) == 1


async def test_one_item_that_is_refused_fails_alone() -> None:
    """A failure of one item reaches its caller, not its neighbours."""
    shelf = Shelf()
    shelf.refused[1] = ValueError("one")
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    outcomes = await asyncio.gather(*(writer.submit(number) for number in range(3)), return_exceptions=True)
    await writer.aclose()
    assert [type(outcome) for outcome in outcomes] == [type(None), ValueError, type(None)]


async def test_a_commit_that_fails_fails_for_everyone_with_an_error_of_their_own() -> None:
    """Every waiter gets the error's type and fields, and no two the same object."""
    shelf = Shelf()
    shelf.committing = OSError(28, "No space left on device")
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    outcomes = await asyncio.gather(*(writer.submit(number) for number in range(3)), return_exceptions=True)
    shelf.committing = None
    await writer.submit(4)
    await writer.aclose()
    assert all(isinstance(outcome, OSError) and outcome.errno == 28 for outcome in outcomes)
    assert len({id(outcome) for outcome in outcomes}) == 3


class StubbornError(Exception):
    """An error that cannot be copied."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason, reason)


async def test_an_error_that_cannot_be_copied_still_arrives() -> None:
    """P1: whatever the commit raises, nobody waits for ever and nobody is told that it was written."""
    shelf = Shelf()
    shelf.committing = StubbornError(reason="no")
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    outcomes = await asyncio.gather(*(writer.submit(number) for number in range(3)), return_exceptions=True)
    await writer.aclose()
    assert [type(outcome) for outcome in outcomes] == [StubbornError] * 3


async def test_a_cancelled_caller_leaves_the_others_alone() -> None:
    """A cancelled submit ends at once; the batch it was in is written and its neighbours are told."""
    shelf = Shelf()
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    shelf.may_commit.clear()
    cancelled, kept = (asyncio.ensure_future(writer.submit(number)) for number in range(2))
    await asyncio.wait([cancelled], timeout=0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    shelf.may_commit.set()
    await kept
    await writer.aclose()


async def test_closing_writes_what_waits() -> None:
    """What was submitted before the close is written before the store is closed."""
    shelf = Shelf()
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    submitted = asyncio.ensure_future(writer.submit(1))
    await asyncio.wait([submitted], timeout=0)
    await writer.aclose()
    assert submitted.done()
    assert shelf.batches == [[1]]
    assert shelf.closed.is_set()


async def test_a_close_that_is_cancelled_closes_all_the_same() -> None:
    """Whoever closes may be cancelled while a batch is written: it is written, its callers are told, the store is closed."""
    shelf = Shelf()
    writer = BatchWriter(shelf, name="shelf")
    await writer.start()
    shelf.may_commit.clear()
    submitted = asyncio.ensure_future(writer.submit(1))
    await asyncio.wait([submitted], timeout=0)
    closing = asyncio.ensure_future(writer.aclose())
    for _ in range(2):
        await asyncio.wait([closing], timeout=0)
        closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    assert not shelf.closed.is_set()
    shelf.may_commit.set()
    await submitted
    assert await asyncio.to_thread(shelf.closed.wait, 30)
    assert shelf.batches == [[1]]


async def test_a_start_that_fails_or_is_cancelled_leaves_nothing_open() -> None:
    """After a failed or cancelled start the store is closed, in the end."""
    failing = Shelf()
    failing.opening = PermissionError("no")
    with pytest.raises(PermissionError):
        await BatchWriter(failing, name="shelf").start()
    assert await asyncio.to_thread(failing.closed.wait)
    hanging = Shelf()
    hanging.may_commit.clear()
    starting = asyncio.ensure_future(BatchWriter(hanging, name="shelf").start())
    await asyncio.wait([starting], timeout=0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    hanging.may_commit.set()
    assert await asyncio.to_thread(hanging.closed.wait)
