"""The consumer thread, on a scripted consumer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Message

from hookline.consume._crew import Found
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._metered import EngineMeter
from hookline.consume._partition import Partition
from hookline.consume._poller import Poller
from hookline.consume._settings import EngineSettings
from hookline.kafka import CommitError, ErrorKind, Fault, PositionsUnknownError
from hookline.telemetry import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookline.kafka import KafkaClientError, Position, Record, UnreadRecord

COMMITTED = (7, "hl1.text")


def refusal(code: str) -> CommitError:
    """Make the error of a commit."""
    return CommitError(Fault(code, ErrorKind.RETRYABLE, code))


class ReadOnce(Message):
    """A message whose headers can be read once: a second time the client gives what may crash the process."""

    is_read = False

    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """Give none."""
        assert not self.is_read
        self.is_read = True
        return []


def read_once(number: int, offset: int) -> UnreadRecord:
    """Make the message of a record."""
    return ReadOnce(topic="t", partition=number, offset=offset, key=b"k", value=b"v", timestamp=(1, 0))


class ScriptedConsumer:
    """Assigns partitions, gives one batch a poll, then asks its poller to finish.

    What comes is told by offsets of partition 0, and by (partition, offset).
    """

    def __init__(
        self,
        batches: list[list[int | tuple[int, int]]],
        *,
        unanswered: KafkaClientError | None = None,
        refusals: Iterable[CommitError] = (),
    ) -> None:
        self._batches = [[(0, each) if isinstance(each, int) else each for each in batch] for batch in batches]
        self._numbers = sorted({0}.union(number for batch in self._batches for number, _ in batch))
        self._unanswered = unanswered
        self._refusals = iter(refusals)
        self._assigned = False
        self.committed_now: list[dict[int, Position]] = []
        self.sought: list[int] = []
        self.told: list[str] = []
        self.poller: Poller
        self.turn: Callable[[], None]

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Give the next batch."""
        del most, timeout_seconds
        if not self._assigned:
            self._assigned = True
            self.poller.assigned(self._numbers)
        self.turn()
        if not self._batches:
            self.poller.finish()
            return []
        return [read_once(number, offset) for number, offset in self._batches.pop(0)]

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position]:
        """Tell what is committed, unless it is not to be had."""
        del timeout_seconds
        if self._unanswered is not None:
            raise self._unanswered
        return dict.fromkeys(partitions, COMMITTED)

    def watermarks(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, tuple[int, int]]:
        """Tell the ends of the log."""
        del timeout_seconds
        return dict.fromkeys(partitions, (0, 100))

    def pause(self, partitions: Sequence[int]) -> None:
        """Keep what rests."""
        self.told += [f"pause {number}" for number in partitions]

    def resume(self, partitions: Sequence[int]) -> None:
        """Keep what goes on."""
        self.told += [f"resume {number}" for number in partitions]

    def seek(self, partition: int, offset: int) -> None:
        """Keep where reading goes back to."""
        del partition
        self.sought.append(offset)

    def lag(self, partition: int, position: int) -> None:
        """Know nothing."""

    def is_member(self) -> bool:
        """Say no: the assignment tells."""
        return False

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Keep what is committed, or refuse it as the script says."""
        self.committed_now.append(dict(positions))
        refusal = next(self._refusals, None)
        if refusal is not None:
            raise refusal

    def close(self) -> None:
        """Do nothing."""


class Deck:
    """A crew that settles at once all but what it is told to leave open, and keeps which epoch it came in."""

    def __init__(self, left_open: frozenset[int] = frozenset()) -> None:
        self._left_open = left_open
        self.found: list[Found] = []
        self.epochs: list[Partition] = []
        self.settled: list[tuple[int, int]] = []

    def open_epochs(self, found: Sequence[Found]) -> list[Partition]:
        """Make partitions that are to be marked as open where something was found."""
        self.found.extend(found)
        partitions = [Partition(each.number, CompletedWindow(10)) for each in found]
        for each, partition in zip(found, partitions, strict=True):
            partition.committed = each.committed
        return partitions

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Keep the epoch."""
        self.epochs.extend(partitions)

    def receive(self, batches: list[tuple[Partition, list[Record]]]) -> None:
        """Settle what an open epoch delivers."""
        for partition, records in batches:
            for record in records:
                if partition.tracker.deliver(record.offset) and record.offset not in self._left_open:
                    partition.tracker.settle(record.offset)
                    partition.release(record)
                    self.settled.append((self.epochs.index(partition), record.offset))

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Do nothing."""

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Do nothing."""

    def commit_ended(self, positions: Mapping[Partition, Position], error: CommitError | None) -> None:
        """Do nothing."""

    def faulted(self, fault: Fault) -> None:
        """Do nothing."""


async def polled(
    consumer: ScriptedConsumer,
    deck: Deck,
    *,
    metrics: Metrics | None = None,
    settings: EngineSettings | None = None,
) -> None:
    """Run a poller to its end, one turn of the loop after each poll."""
    loop = asyncio.get_running_loop()

    poller = consumer.poller = Poller(
        lambda _: consumer,  # type: ignore[arg-type, return-value] # a double
        deck,
        loop,
        settings or EngineSettings(),
        EngineMeter(metrics),
    )
    consumer.turn = lambda: asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
    await asyncio.to_thread(poller.run)


async def test_offsets_that_go_back_begin_a_new_epoch() -> None:
    """P1: a topic that was made anew is read from its start; nothing is taken for delivered before, nothing skipped."""
    consumer, deck = ScriptedConsumer([[100, 101], [0, 1, 2]]), Deck()
    await polled(consumer, deck)
    old, new = deck.epochs
    assert old.closed
    assert [offset for epoch, offset in deck.settled if epoch == 1] == [0, 1, 2]
    assert new.position == 3
    assert new.completed is old.completed  # P4: an identity is the same, wherever it lies
    assert consumer.sought == []


async def test_a_log_cut_above_what_is_unsettled_is_read_from_there_again() -> None:
    """P1, P5: offsets 0 to 4 are delivered, 1 is open, the log is cut at 3: reading goes back to 1, nothing is committed past it."""
    consumer, deck = ScriptedConsumer([[0, 1, 2, 3, 4], [3, 4]]), Deck(frozenset({1}))
    await polled(consumer, deck)
    assert consumer.sought == [1]
    assert [positions for positions in consumer.committed_now if positions[0] != COMMITTED] == []


async def test_of_a_log_that_was_cut_nothing_is_taken_before_what_is_unsettled() -> None:
    """P1, P3, P5: what the same poll gave behind another partition's messages is of the old fetch too, and comes again."""
    consumer = ScriptedConsumer([[0, 1, 2, 3, 4, (1, 0)], [3, 4, (1, 1), 5, 6], [1, 2, 3, 4, 5, 6]])
    deck = Deck(frozenset({1}))
    await polled(consumer, deck)
    assert consumer.sought == [1]
    epoch = len(deck.epochs) - 1
    assert [offset for each, offset in deck.settled if each == epoch] == [2, 3, 4, 5, 6]
    assert deck.epochs[epoch].position == 1


async def test_an_assignment_is_told_what_the_owner_before_left() -> None:
    """P6, P11: what is committed and the ends of the log are known, and the mark is committed, before a record begins."""
    consumer, deck = ScriptedConsumer([]), Deck()
    await polled(consumer, deck)
    assert deck.found == [Found(0, COMMITTED, 0, 100)]
    assert consumer.committed_now == [{0: COMMITTED}]


async def test_positions_that_nobody_tells_do_not_stop_an_assignment() -> None:
    """P1, cases: commit-errors. Without an answer attempts may be forgotten, counted; the records run all the same."""
    metrics, unanswered = (
        Metrics(domain="test"),
        PositionsUnknownError("t", "what was committed", refusal("_TIMED_OUT").fault),
    )
    consumer, deck = ScriptedConsumer([[0, 1]], unanswered=unanswered), Deck()
    await polled(consumer, deck, metrics=metrics)
    assert deck.found == [Found(0)]
    assert deck.settled == [(0, 0), (0, 1)]
    assert metrics.value("commit_metadata_lost_total", reason="unanswered") == 1


async def test_a_refused_metadata_is_repeated_with_the_offset_alone() -> None:
    """P5, cases: commit-errors. What the broker will not keep costs knowledge of attempts, never the offset."""
    metrics = Metrics(domain="test")
    consumer = ScriptedConsumer([], refusals=[refusal("OFFSET_METADATA_TOO_LARGE")])
    await polled(consumer, Deck(), metrics=metrics)
    assert consumer.committed_now == [{0: COMMITTED}, {0: (COMMITTED[0], "")}]
    assert metrics.value("commit_metadata_lost_total", reason="refused") == 1


@pytest.mark.parametrize(
    "code", ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REQUEST_TIMED_OUT", "_STATE"]
)
async def test_a_commit_that_fails_at_an_assignment_stops_nothing(code: str) -> None:
    """P5, cases: commit-errors. It is counted, and the records of the partition run."""
    metrics = Metrics(domain="test")
    consumer, deck = ScriptedConsumer([[0]], refusals=[refusal(code)]), Deck()
    await polled(consumer, deck, metrics=metrics)
    assert metrics.value("commits_total", result="error") == 1
    assert deck.settled == [(0, 0)]


async def test_a_new_epoch_tells_the_client_anew_whether_it_rests() -> None:
    """P3, cases: pause-state. A partition that rested and comes back is told to go on, whatever the client remembers."""
    settings = EngineSettings(window_records=2)
    consumer, deck = ScriptedConsumer([[*range(10)], [], [0], []]), Deck(frozenset({0, 1}))
    await polled(consumer, deck, settings=settings)
    assert consumer.told == ["pause 0", "resume 0"]


async def test_a_partition_that_is_full_keeps_nothing_back_from_others() -> None:
    """P3: the client has one queue for all; what lies in it behind the messages of a full partition is handed over."""
    settings = EngineSettings(window_records=2)
    consumer, deck = ScriptedConsumer([[0, 1, 2, 3, 4, (1, 0), (1, 1)]]), Deck(frozenset({0, 1}))
    await polled(consumer, deck, settings=settings)
    assert [(each.number, each.records, len(each.ahead)) for each in deck.epochs] == [(0, 2, 3), (1, 2, 0)]
    assert all(each.braked for each in deck.epochs)


async def test_what_waited_is_handed_over_without_another_fetch() -> None:
    """P3: nothing stands still until the client has fetched again."""
    settings = EngineSettings(window_records=2)
    consumer, deck = ScriptedConsumer([[0, 1, 2, 3, 4], [], []]), Deck()
    await polled(consumer, deck, settings=settings)
    assert [offset for _, offset in deck.settled] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("partitions", "most"), [(0, 8_000), (1, 8_000), (4, 4_000), (16, 1_000), (1_000, 16)])
async def test_what_waits_is_bounded_for_all_partitions_together(partitions: int, most: int) -> None:
    """P3, cases: memory-backpressure. A member that owns many partitions keeps less of each."""
    poller = Poller(
        lambda _: ScriptedConsumer([]),  # type: ignore[arg-type, return-value] # a double
        Deck(),
        asyncio.get_running_loop(),
        EngineSettings(),
        EngineMeter(None),
    )
    poller._partitions = {number: Partition(number, CompletedWindow(1)) for number in range(partitions)}
    assert poller._most_ahead() == most
