"""Giving a hook the past again: a group of its own that reads a stretch of the topic, and ends with it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeVar

from hookline.consume import Engine, EngineMeter, EngineSettings, Raised, Recollection, begin
from hookline.contract import MalformedRecordError, decode_delivery
from hookline.deadletters import replay_group
from hookline.errs import DEFAULT_CLASSIFIERS
from hookline.hooks import Place, ServedHooks, Stage, type_pattern
from hookline.kafka import (
    AcknowledgedProducer,
    BrokerUnreachableError,
    GroupAdmin,
    GroupInUseError,
    TopicReader,
    kafka_classifier,
)
from hookline.service._control import Control
from hookline.service._isolation import Isolation
from hookline.service._letters import LettersOfReplay
from hookline.service._problems import Problem, SettingsError, nearest
from hookline.service._replay_plan import (
    Found,
    ReplayError,
    ReplayPlan,
    ReplayProgress,
    ReplayReport,
    Stretch,
    read_note,
)
from hookline.service._replay_stage import ReplayLetters, ReplayMember, Stretched, Tally
from hookline.telemetry import Metrics, get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.hooks import Gates, Resolver
    from hookline.kafka import GroupListener, Record
    from hookline.service._replay_plan import ReplayRequest
    from hookline.service._settings import Settings

T = TypeVar("T")

_ANSWER_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5
_FLUSH_SECONDS: Final = 5.0
_DELETE_LOOKS: Final = 20

_log = get_logger(__name__)


class Replay:
    """Replays events for one hook. For one event loop; a context manager, which ends its thread.

    What the hook has completed before does not stop it, failures are dead-lettered as ever, and other hooks are not run.
    Its group remembers how far it is, and where it ends, so that the same request goes on after an interruption; it is
    deleted at the end. Nobody but the replay is stopped when it finds the hook broken, or its receiver gone. Raises
    SettingsError for a hook that nobody lists, KafkaClientError when Kafka does not do what is asked, ReplayError when
    the replay cannot begin or go on.
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
        self.group = replay_group(self._isolation.group_of(request.hook), request.digest)
        self._thread = ThreadPoolExecutor(1, "kafka-replay")
        self._admin: GroupAdmin | None = None
        self._members: list[ReplayMember] = []
        self._tally = Tally()
        self._held_because = ""
        self._waits_for: Callable[[], str] = str

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
        stretches = (
            Stretch(number, start, ends[number], counts[number], found.firsts[number])
            for number, start in found.starts.items()
        )
        return ReplayPlan(self._request, self.group, tuple(stretches), goes_on=bool(found.places))

    async def run(self, plan: ReplayPlan, stopping: asyncio.Event) -> ReplayReport:
        """Do it, and delete the group when all is done; until then, or until told to stop. Once only."""
        tally = self._tally
        is_complete = plan.is_over
        if not is_complete:
            await self._begin(plan)
            is_complete = await self._run(plan, stopping)
        if is_complete and (plan.goes_on or not plan.is_over):
            await self._delete()
        return ReplayReport(
            tally.done,
            tally.duplicates,
            tally.dead_letters,
            is_complete,
            held_because="" if is_complete else self._held_because,
            was_gone=any(member.was_gone for member in self._members),
        )

    def progress(self) -> ReplayProgress:
        """Tell how far it has come."""
        tally = self._tally
        return ReplayProgress(tally.done, tally.duplicates, tally.dead_letters, self._waits_for())

    def _obstacle(self, gates: Gates, stage: Stage) -> str:
        """Tell what keeps the hook from running, and will until somebody does something, or its dependency is back."""
        gate = gates.closed_for(self._request.hook, "")
        if gate is not None:
            return f"a gate, closed by {gate.closed_by}: {gate.reason}"
        if stage.waiting_hooks():
            return "the hook, which cannot open what it needs"
        return "; ".join(trouble.reason for trouble in stage.troubles())

    async def _begin(self, plan: ReplayPlan) -> None:
        if plan.goes_on:
            return
        positions = {each.partition: each.opening() for each in plan.stretches}
        try:
            await self._ask(lambda admin: admin.commit(self.group, self._topic, positions))
        except GroupInUseError as error:
            raise ReplayError(
                f"group {self.group}: another process has just begun the same replay; "
                "wait for it, or give the command again to take part in it"
            ) from error

    async def _run(self, plan: ReplayPlan, stopping: asyncio.Event) -> bool:
        async with AsyncExitStack() as stack:
            producer = AcknowledgedProducer(self._client.producer())
            stack.push_async_callback(producer.close, _FLUSH_SECONDS)
            await producer.start()
            metrics = Metrics(domain=self._settings.domain)
            control = await stack.enter_async_context(
                Control(self._settings.domain, self._settings.control_topic(), self._client, producer, metrics)
            )
            stage = await stack.enter_async_context(self._stage(control, metrics))
            engine = self._engine(stage, plan, producer)
            self._waits_for = partial(self._obstacle, control.gates, stage)
            await control.wait()
            await engine.start()
            return await self._serve(engine, plan, stopping)

    def _found(self, admin: GroupAdmin) -> Found:
        committed = admin.committed([self.group], self._topic)[self.group]
        if committed:
            return self._found_begun(admin, {number: Place.read(each) for number, each in committed.items()})
        starts = admin.offsets_at(self._topic, self._request.since_ms)
        ends = self._ends_asked_for(admin)
        return Found(starts, {number: max(ends[number], start) for number, start in starts.items()}, starts, {}, {})

    def _found_begun(self, admin: GroupAdmin, places: dict[int, Place]) -> Found:
        """Tell where a replay stands that has begun; where its end is lost, the time that was asked for tells it."""
        notes = {number: note for number, place in places.items() if (note := read_note(place)) is not None}
        lost = sorted(places.keys() - notes.keys())
        if lost and self._request.until_ms is None:
            raise ReplayError(
                f"group {self.group}, partition {lost[0]}: its commits do not tell any more where the replay ends; "
                "replay what is left with --since and --until, and delete the group: "
                f"kafka-consumer-groups.sh --delete --group {self.group}"
            )
        asked = self._ends_asked_for(admin) if lost else {}
        frozen = {number: end for number, (end, _) in notes.items() if end}
        starts = {number: place.offset for number, place in places.items() if number in frozen or number in lost}
        ends = {**{number: max(asked[number], starts[number]) for number in lost}, **frozen}
        firsts = {**starts, **{number: notes[number][1] for number in frozen}}
        return Found(starts, ends, firsts, places, frozen)

    def _ends_asked_for(self, admin: GroupAdmin) -> dict[int, int]:
        until_ms = self._request.until_ms
        return admin.offsets_at(self._topic, "latest" if until_ms is None else until_ms)

    def _wants(self, record: Record) -> bool:
        """Tell whether the hook is given a record; also one for which the resolver fails, which is a dead letter."""
        if record.unreadable_headers:
            return False
        try:
            event, redrive = decode_delivery(record.key, record.value, record.headers)
        except MalformedRecordError:
            return False
        names = [] if redrive is None or redrive.hooks is None else redrive.hooks
        if names and not any(self._serves(self._isolation.renamed.get(name, name)) for name in names):
            return False
        if self._pattern.fullmatch(event.type) is None:
            return False
        hooks = begin(self._resolver.for_event, event)
        return isinstance(hooks, Raised) or bool(hooks)

    def _stage(self, control: Control, metrics: Metrics) -> Stage:
        return Stage(
            self._resolver,
            self._settings.stage_policy((*DEFAULT_CLASSIFIERS, kafka_classifier)),
            metrics,
            gates=control.gates,
            close_gate=self._hold,
            serves=self._serves,
            buries_malformed=False,
            renamed=self._isolation.renamed,
            known=self._isolation.seats,
            release=f"hook {self._request.hook} runs on in the service; mend it, then go on with the replay",
        )

    def _hold(self, hook: str, reason: str) -> None:
        """End the replay, instead of closing the hook for everybody: what came of old events says nothing of new ones."""
        del hook
        self._held_because = self._held_because or reason

    def _engine(self, stage: Stage, plan: ReplayPlan, producer: AcknowledgedProducer) -> Engine:
        handler = Stretched(stage, plan, self._wants)
        letters = ReplayLetters(producer, self._settings.dead_letter_topic(), self._request.hook)

        def open_consumer(listener: GroupListener) -> ReplayMember:
            self._members.append(ReplayMember(self._client, plan, self._topic, listener))
            return self._members[-1]

        return Engine(
            open_consumer=open_consumer,
            group=self.group,
            handler=handler,
            dead_letters=letters,
            settings=EngineSettings(**self._settings.consume.model_dump()),
            observer=self._tally,
            meter=EngineMeter(),
            memory=stage.memory,
            recollection=Recollection(
                TopicReader(self._client), self._topic, letters.topic, handler, LettersOfReplay(self.group)
            ),
            note_of=handler.note_of,
        )

    async def _serve(self, engine: Engine, plan: ReplayPlan, stopping: asyncio.Event) -> bool:
        """Wait until all is settled, by whichever process, and stop the engine; False when it has to stop before."""
        broken = asyncio.create_task(engine.wait())
        try:
            while not (stopping.is_set() or self._held_because):
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
