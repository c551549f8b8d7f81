"""Members of a group that come, go and come back, in every group protocol: order kept, nothing lost, nothing run twice."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pytest
from confluent_kafka import KafkaError

from hookline.consume import Delivery, EngineSettings, RetryPolicy
from hookline.kafka import ERROR_KINDS, ClientConfig, CommitError, Fault, GroupConsumer
from hookline.telemetry import Metrics
from tests.support.engine import ScriptedHandler, running, until_settled
from tests.support.kafka import TestBroker
from tests.support.ports import free_port
from tests.support.positions import positions
from tests.support.waiting import eventually, eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from hookline.kafka import Position
    from tests.support.engine import Rig
    from tests.support.kafka import RealKafka

_SECONDS = 60
_SUBJECTS = 20
_PATIENT = RetryPolicy(max_attempts=100, initial_seconds=1_000, max_seconds=1_000)
_OPTIONS = {
    "cooperative-sticky": {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"},
    "consumer": {"group.protocol": "consumer"},
}
_PROTOCOLS = pytest.mark.parametrize("protocol", list(_OPTIONS))


@dataclass
class Pool:
    """A topic, its group, and what the members of the group ran, in order."""

    broker: TestBroker
    topic: str
    group: str
    options: Mapping[str, str]
    ran: list[int] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def send(self, numbers: range, *, partition: int | None = None) -> None:
        """Write a record for each number; those of one subject are a number of subjects apart."""
        for number in numbers:
            subject = b"subject-%d" % (number % _SUBJECTS)
            self.broker.send(self.topic, subject, b"%d" % number, partition=partition)

    def write(self, is_over: threading.Event) -> int:
        """Write one number after another, never far ahead of what ran; gives how many."""

        def may_go_on() -> bool:
            return is_over.is_set() or written - len(self.ran) < 200

        written = 0
        while not is_over.is_set():
            eventually(may_go_on, _SECONDS, what="the members keep up")
            self.send(range(written, written + 1))
            written += 1
        return written

    async def work(self, delivery: Delivery) -> None:
        """Take a moment, and note that it ran to its end."""
        await asyncio.sleep(0.01)
        self.ran.append(_number(delivery))

    async def wait(self, delivery: Delivery) -> None:
        """Wait until the test says so, and note that it ran to its end."""
        await self.gate.wait()
        self.ran.append(_number(delivery))

    @asynccontextmanager
    async def member(
        self,
        act: Callable[[Delivery], Awaitable[None]],
        *,
        name: str = "",
        settings: EngineSettings | None = None,
        metrics: Metrics | None = None,
    ) -> AsyncIterator[Rig]:
        """Run a member of the group, a static one when it has a name."""
        options = {**self.options, **({"group.instance.id": name} if name else {})}
        async with running(
            self.broker, self.topic, ScriptedHandler(act), group=self.group, options=options, drain_seconds=1,
            settings=settings or EngineSettings(concurrency=4), metrics=metrics,
        ) as rig:  # fmt: skip
            yield rig

    async def until_ran(self, count: int) -> None:
        """Wait until so many have run to their end."""
        await eventually_async(lambda: len(self.ran) >= count, _SECONDS, what=f"{count} ran")

    async def until_settled(self) -> None:
        """Wait until all is committed."""
        await until_settled(self.broker, self.group, self.topic)

    def expect_once_in_order(self, numbers: range) -> None:
        """Check that each ran once, and those of a subject in their order."""
        assert sorted(self.ran) == list(numbers)
        for subject in range(_SUBJECTS):
            mine = [number for number in self.ran if number % _SUBJECTS == subject]
            assert mine == sorted(mine)


def _number(delivery: Delivery) -> int:
    return int(delivery.record.value or b"")


def _pool(kafka: RealKafka, protocol: str, *, partitions: int = 4) -> Pool:
    topic = kafka.fresh_topic(partitions=partitions)
    return Pool(TestBroker(kafka), topic, f"group-of-{topic}", _OPTIONS[protocol])


def _assigned(rig: Rig) -> set[int]:
    return {standing.partition for standing in rig.engine.standings()}


async def _until_shared(*rigs: Rig, partitions: int = 4) -> None:
    """Wait until each has partitions, and all of them together have all."""

    def are_shared() -> bool:
        shares = [_assigned(rig) for rig in rigs]
        return all(shares) and sum(map(len, shares)) == partitions == len(set().union(*shares))

    await eventually_async(are_shared, _SECONDS, what="the partitions are shared")


@_PROTOCOLS
async def test_members_join_leave_and_rejoin_under_load(real_kafka: RealKafka, protocol: str) -> None:
    """P1, P3, P5. Members come and go in good order while records are written: each runs once, in the order of its subject."""
    pool, is_over = _pool(real_kafka, protocol), threading.Event()
    settings = EngineSettings(concurrency=32)
    async with pool.member(pool.work, settings=settings) as stays:
        writing = asyncio.create_task(asyncio.to_thread(pool.write, is_over))
        for count in (2, 1):
            async with AsyncExitStack() as stack:
                members = [pool.member(pool.work, settings=settings) for _ in range(count)]
                others = [await stack.enter_async_context(member) for member in members]
                await _until_shared(stays, *others)
                await pool.until_ran(len(pool.ran) + 100)
        is_over.set()
        written = await writing
        await pool.until_settled()
    pool.expect_once_in_order(range(written))


async def test_twenty_times_opened_and_closed_under_load(broker: TestBroker) -> None:
    """P1, P5, cases: commit-highest-seen. Whatever was fetched and not begun when a member closes, with one slot, is not lost."""
    pool = Pool(broker, broker.topic(), "open-and-close", {})
    for cycle in range(20):
        await asyncio.to_thread(pool.send, range(cycle * 20, cycle * 20 + 20))
        async with pool.member(pool.work, settings=EngineSettings(concurrency=1)):
            await pool.until_ran(cycle * 10 + 10)
        where = await asyncio.to_thread(positions, broker, pool.group, pool.topic)
        assert sum(offset for offset, _ in where.values()) <= len(pool.ran)
    async with pool.member(pool.work):
        await pool.until_settled()
    pool.expect_once_in_order(range(400))


@_PROTOCOLS
async def test_a_partition_that_rested_goes_on_when_it_comes_back(real_kafka: RealKafka, protocol: str) -> None:
    """P3, cases: pause-state. Full and resting, it leaves for another member and returns: it rests again, then all arrives."""
    pool = _pool(real_kafka, protocol)
    settings = EngineSettings(window_records=4, revoke_seconds=0.1)
    for partition in range(4):
        pool.send(range(partition, 200, 4), partition=partition)
    async with pool.member(pool.wait, settings=settings) as first:
        await _until_resting(first, 4)
        async with pool.member(pool.wait, settings=settings) as second:
            await _until_shared(first, second)
            await _until_resting(first, len(_assigned(first)))
            await _until_resting(second, len(_assigned(second)))
        await eventually_async(lambda: len(_assigned(first)) == 4, _SECONDS, what="all came back")
        await _until_resting(first, 4)
        pool.gate.set()
        await pool.until_settled()
        assert first.engine.load().paused_partitions == 0
    pool.expect_once_in_order(range(200))


@_PROTOCOLS
async def test_a_record_in_backoff_moves_with_its_attempts(real_kafka: RealKafka, protocol: str) -> None:
    """P5, P6, P8, cases: rebalance-during-retry-drops.

    A rebalance in the middle of its wait: it is neither dead-lettered nor committed nor charged, the old owner forgets
    it, and the new one begins at its offset, with its next attempt.
    """
    pool = _pool(real_kafka, protocol)
    dead = pool.broker.topic(partitions=1)
    attempts: dict[str, list[tuple[int, int]]] = {"first": [], "second": []}

    async def fail(name: str, delivery: Delivery) -> None:
        attempts[name].append((delivery.record.partition, delivery.attempt))
        raise TimeoutError("always")

    run = partial(running, pool.broker, pool.topic, group=pool.group, dead_letters=dead, options=dict(pool.options))
    for partition in range(4):
        pool.send(range(partition, partition + 1), partition=partition)
    async with run(ScriptedHandler(partial(fail, "first"), _PATIENT)) as first:
        await eventually_async(lambda: len(first.watcher.outcomes) == 4, _SECONDS, what="one attempt each")
        async with run(ScriptedHandler(partial(fail, "second"), _PATIENT)) as second:
            await _until_shared(first, second)
            moved = _assigned(second)
            await eventually_async(lambda: len(second.watcher.outcomes) == len(moved), _SECONDS, what="they run there")
            assert first.engine.load().retrying == 4 - len(moved)
            assert sorted(attempts["second"]) == [(partition, 2) for partition in sorted(moved)]
            assert sorted(attempts["first"]) == [(partition, 1) for partition in range(4)]
    where = await asyncio.to_thread(positions, pool.broker, pool.group, pool.topic)
    assert [offset for offset, _ in where.values()] == [0] * 4
    assert pool.broker.read(dead) == []


@_PROTOCOLS
async def test_a_subject_of_a_topic_that_grows_has_a_lane_in_each_partition(
    real_kafka: RealKafka, protocol: str
) -> None:
    """P3, cases: partitions-and-keys. The partitioner moves it while its records run: order is of a partition, none is lost."""
    pool = _pool(real_kafka, protocol)
    pool.options = {**pool.options, "topic.metadata.refresh.interval.ms": "500"}
    before, behind = range(0, 5 * _SUBJECTS, _SUBJECTS), range(5 * _SUBJECTS, 10 * _SUBJECTS, _SUBJECTS)
    async with pool.member(pool.wait) as rig:
        await asyncio.to_thread(pool.send, before, partition=1)
        await _until_shared(rig)
        await asyncio.to_thread(real_kafka.grow, pool.topic, 8)
        await _until_shared(rig, partitions=8)
        pool.broker = TestBroker(real_kafka)  # its producer knows the new partitions
        await asyncio.to_thread(pool.send, behind, partition=5)
        await eventually_async(lambda: rig.engine.load().running == 2, _SECONDS, what="both lanes run")
        pool.gate.set()
        await pool.until_settled()
    assert [number for number in pool.ran if number in before] == list(before)
    assert [number for number in pool.ran if number in behind] == list(behind)
    assert len(pool.ran) == 10


@_PROTOCOLS
async def test_a_static_member_keeps_its_partitions_over_a_restart(real_kafka: RealKafka, protocol: str) -> None:
    """P3, P5. A static member does not leave when it closes: back within its session it goes on alone, without a rebalance.

    Away for longer, its partitions move: so scaling down takes as long as a session.
    """
    pool, quiet = _pool(real_kafka, protocol), Metrics(domain="test")
    async with pool.member(pool.work, name="a", metrics=quiet) as stays:
        async with pool.member(pool.work, name="b") as goes:
            await _until_shared(stays, goes)
            share = _assigned(goes)
            await asyncio.to_thread(pool.send, range(100))
            await pool.until_settled()
        moves = _moves(quiet)
        await asyncio.to_thread(pool.send, range(100, 200))
        async with pool.member(pool.work, name="b") as back:
            await pool.until_settled()
            assert _assigned(back) == share
            assert _moves(quiet) == moves
        await asyncio.to_thread(pool.send, range(200, 300))
        await eventually_async(lambda: len(_assigned(stays)) == 4, _SECONDS, what="its session is over")
        await pool.until_settled()
    pool.expect_once_in_order(range(300))


class Refused(GroupConsumer):
    """A member whose commits are refused at first: some when they are begun, some when the broker answers."""

    code: ClassVar[str] = ""
    refusals: ClassVar[int] = 0

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Refuse by turns at once and later, four times."""
        if self.refusals >= 4:
            super().commit(positions)
            return
        type(self).refusals += 1
        error = CommitError(Fault(self.code, ERROR_KINDS[self.code], "so the test says"))
        if self.refusals % 2:
            raise error
        self._listener.committed(error)


@dataclass
class _Ends:
    """A listener that keeps how commits ended."""

    ends: list[CommitError | None]

    def committed(self, error: CommitError | None) -> None:
        """Keep it."""
        self.ends.append(error)

    def assigned(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    revoked = lost = assigned

    def faulted(self, fault: Fault) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    "code",
    [
        "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH", "_STATE",
        "REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
    ],
)  # fmt: skip
async def test_a_refused_commit_is_made_again(real_kafka: RealKafka, code: str) -> None:
    """P5, cases: commit-errors. Whatever the refusal says, the work goes on, it is counted, and the next commit makes up for it."""
    metrics = Metrics(domain="test")
    pool = _pool(real_kafka, "consumer")
    member = type("Refused", (Refused,), {"code": code, "refusals": 0})
    async with running(
        pool.broker, pool.topic, ScriptedHandler(pool.work), group=pool.group, metrics=metrics, member=member
    ):
        for numbers in (range(5), range(5, 10)):
            await asyncio.to_thread(pool.send, numbers)
            await pool.until_ran(numbers.stop)
        await pool.until_settled()
    pool.expect_once_in_order(range(10))
    assert metrics.value("commits_total", result="error") == 4


def test_a_commit_of_what_is_committed_already_is_no_error() -> None:
    """Cases: commit-errors. The client's word for it is success."""
    ends: list[CommitError | None] = []
    client = ClientConfig(common={"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    member = GroupConsumer(client, "g", "t", _Ends(ends))
    with closing(member):
        member._committed(KafkaError(KafkaError._NO_OFFSET), [])
        member._committed(KafkaError(KafkaError.REBALANCE_IN_PROGRESS), [])
    assert [error and error.fault.code for error in ends] == [None, "REBALANCE_IN_PROGRESS"]


async def _until_resting(rig: Rig, partitions: int) -> None:
    load = rig.engine.load
    await eventually_async(lambda: load().paused_partitions == partitions, _SECONDS, what="its partitions rest")


def _moves(metrics: Metrics) -> list[float | None]:
    return [metrics.value("rebalances_total", kind=kind) for kind in ("assigned", "revoked", "lost")]
