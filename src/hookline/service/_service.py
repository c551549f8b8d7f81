"""One domain's stage and reconciler, started and stopped in order."""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

import httpx2

from hookline.consume import (
    DeadLetterWriter,
    Engine,
    EngineMeter,
    EngineSettings,
    MeteredObserver,
    Observers,
    Recollection,
    RetryPolicy,
)
from hookline.deadletters import Reconciler, ReconcilerSettings
from hookline.errs import DEFAULT_CLASSIFIERS
from hookline.hooks import EventLog, Stage, StagePolicy, hook_in
from hookline.kafka import AcknowledgedProducer, GroupConsumer, TopicReader, kafka_classifier
from hookline.service._dead_letters import redactor_of
from hookline.service._gauges import keep_gauges
from hookline.service._health import Check, HealthServer
from hookline.service._heartbeat import Heartbeat
from hookline.service._pagers import build_pagers
from hookline.service._stalls import StallWatch
from hookline.service._watch import TopicWatch
from hookline.telemetry import Metrics, get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.consume import Observer
    from hookline.hooks import Resolver
    from hookline.service._settings import Settings

_FLUSH_SECONDS = 2.0
_CLIENT_SECONDS = 5.0
_GENERATION_0 = 50_000

_log = get_logger(__name__)


class Service:
    """Stage and reconciler of one domain in this process, with health and metrics over HTTP.

    `start` returns once everything has begun; whether it can work yet is told by `/readyz`. `wait` ends only by raising
    what broke it. `stop` drains: what runs may end within `drain_seconds`, is committed, and nothing else is.
    """

    def __init__(
        self,
        settings: Settings,
        resolver: Resolver,
        *,
        config_path: str = "hookline.toml",
        observers: Sequence[Observer] = (),
    ) -> None:
        self._settings = settings
        self._client = settings.client_config()
        self._redactor = redactor_of(settings)
        self.metrics = Metrics(domain=settings.domain)
        self._health = HealthServer(settings.http.address, self._live, self._ready, self.metrics)
        self._producer = AcknowledgedProducer(self._client.producer())
        self._http = httpx2.AsyncClient()
        self._stage = Stage(resolver, self._stage_policy(), self.metrics)
        self._reconciler = self._build_reconciler(config_path)
        self._stage_engine, self._reconciler_engine = self._build_engines(observers)
        self._stalls = self._build_stalls()
        self._watch = TopicWatch(self._client, self._topics(), self._answered, stalls=self._stalls)
        self._heartbeat = Heartbeat(self.metrics, hook_in)
        self._chores: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()
        self._is_stopping = False

    async def start(self) -> None:
        """Begin in order: health, producer, hooks, stage, reconciler.

        Raises ListenError when the address is taken, InvalidClientConfigError when no producer can be made of the
        settings; no record has been read then, and nothing is left open.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._health)
            stack.push_async_callback(self._close_producer)
            await self._start_producer()
            await stack.enter_async_context(self._http)
            await stack.enter_async_context(self._stage)
            await stack.enter_async_context(self._reconciler)
            self._heartbeat.start()
            stack.callback(self._heartbeat.close)
            self._stack = stack.pop_all()
        self._chores += [asyncio.create_task(self._watch.run()), asyncio.create_task(self._keep_gauges())]
        await self._stage_engine.start()
        await self._reconciler_engine.start()
        gc.freeze()
        gc.set_threshold(_GENERATION_0, *gc.get_threshold()[1:])
        _log.info("started", domain=self._settings.domain, http=str(self._health.address), kafka=self._client.bootstrap)

    async def wait(self) -> None:
        """Wait until a part breaks, and raise what broke it."""
        parts = [asyncio.create_task(engine.wait()) for engine in self._engines()]
        try:
            done, _ = await asyncio.wait([*parts, *self._chores], return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            for part in parts:
                part.cancel()

    async def stop(self) -> None:
        """Drain, commit, leave the groups, leave the hooks, flush, and stop answering."""
        self._is_stopping = True
        self.metrics.ready.set(0)
        _log.info("stopping", domain=self._settings.domain, drain_seconds=self._settings.drain_seconds)
        for chore in self._chores:
            chore.cancel()
        drain_seconds = self._settings.drain_seconds
        ends = await asyncio.gather(*(engine.stop(drain_seconds) for engine in self._engines()), return_exceptions=True)
        await self._stack.aclose()
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        _log.info("stopped", domain=self._settings.domain)

    def ready(self) -> bool:
        """Tell whether `/readyz` is green."""
        return all(check.ok for check in self._ready())

    @property
    def reconciler(self) -> Reconciler:
        """The reconciler, for its status."""
        return self._reconciler

    def _engines(self) -> tuple[Engine, Engine]:
        return self._stage_engine, self._reconciler_engine

    def _topics(self) -> tuple[str, str]:
        return self._settings.hook_topic(), self._settings.dead_letter_topic()

    def _stage_policy(self) -> StagePolicy:
        return StagePolicy(
            retry=self._retry_policy(),
            classifiers=(*DEFAULT_CLASSIFIERS, kafka_classifier),
            redactor=self._redactor,
            timeout_seconds=self._settings.hook_timeouts(),
            concurrency=self._settings.hook_concurrency(),
        )

    def _retry_policy(self) -> RetryPolicy:
        return RetryPolicy(**self._settings.retry.model_dump())

    def _build_reconciler(self, config_path: str) -> Reconciler:
        log_payload = self._settings.dead_letters.log_payload
        return Reconciler(
            domain=self._settings.domain,
            metrics=self.metrics,
            redactor=self._redactor,
            pagers=build_pagers(self._settings, self._http),
            settings=ReconcilerSettings(config_path=config_path, log_payload=log_payload),
        )

    def _build_engines(self, observers: Sequence[Observer]) -> tuple[Engine, Engine]:
        settings = EngineSettings(**self._settings.consume.model_dump())
        hook_topic, dead_letter_topic = self._topics()
        writer = DeadLetterWriter(self._producer, dead_letter_topic)
        log = [EventLog()] if EventLog.is_heard() else []
        observer = Observers(MeteredObserver(self.metrics), *log, *observers)
        memory = self._stage.memory
        group = self._settings.hook_group()
        stage = Engine(
            open_consumer=partial(GroupConsumer, self._client, group, hook_topic),
            group=group,
            handler=self._stage,
            dead_letters=writer,
            settings=settings,
            observer=observer,
            meter=EngineMeter(self.metrics),
            memory=memory,
            recollection=Recollection(TopicReader(self._client), hook_topic, dead_letter_topic, memory),
        )
        group = self._settings.dead_letter_group()
        reconciler = Engine(
            open_consumer=partial(GroupConsumer, self._client, group, dead_letter_topic),
            group=group,
            handler=self._reconciler,
            dead_letters=None,
            settings=settings,
            observer=Observers(),
            meter=EngineMeter(self.metrics),
        )
        return stage, reconciler

    async def _start_producer(self) -> None:
        # Bounded: making it waits for the user's oauth callable, and a signal is not listened to before the start is over.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLIENT_SECONDS):
                await self._producer.start()

    async def _close_producer(self) -> None:
        unconfirmed = await self._producer.close(_FLUSH_SECONDS)
        if unconfirmed:
            _log.error("dead letters not confirmed at exit; their records are not committed", records=unconfirmed)

    async def _keep_gauges(self) -> None:
        await keep_gauges(self.metrics, self._stage_engine, self.ready, self._stalled)

    def _build_stalls(self) -> tuple[StallWatch, StallWatch]:
        hook_topic, dead_letter_topic = self._topics()
        return (
            StallWatch("stage", hook_topic, self._stage_engine.standings),
            StallWatch("reconciler", dead_letter_topic, self._reconciler_engine.standings),
        )

    def _stalled(self) -> int:
        return sum(len(stalls.stalls) for stalls in self._stalls)

    def _answered(self) -> None:
        for engine in self._engines():
            engine.status.answered()

    def _live(self) -> list[Check]:
        late = {name: each for name, each in self._stage.stuck_hooks().items() if each > self._settings.stuck_seconds}
        stuck = "; ".join(f"{name} stuck for {seconds:.0f} s" for name, seconds in late.items())
        return [Check("loop"), Check("hooks", stuck)]

    def _ready(self) -> list[Check]:
        engines = {"stage": self._stage_engine, "reconciler": self._reconciler_engine}
        checks = [check for name, engine in engines.items() for check in _engine_checks(name, engine)]
        waiting = self._stage.waiting_hooks()
        stopping = [Check("stopping", "draining")] if self._is_stopping else []
        return [
            *stopping,
            *self._watch.checks(),
            *checks,
            *(stalls.check() for stalls in self._stalls),
            Check("hooks", f"not entered yet: {', '.join(waiting)}" if waiting else ""),
        ]


def _engine_checks(name: str, engine: Engine) -> list[Check]:
    status = engine.status
    faults = "; ".join(str(fault) for fault in status.faults.values())
    held = status.held_dead_letters
    return [
        Check(f"{name} group", "" if status.joined else "not joined yet"),
        Check(f"{name} client", faults),
        Check(f"{name} dead letters", f"{held} cannot be written" if held else ""),
    ]
