"""The parts of a service: an engine each, with what it runs and what watches it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hookline.consume import (
    DeadLetterWriter,
    Engine,
    EngineMeter,
    EngineSettings,
    MeteredObserver,
    Observers,
    Recollection,
    Turn,
)
from hookline.errs import DEFAULT_CLASSIFIERS
from hookline.hooks import EventLog, OwnLetters, ServedHooks, Stage, read_beginning, write_roster
from hookline.kafka import GroupConsumer, TopicReader, kafka_classifier
from hookline.service._health import Check
from hookline.service._letters import LettersOfOne, LettersOfShared
from hookline.service._stalls import StallWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hookline.consume import Handler, Observer
    from hookline.contract import DeadLetter
    from hookline.hooks import Gates, Resolver
    from hookline.kafka import AcknowledgedProducer, ClientConfig
    from hookline.service._isolation import Isolation
    from hookline.service._settings import Settings
    from hookline.telemetry import Metrics


@dataclass(frozen=True, slots=True)
class Selection:
    """Which parts a process runs: all, only the groups of some hooks, or all but those of some hooks."""

    only: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    def check(self, isolation: Isolation) -> None:
        """Raise SettingsError unless each of these hooks has a group of its own."""
        isolation.require_own(sorted(self.only), "--hook")
        isolation.require_own(sorted(self.without), "--without-hook")

    @property
    def runs_shared(self) -> bool:
        """Whether the shared group and the reconciler are among them."""
        return not self.only

    def of(self, own: Collection[str]) -> list[str]:
        """List the hooks whose own groups are among them."""
        return sorted((self.only or frozenset(own)) - self.without)


@dataclass(frozen=True, slots=True)
class Part:
    """One engine; `stage` is None for the reconciler."""

    name: str
    group: str
    engine: Engine
    stalls: StallWatch
    stage: Stage | None = None

    def checks(self) -> list[Check]:
        """Tell what must hold for it to work."""
        status = self.engine.status
        faults = "; ".join(str(fault) for fault in status.faults.values())
        held = status.held_dead_letters
        return [
            Check(f"{self.name} group", "" if status.joined else "not joined yet"),
            Check(f"{self.name} client", faults),
            Check(f"{self.name} dead letters", f"{held} cannot be written" if held else ""),
        ]


class PartMaker:
    """Makes the parts of one service."""

    def __init__(  # noqa: PLR0913 - what parts are wired to, each by name
        self,
        settings: Settings,
        isolation: Isolation,
        resolver: Resolver,
        *,
        client: ClientConfig,
        producer: AcknowledgedProducer,
        metrics: Metrics,
        observers: Sequence[Observer] = (),
        gates: Gates | None = None,
        close_gate: Callable[[str, str], None] | None = None,
    ) -> None:
        self._settings = settings
        self._isolation = isolation
        self._resolver = resolver
        self._client = client
        self._producer = producer
        self._metrics = metrics
        self._policy = settings.stage_policy((*DEFAULT_CLASSIFIERS, kafka_classifier))
        self._gates = gates
        self._close_gate = close_gate
        self._turn = Turn()
        self._engine_settings = EngineSettings(**settings.consume.model_dump())
        log = [EventLog()] if EventLog.is_heard() else []
        self._observer = Observers(MeteredObserver(metrics), *log, *observers)

    def make(self, selection: Selection, reconciler: Handler) -> list[Part]:
        """Make the selected parts, the reconciler last."""
        hooks = [self._own(name) for name in selection.of(self._isolation.own)]
        return [self._shared(), *hooks, self._reconciler(reconciler)] if selection.runs_shared else hooks

    def _shared(self) -> Part:
        """Make the part that runs the hooks without a group of their own, and dead-letters what is malformed."""
        isolation = self._isolation
        serves = isolation.is_shared if isolation.own else None
        resolver = self._resolver if serves is None else ServedHooks(self._resolver, serves)
        stage = self._stage(resolver, serves, buries_malformed=True)
        roster = write_roster(isolation.shared_names())
        letters = DeadLetterWriter(self._producer, self._settings.dead_letter_topic())
        counts = LettersOfShared.of(isolation)
        return self._part("stage", isolation.shared_group, stage, letters, counts=counts, note_of=lambda _: roster)

    def _own(self, hook: str) -> Part:
        """Make the part of one hook, which leaves malformed records to the shared one."""
        serves = frozenset({hook}).__contains__
        stage = self._stage(ServedHooks(self._resolver, serves), serves, buries_malformed=False)
        counts = LettersOfOne.of(self._isolation, hook)
        letters = OwnLetters(self._producer, self._settings.dead_letter_topic(), hook)
        return self._part(f"hook {hook}", self._isolation.group_of(hook), stage, letters, counts=counts)

    def _stage(self, resolver: Resolver, serves: Callable[[str], bool] | None, *, buries_malformed: bool) -> Stage:
        return Stage(
            resolver,
            self._policy,
            self._metrics,
            gates=self._gates,
            close_gate=self._close_gate,
            serves=serves,
            buries_malformed=buries_malformed,
            renamed=self._isolation.renamed,
            known=self._isolation.seats,
        )

    def _part(
        self,
        name: str,
        group: str,
        stage: Stage,
        dead_letters: DeadLetterWriter,
        *,
        counts: Callable[[DeadLetter], bool],
        note_of: Callable[[int], bytes] | None = None,
    ) -> Part:
        topic = self._settings.hook_topic()
        engine = Engine(
            open_consumer=partial(GroupConsumer, self._client, group, topic),
            group=group,
            handler=stage,
            dead_letters=dead_letters,
            settings=self._engine_settings,
            observer=self._observer,
            meter=EngineMeter(self._metrics),
            memory=stage.memory,
            recollection=Recollection(
                TopicReader(self._client), topic, dead_letters.topic, stage.memory, counts, read_beginning
            ),
            note_of=note_of,
            turn=self._turn,
        )
        return Part(name, group, engine, StallWatch(name, topic, engine.standings), stage)

    def _reconciler(self, handler: Handler) -> Part:
        group, topic = self._settings.dead_letter_group(), self._settings.dead_letter_topic()
        engine = Engine(
            open_consumer=partial(GroupConsumer, self._client, group, topic),
            group=group,
            handler=handler,
            dead_letters=None,
            settings=self._engine_settings,
            observer=Observers(),
            meter=EngineMeter(self._metrics),
        )
        return Part("reconciler", group, engine, StallWatch("reconciler", topic, engine.standings))
