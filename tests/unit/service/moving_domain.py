"""A domain whose hooks move between groups, in memory and in virtual time: real parts, engines, stages and take-overs."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast
from unittest import mock
from zlib import crc32

from hookline import Event
from hookline.contract import DeadLetter, encode_event
from hookline.hooks import Hooks
from hookline.service import Selection, Settings
from hookline.service._isolation import Isolation
from hookline.service._parts import PartMaker
from hookline.service._takeover import TakeOver
from hookline.telemetry import Metrics
from hookline.testing._kafka import MemoryReader, MemorySender, Store
from hookline.testing._life import Life
from hookline.testing._time import virtual_time
from hookline.testing._topic import Log
from tests.unit.service.fake_groups import PARTITIONS, FakeGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from hookline.consume import Delivery
    from hookline.kafka import GroupListener, Moment
    from hookline.service._parts import Part
    from hookline.testing._time import VirtualTime

NAMES = ("ci", "chat", "audit")
TOPIC = "orders-hook"
_SETTINGS: Mapping[str, Any] = {
    "domain": "orders",
    "kafka": {"common": {"bootstrap.servers": "127.0.0.1:1"}},
    "retry": {"initial_seconds": 1.0, "max_seconds": 4.0, "max_attempts": 50, "dependency_seconds": 10_000_000},
    "breaker": {"enabled": False},
    "guard": {"enabled": False},
    "start": "earliest",
}


class ProcessEndedError(Exception):
    """A process went down while it moved groups."""


class Moved:
    """A hook of the domain: for some events it needs a few tries, and for some it fails for good until it is mended."""

    def __init__(self, name: str, domain: MovingDomain) -> None:
        self.name = name
        self.isolation: str | None = None
        self.renamed_from: str | None = None
        self._domain = domain
        self.done = Counter[str]()
        self._tries = Counter[str]()

    async def handle(self, event: Event) -> None:
        """Be done with an event, or fail."""
        await asyncio.sleep(0.01)
        self._tries[event.id] += 1
        if self._domain.is_bad(self.name, event):
            raise ValueError("bad")
        if self._tries[event.id] <= self._domain.tries_of(self.name, event):
            raise TimeoutError("not yet")
        self.done[event.id] += 1


class _Groups(FakeGroups):
    """The groups of the domain, on its topic."""

    def __init__(self, topic: Log) -> None:
        super().__init__()
        self._topic = topic

    def offsets_at(self, topic: str, moment: Moment) -> dict[int, int]:
        """Tell the beginnings or the ends."""
        del topic
        return {number: 0 if moment == "earliest" else self._topic.ends[number] for number in PARTITIONS}

    def _step(self, group: str) -> None:
        try:
            super()._step(group)
        except SystemExit:
            raise ProcessEndedError from None


class _GroupLife(Life):
    """One engine of a process."""

    def __init__(self, part: Part, store: Store, settings: Any, time: VirtualTime) -> None:
        assert part.stage is not None
        self._store, self._settings, self._time = store, settings, time
        self._wake = asyncio.Event()
        self.stage, self.engine = part.stage, part.engine


class MovingDomain:
    """A domain of three hooks, and one process after another.

    `rng` decides how hooks fare with each event; with `may_fail` some events are bad for some of them until `mend`.
    """

    def __init__(self, rng: Random, time: VirtualTime, *, may_fail: bool) -> None:
        self._time = time
        self._salt = rng.random()
        self._may_fail = may_fail
        self._is_mended = False
        self.topic, self.letters = Log(TOPIC, len(PARTITIONS)), Log(f"{TOPIC}_dlq", 1)
        self.groups = _Groups(self.topic)
        self.hooks = {name: Moved(name, self) for name in NAMES}
        self.events: list[Event] = []
        self._lives: dict[str, _GroupLife] = {}
        self._metrics = Metrics(domain="test")
        self._all = self._store("")
        self._redriven = 0

    @classmethod
    @contextmanager
    def open(cls, rng: Random, *, may_fail: bool) -> Iterator[Self]:
        """Give a domain in virtual time."""
        with virtual_time() as time:
            made = cls(rng, time, may_fail=may_fail)
            time.followers.append(made)
            try:
                yield made
            finally:
                time.followers.remove(made)

    # How hooks fare.

    def is_bad(self, hook: str, event: Event) -> bool:
        """Tell whether a hook fails for good with an event."""
        return self._may_fail and not self._is_mended and self._chance("bad", hook, event.version) < 0.2

    def tries_of(self, hook: str, event: Event) -> int:
        """Tell how often a hook fails before it is done with an event."""
        chance = self._chance("tries", hook, event.version)
        return int(chance * 20) if chance > 0.6 else 0

    def mend(self) -> None:
        """Let nothing be bad any more."""
        self._is_mended = True

    def _chance(self, *of: object) -> float:
        text = "/".join(map(str, (self._salt, *of)))
        return crc32(text.encode()) % 1_000 / 1_000

    def rename(self, name: str, *, former: str) -> None:
        """Call the hook of a former name otherwise, or as it was called then."""
        hook = self.hooks[former]
        hook.name, hook.renamed_from = name, former if name != former else None

    # What comes in.

    def publish(self, event: Event) -> None:
        """Put an event on the topic."""
        self._all.append(*encode_event(event))
        self._nudge()

    def publish_new(self, subject: str) -> None:
        """Put an event on the topic that was not there before."""
        self.events.append(Event.versioned(source="s", type="t", subject=subject, version=len(self.events) + 1))
        self.publish(self.events[-1])

    def republish(self, most: int) -> int:
        """Put dead letters back, the oldest first; tells how many."""
        records = self.letters.records[0][self._redriven : self._redriven + most]
        self._redriven += len(records)
        for record in records:
            letter = DeadLetter.from_record(record.key, record.value, record.headers)
            names = [failure.hook for failure in letter.failures] or None
            headers = letter.republished(hooks=names, operation="op", again=False)
            self._all.append(letter.key, letter.value, headers)
        self._nudge()
        return len(records)

    # Processes.

    async def begin(self, isolation: Mapping[str, Any], *, crash_after: int | None = None) -> None:
        """Begin a process, which moves groups first; raises ProcessEndedError when it goes down before it is through."""
        own = isolation.get("own", ())
        for name, hook in self.hooks.items():
            hook.isolation = "own" if name in own else None
        settings = Settings.model_validate(
            {**_SETTINGS, **{key: each for key, each in isolation.items() if key != "own"}}
        )
        resolver = Hooks({"*": list(self.hooks.values())})
        seats = Isolation(settings, resolver)
        self.groups.crash_after = crash_after
        TakeOver(TOPIC, seats).run(self.groups)
        self.groups.crash_after = None
        with mock.patch.multiple(
            "hookline.service._parts", GroupConsumer=self._consumer, TopicReader=lambda _: MemoryReader(self._all)
        ):
            maker = PartMaker(
                settings, seats, resolver, client=settings.client_config(), producer=cast("Any", MemorySender(self._all)),
                metrics=self._metrics,
            )  # fmt: skip
            parts = maker.make(Selection(), _Nobody())[:-1]
        engine = maker._engine_settings
        self._lives = {part.group: _GroupLife(part, self._store(part.group), engine, self._time) for part in parts}
        for life in self._lives.values():
            await life.start()

    async def live(self, seconds: float) -> None:
        """Let time pass."""
        await self._time.let_pass(self._time.now + seconds, lambda: False)
        self._check()

    async def settle(self) -> None:
        """Let time pass until all groups have committed to the end."""
        is_settled = await self._time.let_pass(self._time.now + 86_400, self._is_settled)
        self._check()
        assert is_settled, {group: life._store.uncommitted() for group, life in self._lives.items()}

    async def stop(self) -> None:
        """Let the process stop in order."""
        lives, self._lives = self._lives, {}
        for life in lives.values():
            await life.stop(5.0)

    async def crash(self) -> None:
        """Let the process go down."""
        lives, self._lives = self._lives, {}
        for life in lives.values():
            await life.crash()

    def moved(self) -> None:
        """Let the consumers look again."""
        self._nudge()

    def is_at_work(self) -> bool:
        """Tell that nobody waits for a socket."""
        return False

    def _is_settled(self) -> bool:
        self._check()
        return not any(life._store.uncommitted() for life in self._lives.values())

    def _check(self) -> None:
        for life in self._lives.values():
            life.check()

    def _nudge(self) -> None:
        for life in self._lives.values():
            life.nudge()

    def _store(self, group: str) -> Store:
        positions = self.groups.groups.setdefault(group, {}) if group else {}
        return Store(self.topic, self.letters, self._time.wall, positions)

    def _consumer(self, _: object, group: str, __: str, listener: GroupListener) -> Any:
        return self._lives[group]._open_consumer(listener)


class _Nobody:
    """Stands for the reconciler, which is not run."""

    def identify(self, _: Delivery) -> None:
        """Know nothing."""

    def handle(self, _: Delivery) -> None:
        """Do nothing."""

    def decide(self, _: Delivery, error: BaseException) -> Any:
        """Never be asked."""
        raise error
