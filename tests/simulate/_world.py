"""The world of one history: processes, a fake Kafka, and what goes wrong."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

from hookline.testing._topic import Log
from tests.simulate._checks import Checks
from tests.simulate._group import Group
from tests.simulate._process import Process
from tests.simulate._publisher import Publisher
from tests.simulate._setup import LETTERS, SESSION_SECONDS, TOPIC

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from hookline.contract import DeadLetter
    from hookline.telemetry import Metrics
    from tests.simulate._clock import Clock
    from tests.simulate._setup import Setup

_ONE_AT_A_TIME = 0.2
_MANY = 1_000_000


class World:
    """Holds everything of a history, and decides what happens next."""

    def __init__(
        self, setup: Setup, clock: Clock, rng: random.Random, metrics: Metrics, trace: Callable[[str], None]
    ) -> None:
        self.setup = setup
        self.clock = clock
        self.rng = rng
        self.faults = setup.faults
        self.checks = Checks(setup, clock, trace)
        self.topic = Log(TOPIC, setup.partitions)
        self.letters = Log(LETTERS, 1)
        self.group = Group(setup.partitions, rng, self.checks, self.nudge)
        self.group.refuses, self.group.unheard = self.faults.commit_refused, self.faults.commit_unheard
        self.group.most_characters = self.faults.most_characters
        self.publisher = Publisher(self)
        self.processes: list[Process] = []
        self._dead: list[Process] = []
        self.began_at = clock.now
        self.is_faulty = True
        self._metrics = metrics
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._names = count(1)

    # Time.

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        heapq.heappush(self._agenda, (self.clock.now + seconds, next(self._numbers), act))

    def step(self, until: float) -> None:
        """Do one of the things that are due, or let the time pass until the next is, or until a moment."""
        acts, next_at = self._due()
        if acts:
            (acts[0] if len(acts) == 1 else self.rng.choice(acts))()
        else:
            self.clock.now = min(next_at, until)

    def block(self, process: Process, seconds: float) -> None:
        """Let the world go on while the consumer's thread of a process waits. Raises DeadError when it died meanwhile."""
        until = self.clock.now + seconds
        while self.clock.now < until or process.is_frozen:
            self.step(until if self.clock.now < until else self.clock.now + 1.0)
            process.require_alive()
        process.require_alive()

    def run(self, seconds: float, is_over: Callable[[], bool]) -> None:
        """Run until something is so, at most so long."""
        until = self.clock.now + seconds
        while self.clock.now < until and self.checks.violation is None and not is_over():
            self.step(until)

    def _due(self) -> tuple[list[Callable[[], None]], float]:
        now, next_at = self.clock.now, self.clock.now + 3_600.0
        acts: list[Callable[[], None]] = []
        if self._agenda:
            next_at = self._agenda[0][0]
            if next_at <= now:
                acts.append(self._act)
        for process in self.processes:
            if process.is_frozen:
                continue
            loop_at = process.loop.due_at()
            if loop_at is not None and loop_at < next_at:
                next_at = loop_at
            if loop_at is not None and loop_at <= now:
                acts.append(process.turn)
            poll_at = None if process.is_polling else process.poll_at
            if poll_at is not None and poll_at < next_at:
                next_at = poll_at
            if poll_at is not None and poll_at <= now:
                acts.append(process.poll)
        return acts, next_at

    def nudge(self) -> None:
        """Let every process poll soon: the topic or the group has changed."""
        for process in self.processes:
            process.nudge()

    def _act(self) -> None:
        heapq.heappop(self._agenda)[2]()

    def batch(self) -> int:
        """Tell how many callbacks a loop runs before another has its turn."""
        return 1 if self.rng.random() < _ONE_AT_A_TIME else _MANY

    # Chance and faults.

    def happens(self, chance: float) -> bool:
        """Tell whether something goes wrong now."""
        return self.is_faulty and chance > 0.0 and self.rng.random() < chance

    def letters_are_out(self) -> bool:
        """Tell whether the dead-letter topic is away."""
        elapsed = self.clock.now - self.began_at
        return self.is_faulty and any(start <= elapsed < end for start, end in self.faults.letter_outages)

    def hook_is_out(self, hook: str) -> bool:
        """Tell whether the dependency of a hook is away."""
        elapsed = self.clock.now - self.began_at
        return self.is_faulty and any(
            name == hook and start <= elapsed < end for name, start, end in self.faults.hook_outages
        )

    def stop_faults(self) -> None:
        """Let nothing go wrong any more, but for killer events."""
        self.is_faulty = False
        self.group.refuses = self.group.unheard = 0.0
        self.group.most_characters = None
        for process in self.processes:
            self._thaw(process)

    def letter_came(self, letter: DeadLetter) -> None:
        """Republish a dead letter, now and then."""
        if self.is_faulty and self.rng.random() < 0.3:
            self.after(self.rng.uniform(0.01, 1.0), lambda: self.publisher.republish(letter))

    # Processes.

    def start(self) -> None:
        """Start a process."""
        self.processes.append(Process(f"p{next(self._names)}", self, self._metrics))

    def died(self, process: Process) -> None:
        """Start another in the place of one that crashed; the group notices after a while."""
        self.processes.remove(process)
        self._dead.append(process)
        self.after(self.rng.uniform(0.1, SESSION_SECONDS), lambda: self.group.leave(process.member))
        self.after(self.rng.uniform(0.05, 0.5), self.start)

    def ended(self, process: Process) -> None:
        """Forget a process that has ended in order."""
        self.processes.remove(process)

    def crash_one(self) -> None:
        """Drop a process without a word."""
        self._any(lambda process: process.crash("by chance"))

    def freeze_one(self) -> None:
        """Stop a process in the middle of whatever it does, perhaps for longer than its session."""
        self._any(self._freeze)

    def evict_one(self) -> None:
        """Put a member out that runs on: its heartbeats did not come through."""
        self._any(lambda process: self.group.leave(process.member))

    def restart_one(self) -> None:
        """Stop a process in order and start another."""
        self._any(self._restart)

    def rebalance(self) -> None:
        """Move partitions for no reason."""
        self.group.rebalance(shuffled=True)

    def _any(self, act: Callable[[Process], None]) -> None:
        candidates = [process for process in self.processes if self.is_faulty and not process.is_frozen]
        if candidates:
            act(self.rng.choice(candidates))

    def _freeze(self, process: Process) -> None:
        self.checks.trace(f"{process.name} is frozen")
        process.is_frozen = True
        self.after(SESSION_SECONDS, lambda: self._miss(process))
        self.after(self.rng.uniform(0.1, 2 * SESSION_SECONDS), lambda: self._thaw(process))

    def _miss(self, process: Process) -> None:
        if process.is_frozen:
            self.group.leave(process.member)

    def _thaw(self, process: Process) -> None:
        if not process.is_frozen:
            return
        self.checks.trace(f"{process.name} goes on")
        process.is_frozen = False
        process.recall_broke()  # its time may have passed

    def _restart(self, process: Process) -> None:
        process.ask_to_stop()
        self.after(self.rng.uniform(0.0, 1.0), self.start)

    def dispose(self) -> None:
        """End what is left of all processes, with nothing of it counting."""
        self.checks = Checks(self.setup, self.clock, lambda _: None)
        for process in (*self._dead, *self.processes):
            process.is_alive = False
            process.loop.dispose()
