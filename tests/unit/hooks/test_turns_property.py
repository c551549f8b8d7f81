"""Line, limits, breaker, guard and gates of hooks together, whatever happens in whatever order, in a time of their own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.consume import Hold, Retry
from hookline.contract import Event
from hookline.errs import HttpStatusError
from hookline.hooks import BreakerPolicy, Gate, Gates, GuardPolicy, HookPolicy, Hooks
from hookline.hooks._work import Work
from hookline.testing._time import virtual_time
from tests.support.hooks import QUICK, attempt, delivery_of, stage_of

if TYPE_CHECKING:
    from hookline.consume import Delivery
    from hookline.hooks import Stage
    from hookline.testing._time import VirtualTime

NAMES: Final = ("a", "b")
SUBJECTS: Final = 6
BREAKER: Final = BreakerPolicy(subjects=3, probe_seconds=2.0, max_probe_seconds=8.0)
GUARD: Final = GuardPolicy(outcomes=6, subjects=3)
TICK_SECONDS: Final = 1.0
LONG_SECONDS: Final = 1_000.0
A_MOMENT: Final = 1e-5

Step: TypeAlias = "tuple[str, int, float]"
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["come", "come", "come", "pass", "pass", "up", "away", "hang", "broken", "close", "open", "cut"]
        ),
        st.integers(0, SUBJECTS - 1),
        st.sampled_from([0.0, 0.1, 0.7, 3.0, 40.0]),
    ),
    max_size=60,
)
policies = st.builds(HookPolicy, concurrency=st.sampled_from([None, 1, 2]), rate=st.sampled_from([None, 0.5, 3.0]))


@dataclass
class Watched:
    """A hook that takes its time and then does what its receiver does; it notes what is to be bounded."""

    name: str
    policy: HookPolicy
    time: VirtualTime
    state: str = "up"
    running: int = 0
    began: list[float] = field(default_factory=list)
    versions: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    async def handle(self, event: Event) -> None:
        """Run."""
        self.running += 1
        self.began.append(self.time.now)
        self.versions[event.subject].append(event.version)
        assert self.policy.concurrency is None or self.running <= self.policy.concurrency
        try:
            await asyncio.sleep(0.3)
        finally:
            self.running -= 1
        if self.state != "up":
            raise self._error()

    def _error(self) -> BaseException:
        if self.state == "broken":
            return KeyError("bug")
        return HttpStatusError(503, host="code-host")


class Lanes:
    """The engine's part in small: subjects run one after another, and rest as they are told."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.queues: dict[str, list[Event]] = defaultdict(list)
        self.running: dict[str, tuple[Delivery, asyncio.Task[None]]] = {}
        self.versions: dict[str, int] = defaultdict(int)
        self.ended = 0

    def come(self, subject: str) -> None:
        """Take an event."""
        self.versions[subject] += 1
        self.queues[subject].append(
            Event.versioned(source="s", type="batch.failed", subject=subject, version=self.versions[subject])
        )
        if subject not in self.running:
            self._begin(subject)

    def cut(self, subject: str) -> None:
        """Take the subject's partition away and give it back."""
        if subject in self.running:
            delivery, task = self.running[subject]
            delivery.cut_off = True
            delivery.note_waiting(None)
            task.cancel()
            self._begin(subject)

    def _begin(self, subject: str) -> None:
        delivery = delivery_of(self.queues[subject][0])
        self.running[subject] = delivery, asyncio.create_task(self._run(subject, delivery))

    async def _run(self, subject: str, delivery: Delivery) -> None:
        while isinstance(outcome := await attempt(self.stage, delivery), Retry | Hold):
            assert isinstance(delivery.progress, Work)
            assert all(run.charged == 0 for run in delivery.progress.pending())
            called = asyncio.Event()
            delivery.note_waiting(called.set)
            try:
                async with asyncio.timeout(outcome.delay_seconds):
                    await called.wait()
            except TimeoutError:
                pass
            delivery.note_waiting(None)
        self.ended += 1
        self.queues[subject].pop(0)
        if self.queues[subject]:
            self._begin(subject)
        else:
            del self.running[subject]


class World:
    """A stage with two hooks, their receivers, and the events of some subjects."""

    def __init__(self, stage: Stage, time: VirtualTime, hooks: list[Watched], gates: Gates) -> None:
        self.stage = stage
        self.time = time
        self.hooks = hooks
        self.gates = gates
        self.lanes = Lanes(stage)
        self.cut_at = -TICK_SECONDS

    async def do(self, step: Step) -> None:
        """Let one thing happen, and hold that nobody is stranded then."""
        what, number, seconds = step
        subject, hook = f"s{number}", self.hooks[number % len(self.hooks)]
        gate = Gate("test", ("", *NAMES)[number % 3], subject if number > 2 else "", "", "ada", 0)
        match what:
            case "come":
                self.lanes.come(subject)
            case "close":
                self.gates.close(gate)
            case "open":
                self.gates.open(gate.key)
            case "cut":
                self.cut_at = self.time.now
                self.lanes.cut(subject)
            case "pass":
                await self.time.let_pass(self.time.now + seconds, lambda: False)
            case state:
                hook.state = state
        await self.time.quiet()
        self.check()

    def check(self) -> None:
        """Hold that whoever waits does so for a reason.

        Who was called and cut off is followed within a tick, and so does the next probe follow the moment when it may.
        """
        for _, task in self.lanes.running.values():
            assert not task.done() or task.result() is None
        if self.time.now <= self.cut_at + TICK_SECONDS:
            return
        admission = self.stage._admission
        for limits, _ in admission._limits.values():
            may_begin = limits.line.count() and admission._room(limits, self.time.now)
            assert not may_begin or limits.breaker.may_probe(self.time.now - TICK_SECONDS) is False

    async def mend(self) -> None:
        """Mend all receivers and open all gates until everything has ended."""
        for hook in self.hooks:
            hook.state = "up"
        self.gates.replace_all([])
        until = self.time.now + LONG_SECONDS
        assert await self.time.let_pass(until, lambda: not self.lanes.running)
        assert self.lanes.ended == sum(self.lanes.versions.values())
        for hook in self.hooks:
            gap_seconds = 0.0 if hook.policy.rate is None else 1 / hook.policy.rate
            assert all(later - earlier >= gap_seconds - A_MOMENT for earlier, later in pairwise(hook.began))
            assert all(versions == sorted(versions) for versions in hook.versions.values())


async def play(both: tuple[HookPolicy, HookPolicy], script: list[Step]) -> None:
    """Play a script to its end."""
    with virtual_time() as time:
        hooks, gates = [Watched(name, policy, time) for name, policy in zip(NAMES, both, strict=True)], Gates("test")

        def close(name: str, reason: str) -> None:
            gates.close(Gate("test", name, "", reason, "hookline", 0))

        resolver = Hooks({"*": hooks})
        async with stage_of(
            resolver, retry=QUICK, breaker=BREAKER, guard=GUARD, gates=gates, close_gate=close
        ) as stage:
            world = World(stage, time, hooks, gates)
            for step in script:
                await world.do(step)
            await world.mend()


@settings(max_examples=60)
@given(st.tuples(policies, policies), steps)
def test_whatever_happens_nobody_is_stranded_and_no_bound_is_broken(
    both: tuple[HookPolicy, HookPolicy], script: list[Step]
) -> None:
    """P3, P8, P9: places and rates hold, subjects keep their order, who may begin begins, and once all is mended all ends.

    No attempt is charged, for nothing fails that counts by attempts.
    """
    asyncio.run(play(both, script))
