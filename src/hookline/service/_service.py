"""One domain's stages and reconciler, started and stopped in order."""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

import httpx2

from hookline.consume import EngineMeter
from hookline.deadletters import Reconciler, ReconcilerSettings, WaitingPager
from hookline.hooks import hook_in
from hookline.kafka import AcknowledgedProducer
from hookline.service._control import Control
from hookline.service._dead_letters import redactor_of
from hookline.service._gauges import keep_gauges
from hookline.service._groups import GroupKeeper
from hookline.service._health import Check, HealthServer
from hookline.service._heartbeat import Heartbeat
from hookline.service._isolation import Isolation
from hookline.service._pagers import build_pagers
from hookline.service._parts import PartMaker, Selection
from hookline.service._takeover import TakeOver
from hookline.service._watch import TopicWatch
from hookline.telemetry import Metrics, get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.consume import Observer
    from hookline.hooks import HookTrouble, Resolver, Stage
    from hookline.service._parts import Part
    from hookline.service._settings import Settings

_FLUSH_SECONDS = 2.0
_CLIENT_SECONDS = 5.0
_GENERATION_0 = 50_000

_log = get_logger(__name__)


class Service:
    """A domain's hooks and its reconciler in this process, with health and metrics over HTTP.

    Its parts are an engine each: the shared group's, one for each hook with a group of its own, and the reconciler; a
    `selection` of them makes it one of several processes. `start` returns once everything has begun but the engines,
    which begin as soon as Kafka has told that every group stands where it should; whether it can work yet is told by
    `/readyz`. `wait` ends only by raising what broke it. `stop` drains: what runs may end within `drain_seconds`, is
    committed, and nothing else is. Raises SettingsError when hooks and their groups contradict each other.
    """

    def __init__(
        self,
        settings: Settings,
        resolver: Resolver,
        *,
        config_path: str = "hookline.toml",
        observers: Sequence[Observer] = (),
        selection: Selection | None = None,
    ) -> None:
        self._settings = settings
        self._client = settings.client_config()
        self._redactor = redactor_of(settings)
        self.metrics = Metrics(domain=settings.domain)
        self._health = HealthServer(settings.http.address, self._live, self._ready, self.metrics)
        self._producer = AcknowledgedProducer(self._client.producer())
        self._http = httpx2.AsyncClient()
        self._pagers = build_pagers(settings, self._http)
        self._reconciler = self._build_reconciler(config_path)
        isolation = Isolation(settings, resolver)
        selection = selection or Selection()
        selection.check(isolation)
        topic = settings.control_topic()
        self._control = Control(settings.domain, topic, self._client, self._producer, self.metrics)
        self._waiting_pager = WaitingPager(
            self._pagers,
            domain=settings.domain,
            metrics=self.metrics,
            redact=self._redactor.redact,
            page_after_seconds=settings.breaker.page_after_seconds,
            memory=self._control.told_pages,
            config_path=config_path,
        )
        maker = PartMaker(
            settings,
            isolation,
            resolver,
            client=self._client,
            producer=self._producer,
            metrics=self.metrics,
            observers=observers,
            gates=self._control.gates,
            close_gate=self._control.closer,
        )
        self._parts = maker.make(selection, self._reconciler)
        self._groups = GroupKeeper(self._client, TakeOver(settings.hook_topic(), isolation, EngineMeter(self.metrics)))
        stalls = [part.stalls for part in self._parts]
        self._watch = TopicWatch(self._client, self._topics(), self._answered, stalls=stalls)
        self._heartbeat = Heartbeat(self.metrics, hook_in)
        self._running: asyncio.Task[None] | None = None
        self._chores: list[asyncio.Task[None]] = []
        self._begun: list[Part] = []
        self._stack = AsyncExitStack()
        self._is_stopping = False

    async def start(self) -> None:
        """Begin in order: health, producer, hooks, and behind this call's back groups, stages, reconciler.

        Raises ListenError when the address is taken, InvalidClientConfigError when no producer can be made of the
        settings; no record has been read then, and nothing is left open.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._health)
            stack.push_async_callback(self._close_producer)
            await self._start_producer()
            await stack.enter_async_context(self._control)
            await stack.enter_async_context(self._http)
            for stage in self._stages():
                await stack.enter_async_context(stage)
            await stack.enter_async_context(self._reconciler)
            self._heartbeat.start()
            stack.callback(self._heartbeat.close)
            self._stack = stack.pop_all()
        chores = self._watch.run(), self._keep_gauges(), self._waiting_pager.run(self._troubles)
        self._chores += [asyncio.create_task(chore) for chore in chores]
        self._running = asyncio.create_task(self._run())
        gc.freeze()
        gc.set_threshold(_GENERATION_0, *gc.get_threshold()[1:])
        _log.info("started", domain=self._settings.domain, http=str(self._health.address), kafka=self._client.bootstrap)

    async def wait(self) -> None:
        """Wait until a part breaks, and raise what broke it; SettingsError when a group cannot be placed or moved."""
        running = [] if self._running is None else [self._running]
        done, _ = await asyncio.wait([*running, *self._chores], return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()

    async def stop(self) -> None:
        """Drain, commit, leave the groups, leave the hooks, flush, and stop answering."""
        self._is_stopping = True
        self.metrics.ready.set(0)
        _log.info("stopping", domain=self._settings.domain, drain_seconds=self._settings.drain_seconds)
        await self._stop_chores()
        drain_seconds = self._settings.drain_seconds
        stops = (part.engine.stop(drain_seconds) for part in self._begun)
        ends = await asyncio.gather(*stops, return_exceptions=True)
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

    async def _run(self) -> None:
        """Learn what is closed, have the groups placed, begin to read at once, and wait until an engine breaks."""
        await self._control.wait()
        await self._groups.settle()
        for part in self._parts:
            await part.engine.start()
            self._begun.append(part)
        waits = [asyncio.create_task(part.engine.wait()) for part in self._begun]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in waits:
                each.cancel()

    async def _stop_chores(self) -> None:
        chores = [*self._chores, *([] if self._running is None else [self._running])]
        for chore in chores:
            chore.cancel()
        if chores:
            await asyncio.wait(chores)

    def _stages(self) -> list[Stage]:
        return [part.stage for part in self._parts if part.stage is not None]

    def _troubles(self) -> list[HookTrouble]:
        return [trouble for stage in self._stages() for trouble in stage.troubles()]

    def _topics(self) -> tuple[str, str]:
        return self._settings.hook_topic(), self._settings.dead_letter_topic()

    def _build_reconciler(self, config_path: str) -> Reconciler:
        log_payload = self._settings.dead_letters.log_payload
        return Reconciler(
            domain=self._settings.domain,
            metrics=self.metrics,
            redactor=self._redactor,
            pagers=self._pagers,
            settings=ReconcilerSettings(config_path=config_path, log_payload=log_payload),
        )

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
        engines = {part.group: part.engine for part in self._parts if part.stage is not None}
        await keep_gauges(self.metrics, engines, self.ready, self._stalled)

    def _stalled(self) -> int:
        return sum(len(part.stalls.stalls) for part in self._parts)

    def _answered(self) -> None:
        for part in self._parts:
            part.engine.status.answered()

    def _live(self) -> list[Check]:
        stuck = {name: seconds for stage in self._stages() for name, seconds in stage.stuck_hooks().items()}
        late = {name: seconds for name, seconds in stuck.items() if seconds > self._settings.stuck_seconds}
        return [
            Check("loop"),
            Check("hooks", "; ".join(f"{name} stuck for {seconds:.0f} s" for name, seconds in late.items())),
        ]

    def _ready(self) -> list[Check]:
        waiting = [name for stage in self._stages() for name in stage.waiting_hooks()]
        stopping = [Check("stopping", "draining")] if self._is_stopping else []
        return [
            *stopping,
            *self._watch.checks(),
            self._groups.check(),
            *(check for part in self._parts for check in part.checks()),
            *(part.stalls.check() for part in self._parts),
            Check("hooks", f"not entered yet: {', '.join(waiting)}" if waiting else ""),
        ]
