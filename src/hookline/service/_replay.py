"""Giving a hook the past again: a group of its own that reads a stretch of the topic, and ends with it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeVar

from hookline.consume import (
    DeadLetterWriter,
    Done,
    Engine,
    EngineMeter,
    EngineSettings,
    GiveUp,
    Marks,
    Observer,
    encode_marks,
    pack_numbers,
    read_number,
)
from hookline.contract import MalformedRecordError, decode_delivery
from hookline.errs import DEFAULT_CLASSIFIERS
from hookline.hooks import Place, ServedHooks, Stage, type_pattern
from hookline.kafka import (
    AcknowledgedProducer,
    BrokerUnreachableError,
    GroupAdmin,
    GroupConsumer,
    GroupInUseError,
    TopicReader,
    kafka_classifier,
)
from hookline.service._control import Control
from hookline.service._isolation import Isolation
from hookline.service._problems import Problem, SettingsError, nearest
from hookline.telemetry import Metrics, get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.consume import Delivery, Hold, Identity, Outcome, Retry
    from hookline.hooks import Resolver
    from hookline.kafka import Position, Record
    from hookline.service._settings import Settings

T = TypeVar("T")

_ANSWER_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5
_FLUSH_SECONDS: Final = 5.0
_DELETE_LOOKS: Final = 20
_NOTE_VERSION: Final = 2
"""Beside that of a roster, whose place the note takes."""
_PASSED: Final = object()
"""What a delivery holds that is not shown to the stage."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Which events a hook is to be given again: from a time on, up to another one, of some types (`*` crosses dots)."""

    hook: str
    since_ms: int
    until_ms: int | None = None
    type: str = "*"

    @property
    def digest(self) -> str:
        """Name the request: the same one goes on with what it has begun."""
        said = json.dumps([self.hook, self.since_ms, self.until_ms, self.type])
        return hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is left of one partition: from `start` up to, and without, `end`, and how many events of that the hook gets."""

    partition: int
    start: int
    end: int
    events: int


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What a replay would do. `goes_on` says that it has begun before."""

    request: ReplayRequest
    group: str
    stretches: tuple[Stretch, ...]
    goes_on: bool

    @property
    def events(self) -> int:
        """How many events the hook gets."""
        return sum(stretch.events for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """How a replay went: events that the hook was given and is done with, dead letters, and whether that is all."""

    done: int
    dead_letters: int
    is_complete: bool


class Replay:
    """Replays events for one hook. For one event loop; a context manager, which ends its thread.

    Completed identities do not stop it, failures are dead-lettered as ever, and other hooks are not run. Its group
    remembers how far it is, and where it ends, so that the same request goes on after an interruption; it is deleted at
    the end. Raises SettingsError for a hook that nobody lists, KafkaClientError when Kafka does not do what is asked.
    """

    def __init__(self, settings: Settings, resolver: Resolver, request: ReplayRequest) -> None:
        self._isolation = Isolation(settings, resolver)
        if request.hook not in self._isolation.seats:
            fix = nearest(request.hook, self._isolation.seats)
            raise SettingsError([Problem(f'there is no hook "{request.hook}"', settings.place("hooks"), fix)])
        self._settings = settings
        self._client = settings.client_config()
        self._request = request
        self._serves = frozenset({request.hook}).__contains__
        self._resolver = ServedHooks(resolver, self._serves)
        self._pattern = type_pattern(request.type)
        self._topic = settings.hook_topic()
        self.group = f"{self._isolation.group_of(request.hook)}.replay-{request.digest}"
        self._thread = ThreadPoolExecutor(1, "kafka-replay")
        self._admin: GroupAdmin | None = None

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the thread, once it is done with what it may be asking."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def plan(self) -> ReplayPlan:
        """Tell what would be done, or what is left of it. Reads the stretch of the topic; changes nothing."""
        found = await self._ask(self._found)
        counts = dict.fromkeys(found.starts, 0)
        ends = dict(found.starts)
        async with aclosing(TopicReader(self._client).stream_ranges(self._topic, found.ranges())) as records:
            async for record in records:
                if found.is_open(record) and self._wants(record):
                    counts[record.partition] += 1
                    ends[record.partition] = record.offset + 1
        # The last event that is wanted is delivered for certain, which an end behind a transaction's marker is not.
        ends = {**ends, **found.frozen_ends}
        stretches = (Stretch(number, start, ends[number], counts[number]) for number, start in found.starts.items())
        return ReplayPlan(self._request, self.group, tuple(stretches), goes_on=bool(found.places))

    async def run(self, plan: ReplayPlan, stopping: asyncio.Event) -> ReplayReport:
        """Do it, and delete the group when all is done; until then, or until told to stop."""
        if not plan.goes_on:
            positions = {each.partition: _opening(each) for each in plan.stretches}
            await self._ask(lambda admin: admin.commit(self.group, self._topic, positions))
        tally = _Tally()
        async with AsyncExitStack() as stack:
            producer = AcknowledgedProducer(self._client.producer())
            stack.push_async_callback(producer.close, _FLUSH_SECONDS)
            await producer.start()
            metrics = Metrics(domain=self._settings.domain)
            control = await stack.enter_async_context(
                Control(self._settings.domain, self._settings.control_topic(), self._client, producer, metrics)
            )
            stage = await stack.enter_async_context(self._stage(control, metrics))
            engine = self._engine(_Stretched(stage, plan, self._wants), stage, producer, tally)
            await control.wait()
            await engine.start()
            is_complete = await self._serve(engine, plan, stopping)
        if is_complete:
            await self._delete()
        return ReplayReport(tally.done, tally.dead_letters, is_complete)

    def _found(self, admin: GroupAdmin) -> _Found:
        committed = admin.committed([self.group], self._topic)[self.group]
        if committed:
            places = {number: Place.read(position) for number, position in committed.items()}
            ends = {number: _end_in(place) for number, place in places.items()}
            return _Found({number: place.offset for number, place in places.items()}, ends, places, ends)
        until_ms = self._request.until_ms
        starts = admin.offsets_at(self._topic, self._request.since_ms)
        ends = admin.offsets_at(self._topic, "latest" if until_ms is None else until_ms)
        return _Found(starts, {number: max(ends[number], start) for number, start in starts.items()}, {}, {})

    def _wants(self, record: Record) -> bool:
        """Tell whether the hook is given a record: raises whatever the resolver raises."""
        try:
            event, redrive = decode_delivery(record.key, record.value, record.headers)
        except MalformedRecordError:
            return False
        names = [] if redrive is None or redrive.hooks is None else redrive.hooks
        if names and not any(self._serves(self._isolation.renamed.get(name, name)) for name in names):
            return False
        return self._pattern.fullmatch(event.type) is not None and bool(self._resolver.for_event(event))

    def _stage(self, control: Control, metrics: Metrics) -> Stage:
        return Stage(
            self._resolver,
            self._settings.stage_policy((*DEFAULT_CLASSIFIERS, kafka_classifier)),
            metrics,
            gates=control.gates,
            close_gate=control.closer,
            serves=self._serves,
            buries_malformed=False,
            renamed=self._isolation.renamed,
            known=self._isolation.seats,
        )

    def _engine(self, handler: _Stretched, stage: Stage, producer: AcknowledgedProducer, tally: _Tally) -> Engine:
        settings = EngineSettings(**self._settings.consume.model_dump())
        return Engine(
            open_consumer=partial(GroupConsumer, self._client, self.group, self._topic),
            group=self.group,
            handler=handler,
            dead_letters=DeadLetterWriter(producer, self._settings.dead_letter_topic()),
            settings=replace(settings, dedupe_window=0),
            observer=tally,
            meter=EngineMeter(),
            memory=stage.memory,
            note_of=handler.note_of,
        )

    async def _serve(self, engine: Engine, plan: ReplayPlan, stopping: asyncio.Event) -> bool:
        """Wait until all is settled, by whichever process, and stop the engine; False when told to stop before."""
        broken = asyncio.create_task(engine.wait())
        try:
            while not stopping.is_set():
                with suppress(BrokerUnreachableError):  # the engine goes on when it is back, and so does this
                    if await self._ask(lambda admin: self._is_complete(admin, plan)):
                        return True
                if broken.done():
                    broken.result()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await stopping.wait()
            return False
        finally:
            broken.cancel()
            await engine.stop(self._settings.drain_seconds)

    def _is_complete(self, admin: GroupAdmin, plan: ReplayPlan) -> bool:
        committed = admin.committed([self.group], self._topic)[self.group]
        return all(committed.get(each.partition, (0, ""))[0] >= each.end for each in plan.stretches)

    async def _delete(self) -> None:
        """Delete the group; a process that does the same is its last member, and deletes it then."""
        for _ in range(_DELETE_LOOKS):
            try:
                await self._ask(lambda admin: admin.delete(self.group))
            except GroupInUseError:
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                return
        _log.warning("the group of the replay has members still, it is left to them", group=self.group)

    async def _ask(self, question: Callable[[GroupAdmin], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: Callable[[GroupAdmin], T]) -> T:
        # A client that was not answered is not asked again: it would wait before it connects once more.
        admin, self._admin = self._admin or GroupAdmin(self._client, _ANSWER_SECONDS), None
        answer = question(admin)
        self._admin = admin
        return answer


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a replay begins and ends in each partition, and what its group knows already."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]
    places: Mapping[int, Place]
    frozen_ends: Mapping[int, int]

    def ranges(self) -> dict[int, tuple[int, int]]:
        return {
            number: (start, self.ends[number]) for number, start in self.starts.items() if start < self.ends[number]
        }

    def is_open(self, record: Record) -> bool:
        place = self.places.get(record.partition)
        return place is None or not place.marks.is_settled(record.offset)


class _Stretched:
    """A stage that is shown only the events of a plan; others are done with, unseen."""

    def __init__(self, stage: Stage, plan: ReplayPlan, is_wanted: Callable[[Record], bool]) -> None:
        self._stage = stage
        self._ends = {each.partition: each.end for each in plan.stretches}
        self._is_wanted = is_wanted

    def identify(self, delivery: Delivery) -> Identity | None:
        """Decode a record of the plan."""
        record = delivery.record
        is_new = delivery.progress is None or isinstance(delivery.progress, bytes)
        if is_new and (record.offset >= self._ends.get(record.partition, 0) or not self._is_wanted(record)):
            delivery.progress = _PASSED
        return None if delivery.progress is _PASSED else self._stage.identify(delivery)

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Run the hook."""
        return None if delivery.progress is _PASSED else self._stage.handle(delivery)

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide as the stage does."""
        return self._stage.decide(delivery, error)

    def note_of(self, partition: int) -> bytes:
        """Write down where the plan ends."""
        return _note(self._ends.get(partition, 0))


class _Tally(Observer):
    """Counts what became of the events of a replay."""

    def __init__(self) -> None:
        self.done = self.dead_letters = 0

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count an event that has ended."""
        del error
        if isinstance(outcome, GiveUp):
            self.dead_letters += 1
        elif isinstance(outcome, Done) and delivery.progress is not _PASSED:
            self.done += 1


def _opening(stretch: Stretch) -> Position:
    marks = Marks(frontier=stretch.start, open=(), states=(), clean=True, note=_note(stretch.end))
    return stretch.start, encode_marks(marks, stretch.start).text


def _note(end: int) -> bytes:
    return bytes((_NOTE_VERSION,)) + pack_numbers([end])


def _end_in(place: Place) -> int:
    """Read where a replay ends; where its group does not say so any more, it is over."""
    note = place.marks.note
    return read_number(note, 1)[0] if note[:1] == bytes((_NOTE_VERSION,)) else place.offset
