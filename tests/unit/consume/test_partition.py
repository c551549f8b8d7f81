"""When the intake of a partition rests, and what its commit says."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.consume import Delivery
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._marks import Marks, RetryState, decode_marks
from hookline.consume._partition import Lane, Partition
from tests.unit.consume.scheduling import record_of

RECORDS, BYTES = 10, 1_000
STATE = RetryState(2, 29_700_000, b"kept")


def partition_of(position: int | None = 0, found: Marks | None = None) -> Partition:
    """Make a partition."""
    return Partition(0, CompletedWindow(10), position, found)


def rests(partition: Partition) -> bool:
    """Ask as the poller does, and keep the answer as it does."""
    partition.paused = partition.wants_pause(RECORDS, BYTES)
    return partition.paused


@given(st.integers(0, 30), st.integers(0, 2_000))
def test_it_rests_when_it_is_full_and_until_the_half_is_worked_off(records: int, size_bytes: int) -> None:
    """P3, cases: memory-backpressure. By count and by bytes; in between it stays as it is, since each pause costs fetches."""
    partition = partition_of()
    partition.take(records, size_bytes, records)
    assert rests(partition) is (records >= RECORDS or size_bytes >= BYTES)
    partition.paused = True
    assert rests(partition) is (2 * records >= RECORDS or 2 * size_bytes >= BYTES)


def test_it_rests_while_a_dead_letter_cannot_be_written() -> None:
    """P1, cases: dlq-unconfirmed. Nothing is fetched that might have to follow it."""
    partition = partition_of()
    partition.held = 1
    assert rests(partition)
    partition.held = 0
    assert not rests(partition)


def test_it_rests_when_too_much_is_settled_behind_one_record() -> None:
    """P5: each settled offset behind an open one is remembered, so there is a bound to that too."""
    partition = partition_of()
    partition.tracker.deliver(0)
    for offset in range(1, 50 * RECORDS):
        partition.tracker.deliver_settled(offset)
    assert rests(partition)
    partition.tracker.settle(0)
    assert not rests(partition)


def test_it_rests_when_a_commit_can_hardly_tell_more() -> None:
    """P6: before attempts would have to be left out of the metadata nothing new begins; with nothing in hand it never rests."""
    partition = partition_of()
    for offset in range(200):
        partition.tracker.deliver(offset)
        partition.note_begun(Delivery(record_of("a", offset)))
    states = {offset: RetryState(1 + offset, None, offset.to_bytes(4, "big")) for offset in range(200)}
    partition.encode(100, lambda delivery: states[delivery.record.offset], clean=False)
    assert not rests(partition)
    partition.take(1, 1, 0)
    assert rests(partition)
    partition.encode(1_000_000, lambda _: None, clean=False)
    assert not rests(partition)


@pytest.mark.parametrize("delivered", [0, 1, 2, 3])
def test_what_an_owner_before_left_is_said_again_until_it_came_again(delivered: int) -> None:
    """P6: a restart before the records were fetched again loses nothing of what was known of them."""
    found = Marks(frontier=4, open=((1, 3),), states=((1, 3, STATE),), clean=True)
    partition = partition_of(0, found)
    for offset in range(delivered):
        if found.is_settled(offset):
            partition.tracker.deliver_settled(offset)
        else:
            partition.tracker.deliver(offset)
            partition.active[offset] = Delivery(record_of("a", offset))
    encoded = partition.encode(4_000, lambda _: STATE, clean=False)
    assert encoded is not None
    position = partition.position or 0
    said = decode_marks(encoded.text, position)
    for offset in range(position, 4):
        assert said.is_settled(offset) is found.is_settled(offset)
        assert said.is_settled(offset) or said.state_of(offset) == STATE


async def test_a_drain_waits_until_nothing_is_busy() -> None:
    """P5: whoever lets a partition go waits for what runs, and for nothing when nothing does."""
    partition = partition_of()
    await partition.until_quiet()
    first, second = Lane(partition, b"a"), Lane(partition, b"b")
    with partition.at_work(first):
        with partition.at_work(second):
            waiting = asyncio.create_task(partition.until_quiet())
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
