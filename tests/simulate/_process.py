"""One process of a history: the real engine and stage on a loop of their own, and hooks by script."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hookline.consume import DeadLetterWriter, Engine, Observer, Recollection
from hookline.contract import MalformedRecordError
from hookline.errs import DEFAULT_CLASSIFIERS, Redactor, retryable_error
from hookline.hooks import Hooks, Stage, StagePolicy
from hookline.testing._driving import note_closed, open_by_hand
from tests.simulate._group import Member
from tests.simulate._kafka import FakeConsumer, FakeReader, FakeSender, fetch_of
from tests.simulate._loop import VirtualLoop
from tests.simulate._scripts import Act
from tests.simulate._setup import GROUP, HOOKS, LETTERS, LIMIT_SECONDS, RETRY, TOPIC

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Awaitable, Mapping

    from hookline import Event
    from hookline.consume import Delivery, GiveUp, Hold, Outcome, Retry
    from hookline.consume._poller import Poller
    from hookline.kafka import Position
    from hookline.telemetry import Metrics
    from tests.simulate._ledger import Run
    from tests.simulate._scripts import Step
    from tests.simulate._world import World


_POLL_SECONDS = 0.05
_IDLE_SECONDS = 0.4


class DeadError(BaseException):
    """The process is no more: unwinds what its consumer's thread did."""


class ScriptedHook:
    """A hook that does what the script of a record says."""

    timeout_seconds = LIMIT_SECONDS

    def __init__(self, name: str, world: World, process: Process) -> None:
        self.name = name
        self._world = world
        self._process = process

    async def handle(self, event: Event) -> None:
        """Play one run, and write down how it ended."""
        fetch = int(str(event.attributes["fetch"]))
        run = self._world.checks.started(fetch, self.name)
        self._process.runs.setdefault(fetch, []).append(run)
        number = run.sent.runs[self.name]
        run.sent.runs[self.name] += 1
        self._process.maybe_crash_here("as a hook begins")
        step = run.sent.scripts[self.name].step(number)
        try:
            if self._process.is_alive:
                await self._wait(step, run)
                self._act(step, run)
        finally:
            self._process.ended(run)
        if not self._process.is_alive:
            await asyncio.get_running_loop().create_future()

    async def _wait(self, step: Step, run: Run) -> None:
        try:
            if step.seconds:
                await asyncio.sleep(step.seconds)
        except asyncio.CancelledError:
            run.is_cancelled = True
            run.result = "cancelled"
            if not step.stays_seconds:
                raise
            await asyncio.sleep(step.stays_seconds)

    def _act(self, step: Step, run: Run) -> None:
        match step.act:
            case Act.RETURN | Act.SWALLOW:
                run.result = "ok"
            case Act.RAISE_RETRYABLE:
                run.result = "retryable"
                raise retryable_error(RuntimeError("simulated"))
            case Act.RAISE_PERMANENT:
                run.result = "permanent"
                raise ValueError("simulated")
            case Act.ASK_DEPENDENCY if self._world.hook_is_out(self.name):
                run.result = "outage"
                raise ConnectionError("simulated")
            case Act.KILL:
                self._process.crash(f"{self.name} kills it", kills=True)
            case _:
                run.result = "ok"
        self._process.maybe_crash_here("as a hook returns")


class WatchedStage(Stage):
    """The stage, with the beginnings and decisions of attempts written down."""

    process: Process

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Run the hooks."""
        fetch = fetch_of(delivery.record.headers)
        self.process.world.checks.began(fetch)
        self.process.runs[fetch] = []
        return super().handle(delivery)

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide."""
        decision = super().decide(delivery, error)
        fetch = fetch_of(delivery.record.headers)
        results = {run.hook: "timeout" if run.is_cancelled else run.result for run in self.process.runs[fetch]}
        assert not isinstance(error, MalformedRecordError)
        self.process.world.checks.weighed(fetch, results)
        return decision


class Watcher(Observer):
    """Writes down what is announced."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Check it."""
        del error
        self._process.nudge()
        self._world.checks.told(fetch_of(delivery.record.headers), outcome)


class Process:
    """A process that can be frozen, and dropped without a word."""

    def __init__(self, name: str, world: World, metrics: Metrics) -> None:
        self.name = name
        self.world = world
        self.member = Member(name)
        self.is_alive = True
        self.is_frozen = False
        self.is_polling = False
        self.is_over = False
        """Whether it has ended in order."""
        self.poll_at: float | None = None
        self.written_at = 0
        self.runs: dict[int, list[Run]] = {}
        self._partitions: set[int] = set()
        self._is_open = False
        report = partial(self._report, "unhandled")
        self.loop = VirtualLoop(world.clock, report)  # type: ignore[abstract] # what it lacks is never asked for
        self.stage = self._build_stage(metrics)
        self.engine = self._build_engine()
        self._poller: Poller | None = None
        self._asked_to_stop = asyncio.Event()
        self.main = self.loop.create_task(self._live())
        self.main.add_done_callback(self._ended)

    # The life of a process, on its loop.

    async def _live(self) -> None:
        async with self.stage:
            self._open_engine()
            breaks = self.loop.create_task(self.engine.wait())
            stops = self.loop.create_task(self._asked_to_stop.wait())
            await asyncio.wait((breaks, stops), return_when=asyncio.FIRST_COMPLETED)
            if breaks.done():
                breaks.result()
            await self.engine.stop(self.world.setup.engine.revoke_seconds)
            stops.cancel()
            await breaks

    def _open_engine(self) -> None:
        poller = cast("Any", open_by_hand(self.engine))
        poller._await = self._await
        poller._rest = partial(self.world.block, self)
        poller.commit = partial(self._write, poller.commit)
        self._poller = poller
        self.poll_at = self.world.clock.now

    def _write(self, commit: Any, positions: Any) -> None:
        self.written_at = self.world.clock.tick()
        commit(positions)
        self.nudge()

    def ask_to_stop(self) -> None:
        """Begin to stop in order, as SIGTERM does."""
        self.world.checks.trace(f"{self.name} is asked to stop")
        self.loop.call_soon(self._asked_to_stop.set)
        self.nudge()

    def _ended(self, main: asyncio.Task[None]) -> None:
        self.is_over = True
        if main.cancelled() or main.exception() is not None:
            self._report("broke", "cancelled" if main.cancelled() else repr(main.exception()))

    def _report(self, what: str, text: str) -> None:
        if self.is_alive:
            self.world.checks.violate("engine", f"{self.name} {what}: {text}")

    def turn(self) -> None:
        """Let its loop turn."""
        self.loop.turn(self.world.batch(), self._goes_on)
        if self.is_over and not self.loop.tasks() and self in self.world.processes:
            self.world.ended(self)

    def _goes_on(self) -> bool:
        return self.is_alive and not self.is_frozen

    # The consumer's thread.

    def poll(self) -> None:
        """Give the consumer's thread a turn."""
        poller = self._poller
        if poller is None:
            return
        self.is_polling = True
        try:
            self._turn(poller)
        except DeadError:
            self.poll_at = None
        finally:
            self.is_polling = False

    def _turn(self, poller: Poller) -> None:
        if not self._is_open:
            self._is_open = True
            poller.open()
        elif not poller._finishing.is_set():
            poller.turn()
        else:
            poller.close()
            self.poll_at = None
            self.loop.call_soon(note_closed, self.engine)

    def rest(self) -> None:
        """Let the next turn be due when something has happened: turns without any cost time and show nothing."""
        self.poll_at = self.world.clock.now + _IDLE_SECONDS

    def nudge(self) -> None:
        """Let the next turn be due soon: there is something for it."""
        if self.poll_at is not None and self.poll_at > self.world.clock.now + _POLL_SECONDS:
            self.poll_at = self.world.clock.now + self.world.rng.uniform(0.0, _POLL_SECONDS)

    def _await(self, future: concurrent.futures.Future[None], seconds: float) -> None:
        give_up = self.world.clock.now + seconds
        while not future.done() and self.world.clock.now < give_up:
            self.world.step(give_up)
            self.require_alive()
        self.world.block(self, 0.0)

    def require_alive(self) -> None:
        """Raise DeadError when the process is no more."""
        if not self.is_alive:
            raise DeadError

    # Its end without a word.

    def crash(self, why: str, *, kills: bool = False) -> None:
        """Drop it: nothing of it runs any more."""
        if not self.is_alive or self.is_over:
            return
        self.is_alive = False
        self.world.checks.trace(f"{self.name} crashes: {why}")
        for number in sorted(self._partitions):
            self.world.checks.closed(self.name, number, killed=kills)
        self._partitions.clear()
        self.world.died(self)

    def maybe_crash(self, why: str) -> None:
        """Crash by chance, on the consumer's thread."""
        if self.world.happens(self.world.faults.crash_point):
            self.crash(why)
            raise DeadError

    def maybe_crash_here(self, why: str) -> None:
        """Crash by chance, on the loop, which stops after this callback."""
        if self.world.happens(self.world.faults.crash_point):
            self.crash(why)

    # What its consumer and hooks tell.

    def opened(self, number: int) -> None:
        """Note that it is told of a partition."""
        self._partitions.add(number)
        self.world.checks.opened(self.name, number)

    def closed(self, number: int) -> None:
        """Note that it is told the end of an epoch."""
        if number in self._partitions:
            self._partitions.discard(number)
            self.world.checks.closed(self.name, number)

    def forgot(self, number: int, *, recalls: bool) -> None:
        """Note that it could not read what the owner before left."""
        self.world.checks.forgot(self.name, number, recalls=recalls)

    def fetched(self, number: int, offset: int) -> int:
        """Note a delivery."""
        return self.world.checks.fetched(self.name, number, offset)

    def recall_broke(self) -> None:
        """Note that identities may be forgotten."""
        for number in self._partitions:
            self.world.checks.epochs[self.name, number].recall_is_sound = False

    def sealed(self, positions: Mapping[int, Position]) -> None:
        """Note a commit that was answered while its thread waited: the last one of an epoch tells its end."""
        for number in positions:
            if epoch := self.world.checks.epochs.get((self.name, number)):
                epoch.is_sealed = bool(epoch.delivered)

    def ended(self, run: Run) -> None:
        """Note how a run ended."""
        self.nudge()
        if self.is_alive:
            self.world.checks.ended(run, run.result)

    def leftovers(self) -> list[str]:
        """Name what an idle engine should not hold."""
        engine = cast("Any", self.engine)
        left = [f"tasks {engine._scheduler._tasks}"] if engine._scheduler._tasks else []
        left += [f"slots {engine._scheduler._slots}"] if engine._scheduler._slots else []
        for each in engine._partitions.values():
            held = (
                each.lanes,
                each.active,
                each.begun,
                each.twins,
                each.busy,
                each.records,
                each.size_bytes,
                each.held,
                each.suspects,
            )
            left += [f"partition {each.number}: {held}"] if any(held) else []
        return left

    def _build_stage(self, metrics: Metrics) -> WatchedStage:
        alpha, beta, gamma = (ScriptedHook(name, self.world, self) for name in HOOKS)
        hooks = Hooks({"*": [alpha], "*.2": [beta], "*.3": [beta, gamma]})
        policy = StagePolicy(retry=RETRY, classifiers=DEFAULT_CLASSIFIERS, redactor=Redactor())
        stage = WatchedStage(hooks, policy, metrics)
        stage.process = self
        return stage

    def _build_engine(self) -> Engine:
        reader = cast("Any", FakeReader(self.world, self))
        return Engine(
            open_consumer=cast("Any", partial(FakeConsumer, self.world, self)),
            group=GROUP,
            handler=self.stage,
            dead_letters=DeadLetterWriter(FakeSender(self.world, self), LETTERS),
            settings=self.world.setup.engine,
            observer=Watcher(self.world, self),
            memory=self.stage.memory,
            recollection=Recollection(reader, TOPIC, LETTERS, self.stage.memory),
        )
