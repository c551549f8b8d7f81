"""One process of a stage, from its start to its end: the real stage and the real engine, on a Kafka in memory."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Any, cast

from hookline.consume import DeadLetterWriter, Engine, EngineMeter, MeteredObserver, Observers, Recollection
from hookline.hooks import Stage

from ._driving import note_closed, open_by_hand
from ._kafka import MemoryConsumer, MemoryReader, MemorySender

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.consume import EngineSettings, Observer
    from hookline.hooks import Resolver, StagePolicy
    from hookline.kafka import GroupListener
    from hookline.telemetry import Metrics

    from ._kafka import Store
    from ._time import VirtualTime

_LEAVE_SECONDS = 3.0


class Life:
    """A process that can be stopped in order, lose its partitions, or be dropped without a word."""

    def __init__(
        self,
        *,
        store: Store,
        group: str,
        resolver: Resolver,
        policy: StagePolicy,
        settings: EngineSettings,
        metrics: Metrics,
        observer: Observer,
        time: VirtualTime,
    ) -> None:
        self._store = store
        self._settings = settings
        self._time = time
        self._wake = asyncio.Event()
        self.stage = Stage(resolver, policy, metrics, leave_seconds=_LEAVE_SECONDS)
        self.engine = Engine(
            open_consumer=cast("Any", self._open_consumer),
            group=group,
            handler=self.stage,
            dead_letters=DeadLetterWriter(MemorySender(store), store.letters.name),
            settings=settings,
            observer=Observers(MeteredObserver(metrics), observer),
            meter=EngineMeter(metrics),
            memory=self.stage.memory,
            recollection=Recollection(
                cast("Any", MemoryReader(store)), store.topic.name, store.letters.name, self.stage.memory
            ),
        )

    async def start(self) -> None:
        """Enter the hooks and begin to consume."""
        await self.stage.__aenter__()
        self._poller = cast("Any", open_by_hand(self.engine))
        self._poller.commit = self._and_nudge(self._poller.commit)
        self._poller.finish = self._and_nudge(self._poller.finish)
        self._poller._rest = _rest
        loop = asyncio.get_running_loop()
        self._turning = loop.create_task(self._turn(), name="hookline.testing: poller")
        self._breaking = loop.create_task(self.engine.wait(), name="hookline.testing: engine")

    def nudge(self) -> None:
        """Give the poller a turn: there may be something for it."""
        self._wake.set()

    def check(self) -> None:
        """Raise what broke the engine, if something did."""
        for part in (self._turning, self._breaking):
            if part.done() and not part.cancelled():
                part.result()

    async def stop(self, drain_seconds: float) -> None:
        """Stop as a process does that is asked to."""
        await self._run(self.engine.stop(drain_seconds))
        await self._run(self.stage.__aexit__())
        await self._end(self._turning, self._breaking)

    async def revoke(self) -> None:
        """Lose all partitions in order, as at a rebalance, and get them back."""
        leaving = self._poller._remove(self._consumer.take())
        await self._run(self.engine.drain(leaving, self._settings.revoke_seconds))
        for partition in leaving:
            partition.closing = partition.closed = True
        self._poller._commit_finals(leaving)
        self._consumer.grant()
        self.nudge()

    async def crash(self) -> None:
        """Be dropped: nothing is committed, told or written from now on."""
        engine = cast("Any", self.engine)
        await self._end(self._turning, self._breaking, *engine._chores)
        engine.forget(list(engine._partitions.values()))
        await self._run(self.stage.__aexit__())
        await self._time.quiet()

    def _open_consumer(self, listener: GroupListener) -> MemoryConsumer:
        self._consumer = MemoryConsumer(self._store, self.nudge, listener)
        return self._consumer

    def _and_nudge(self, function: Callable[..., None]) -> Callable[..., None]:
        def nudging(*arguments: object) -> None:
            function(*arguments)
            self.nudge()

        return nudging

    async def _turn(self) -> None:
        """Do what the consumer's thread does, on the loop, whenever there may be something to do."""
        self._poller.open()
        while not self._poller._finishing.is_set():
            self._poller.turn()
            await self._wake.wait()
            self._wake.clear()
        self._poller.close()
        note_closed(self.engine)

    async def _run(self, work: Any) -> None:
        """Let something end, whatever time that takes."""
        task = asyncio.ensure_future(work)
        await self._time.let_pass(inf, task.done)
        await task

    async def _end(self, *tasks: asyncio.Task[None]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _rest(_: float) -> None:
    """Do not rest: time stands still."""
