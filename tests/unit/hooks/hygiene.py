"""Hooks that misbehave, and a stage on a scheduler that runs them among others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

from hookline.consume import DeadLetterWriter, EngineMeter, EngineSettings, EngineStatus
from hookline.consume._burial import Undertaker
from hookline.consume._dedupe import CompletedWindow
from hookline.consume._partition import Partition
from hookline.consume._scheduler import Scheduler
from hookline.contract import DeadLetter, Event, Headers, MalformedRecordError, encode_event
from hookline.errs import DEFAULT_CLASSIFIERS, HookErrorGroup, Redactor, user_error
from hookline.hooks import Hook, Hooks, Stage, StagePolicy
from hookline.hooks._doors import HookNotReadyError
from hookline.kafka import Acknowledgement, Record
from hookline.telemetry import Metrics
from tests.support.engine import Watcher
from tests.support.hooks import QUICK, event_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

Raw: TypeAlias = tuple[bytes | None, bytes | None, Headers]
"""Key, value and headers of a record."""


class Unprintable(Exception):  # noqa: N818 - what is wrong with it is the point, here and below
    """Cannot be printed."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Exiting(Exception):  # noqa: N818
    """Ends the program when it is printed."""

    def __str__(self) -> str:
        raise SystemExit(0)


class Lying(Exception):  # noqa: N818
    """Will not say what it is, where it comes from and what it holds."""

    __class__ = property(lambda _: 1 // 0)
    __cause__ = property(lambda _: 1 // 0)
    __context__ = property(lambda _: 1 // 0)
    __traceback__ = property(lambda _: 1 // 0)
    with_traceback = errno = args = property(lambda _: 1 // 0)


class LyingCrash(BaseException):
    """The same, and no Exception."""

    __class__ = property(lambda _: 1 // 0)


class Unanswering(Exception):  # noqa: N818
    """Answers no question, not even for an attribute."""

    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class Falsy(Exception):  # noqa: N818
    """Is as good as nothing where somebody asks for its truth."""

    def __len__(self) -> int:
        return 0


class Undecided(Exception):  # noqa: N818
    """Will not be asked for its truth, compared, or put into a set."""

    def __bool__(self) -> bool:
        raise ZeroDivisionError

    def __eq__(self, _: object) -> bool:
        raise ZeroDivisionError

    def __hash__(self) -> int:
        raise ZeroDivisionError


class Circular(Exception):  # noqa: N818
    """Caused by itself."""

    def __init__(self) -> None:
        self.__cause__ = self


class Deep(Exception):  # noqa: N818
    """At the end of three thousand groups."""


def deep_group() -> BaseException:
    """Make a group of three thousand levels."""
    error: Exception = Deep()
    for _ in range(3_000):
        error = ExceptionGroup("g", [error])
    return error


def cyclic_group() -> BaseException:
    """Make a group whose member is caused by it."""
    member = ValueError("member")
    group = ExceptionGroup("g", [member])
    member.__cause__ = group
    return group


def raising(make: Callable[[], BaseException]) -> Callable[[Event], NoReturn]:
    """Make an act that raises."""

    def act(_: Event) -> NoReturn:
        raise make()

    return act


ERRORS: list[Callable[[], BaseException]] = [
    lambda: SystemExit(0),
    KeyboardInterrupt,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    lambda: asyncio.CancelledError("self-made"),
    lambda: BaseException("bare"),
    Unprintable,
    Exiting,
    Lying,
    LyingCrash,
    Unanswering,
    Falsy,
    Undecided,
    Circular,
    deep_group,
    cyclic_group,
    lambda: BaseExceptionGroup("", [asyncio.CancelledError()]),
    lambda: BaseExceptionGroup("", [SystemExit(0), KeyboardInterrupt()]),
    lambda: ExceptionGroup("", [Lying(), Unprintable(), Undecided()]),
    lambda: user_error(Lying()),
    lambda: HookNotReadyError("not mine to say"),
    lambda: MalformedRecordError("decode_error", "of something else"),
    lambda: HookErrorGroup("not mine to say", [ValueError()]),
]


def cancel_own_task(_: Event) -> None:
    """Cancel the task that runs this."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def cancel_and_raise(event: Event) -> None:
    """Cancel the task that runs this, and raise something else."""
    cancel_own_task(event)
    raise ValueError("cancelled, and more")


def act_of(event: Event) -> str:
    """Tell what an event asks of the bad hook."""
    return event.type.rpartition(".")[2]


@dataclass
class Bad:
    """A coroutine that does what it is asked for with events `do.misbehave`, and passes with others."""

    misbehave: Callable[[Event], object]
    waits: bool = False
    name: str = "bad"
    done: list[Event] = field(default_factory=list)

    async def handle(self, event: Event) -> None:
        """Misbehave, at once or when it has waited."""
        if self.waits:
            await asyncio.sleep(0)
        if act_of(event) == "misbehave":
            self.misbehave(event)
            await asyncio.sleep(0)  # where a cancellation strikes
        self.done.append(event)


@dataclass
class BadFunction:
    """The same as a plain function."""

    misbehave: Callable[[Event], object]
    name: str = "bad"
    done: list[Event] = field(default_factory=list)

    def handle(self, event: Event) -> None:
        """Misbehave."""
        if act_of(event) == "misbehave":
            self.misbehave(event)
        self.done.append(event)


@dataclass
class Fine:
    """A hook that looks at everything of an event and notes that it is done; `waits` turns of the loop before."""

    name: str
    waits: int = 0
    done: list[tuple[str, str, object]] = field(default_factory=list)

    async def handle(self, event: Event) -> None:
        """Look."""
        for _ in range(self.waits):
            await asyncio.sleep(0)
        self.done.append((event.subject, event.type, dict(event.payload)))


@dataclass
class Post:
    """A sender of dead letters that keeps them."""

    letters: list[DeadLetter] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Keep one."""
        self.records.append(Record(topic, 0, len(self.records), None, key, value, headers))
        self.letters.append(DeadLetter.from_record(key, value, headers))
        return Acknowledgement(topic, 0, len(self.letters) - 1)


class Works:
    """A stage on the engine's scheduler, without Kafka: what it was given, what became of it, and what broke."""

    def __init__(self, scheduler: Scheduler, partition: Partition, post: Post, broken: list[BaseException]) -> None:
        self._scheduler = scheduler
        self._partition = partition
        self.post = post
        self.broken = broken

    def feed(self, events: Sequence[Event]) -> None:
        """Give events as if they were fetched."""
        self.feed_raw([encode_event(event) for event in events])

    def feed_raw(self, raw: Sequence[Raw]) -> None:
        """Give records as if they were fetched."""
        first = self._partition.last_taken + 1
        records = [
            Record("test-hook", 0, place, None, key, value, headers)
            for place, (key, value, headers) in enumerate(raw, first)
        ]
        size = sum(record.size_bytes for record in records)
        self._partition.take(len(records), size, first + len(records) - 1)
        self._scheduler.receive(self._partition, records)
        self._scheduler.wake()

    async def until_settled(self) -> None:
        """Wait until all that was given is settled."""
        end = self._partition.last_taken + 1
        await eventually_async(lambda: self.broken or self._partition.position == end, 10, what="all is settled")


@asynccontextmanager
async def works(*hooks: object, redactor: Redactor | None = None) -> AsyncIterator[Works]:
    """Run hooks, all of them for every event, in a real stage on a real scheduler."""
    post, broken = Post(), list[BaseException]()
    policy = StagePolicy(retry=QUICK, classifiers=DEFAULT_CLASSIFIERS, redactor=redactor or Redactor())
    async with Stage(Hooks({"*": [cast("Hook", hook) for hook in hooks]}), policy, Metrics(domain="test")) as stage:
        undertaker = Undertaker(DeadLetterWriter(post, "test-hook_dlq"), "test-hook", EngineMeter(), EngineStatus())
        scheduler = Scheduler(stage, stage.memory, EngineSettings(), Watcher(), undertaker, broken.append)
        partition = Partition(0, CompletedWindow(1_000), 0)
        yield Works(scheduler, partition, post, broken)
        partition.closing = partition.closed = True
        for lane in partition.lanes.values():
            scheduler.cut_off(lane)
        await asyncio.sleep(0)


def happenings() -> list[Event]:
    """Make events of two subjects: before, the one that makes the hook misbehave, and after."""
    acts = ("pass", "misbehave", "pass", "pass")
    return [
        event_of(f"do.{act}", subject, version)
        for version, act in enumerate(acts, 1)
        for subject in ("one", "other")
        if act == "pass" or subject == "one"
    ]
