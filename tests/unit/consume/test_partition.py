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
from hookline.kafka import Record
from tests.support.messages import message_of
from tests.unit.consume.scheduling import record_of

RECORDS, AHEAD, BYTES = 10, 40, 1_000
STATE = RetryState(2, 29_700_000, b"kept")


def partition_of(position: int | None = 0, found: Marks | None = None) -> Partition:
    """Make a partition."""
    return Partition(0, CompletedWindow(10), position, found)


def room_of(partition: Partition) -> int:
    """Ask as the poller does."""
    return partition.room(RECORDS, BYTES)


def rests(partition: Partition) -> bool:
    """Ask as the poller does, and keep the answer as it does."""
    partition.paused = partition.wants_pause(AHEAD, BYTES)
    return partition.paused


def fetched(partition: Partition, messages: int, size_bytes: int = 0) -> None:
    """Let messages wait for room."""
    partition.ahead.add([message_of(Record("t", 0, offset, 0, b"k", b"v" * size_bytes)) for offset in range(messages)])


@given(st.integers(0, 30), st.integers(0, 2_000))
def test_it_takes_what_there_is_room_for(records: int, size_bytes: int) -> None:
    """P3, cases: memory-backpressure. By count and by bytes."""
    partition = partition_of()
    partition.take(records, size_bytes, records)
    is_full = records >= RECORDS or size_bytes >= BYTES
    assert room_of(partition) == (0 if is_full else RECORDS - records)


@given(messages=st.integers(0, 60), was_resting=st.booleans())
def test_it_rests_when_too_much_waits_and_until_half_of_it_has_gone(messages: int, *, was_resting: bool) -> None:
    """P3, cases: memory-backpressure. In between it stays as it is, since each pause costs fetches."""
    partition = partition_of(None)
    fetched(partition, messages)
    partition.paused = was_resting
    assert rests(partition) is (messages * (2 if was_resting else 1) >= AHEAD)


@pytest.mark.parametrize(
    ("in_hand", "waiting", "is_full"), [(0, 900, False), (0, 1_000, True), (600, 400, True), (400, 0, True)]
)
def test_what_waits_and_what_is_in_hand_share_the_bytes(in_hand: int, waiting: int, *, is_full: bool) -> None:
    """P3, cases: memory-backpressure. Few large records fill a partition as many small ones do.

    What is not read counts as its values, and as what was read at least: of dead letters the headers are most.
    """
    partition = partition_of(None)
    partition.take(1, in_hand, 0)
    fetched(partition, 2, waiting // 2)
    assert rests(partition) is is_full


def test_nothing_is_handed_over_while_a_dead_letter_cannot_be_written() -> None:
    """P1, cases: dlq-unconfirmed. Nothing begins that might have to follow it."""
    partition = partition_of()
    partition.held = 1
    assert not room_of(partition)
    partition.held = 0
    assert room_of(partition)


def test_nothing_is_handed_over_when_too_much_is_settled_behind_one_record() -> None:
    """P5: each settled offset behind an open one is remembered, so there is a bound to that too."""
    partition = partition_of()
    partition.tracker.deliver(0)
    for offset in range(1, 50 * RECORDS):
        partition.tracker.deliver_settled(offset)
    assert not room_of(partition)
    partition.tracker.settle(0)
    assert room_of(partition)


def test_nothing_is_handed_over_when_a_commit_can_hardly_tell_more() -> None:
    """P6: before attempts would have to be left out of the metadata nothing new begins; with nothing in hand it never rests."""
    partition = partition_of()
    for offset in range(200):
        partition.tracker.deliver(offset)
        partition.note_begun(Delivery(record_of("a", offset)))
    states = {offset: RetryState(1 + offset, None, offset.to_bytes(4, "big")) for offset in range(200)}
    partition.encode(100, lambda delivery: states[delivery.record.offset], clean=False)
    assert room_of(partition)
    partition.take(1, 1, 0)
    assert not room_of(partition)
    partition.encode(1_000_000, lambda _: None, clean=False)
    assert room_of(partition)


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


async def test_two_that_wait_for_quiet_both_hear_of_it() -> None:
    """P5: a stop may drain a partition that a revoke drains already; neither sits out its time, nor ends the other's wait."""
    partition = partition_of()
    lane = partition.lane_of(b"a")
    partition.busy.add(lane)
    late, first, second = (asyncio.ensure_future(partition.until_quiet()) for _ in range(3))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.sleep(0)
    partition.note_idle(lane)
    await asyncio.wait_for(asyncio.gather(first, second), 10)


async def test_who_is_busy_again_at_once_was_not_quiet() -> None:
    """P1, P5: a record whose attempt has ended, and whose dead letter is written now, has the time of the drain for that."""
    partition = partition_of()
    lane = partition.lane_of(b"a")
    partition.busy.add(lane)
    waiting = asyncio.ensure_future(partition.until_quiet())
    await asyncio.sleep(0)
    partition.note_idle(lane)
    partition.busy.add(lane)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    partition.note_idle(lane)
    await asyncio.wait_for(waiting, 10)
