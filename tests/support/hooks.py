"""Hooks that follow a script, deliveries of events, and the engine's part in small, for tests of the stage."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from hookline.consume import Delivery, Done, GiveUp, Hold, RetryPolicy, Returned, invoke
from hookline.contract import Event, encode_event
from hookline.errs import DEFAULT_CLASSIFIERS, Redactor
from hookline.hooks import BreakerPolicy, GuardPolicy, HookPolicy, Stage, StagePolicy
from hookline.kafka import Record
from hookline.telemetry import Metrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from hookline.consume import Outcome
    from hookline.contract import Headers
    from hookline.hooks import Gates, Resolver

__all__ = ["QUICK", "Acting", "Script", "altered", "attempt", "delivery_of", "event_of", "settle", "stage_of"]

QUICK = RetryPolicy(max_attempts=3, initial_seconds=0.001, max_seconds=0.002)
Act: TypeAlias = "Callable[[Event], Awaitable[None]]"


class Script:
    """A hook whose run number n raises step number n; after the last step, and where one is None, it succeeds."""

    def __init__(self, name: str, *steps: BaseException | None) -> None:
        self.name = name
        self._steps = steps
        self.runs: list[Event] = []

    async def handle(self, event: Event) -> None:
        """Play the next step."""
        self.runs.append(event)
        step = self._steps[len(self.runs) - 1] if len(self.runs) <= len(self._steps) else None
        if step is not None:
            raise step


class Acting:
    """A hook that does what a function says."""

    def __init__(self, name: str, act: Act) -> None:
        self.name = name
        self._act = act

    async def handle(self, event: Event) -> None:
        """Act."""
        await self._act(event)


def stage_of(  # noqa: PLR0913 - what a stage may be made with, each by name
    resolver: Resolver,
    *,
    retry: RetryPolicy = QUICK,
    timeout_seconds: Mapping[str, float] | None = None,
    concurrency: Mapping[str, int] | None = None,
    hooks: Mapping[str, HookPolicy] | None = None,
    breaker: BreakerPolicy | None = None,
    guard: GuardPolicy | None = None,
    gates: Gates | None = None,
    close_gate: Callable[[str, str], None] | None = None,
    serves: Callable[[str], bool] | None = None,
    buries_malformed: bool = True,
    renamed: Mapping[str, str] | None = None,
    known: Iterable[str] = (),
    metrics: Metrics | None = None,
    leave_seconds: float = 5.0,
) -> Stage:
    """Make a stage that tries again almost at once; of policies that say one thing that thing is enough, by hook."""
    limits = {name: HookPolicy(timeout_seconds=seconds) for name, seconds in (timeout_seconds or {}).items()}
    for name, places in (concurrency or {}).items():
        limits[name] = HookPolicy(concurrency=places).over(limits.get(name, HookPolicy()))
    policy = StagePolicy(
        retry=retry,
        classifiers=DEFAULT_CLASSIFIERS,
        redactor=Redactor(),
        hooks=hooks or limits,
        breaker=breaker or BreakerPolicy(),
        guard=guard or GuardPolicy(),
    )
    return Stage(
        resolver,
        policy,
        metrics or Metrics(domain="test"),
        gates=gates,
        close_gate=close_gate,
        serves=serves,
        buries_malformed=buries_malformed,
        renamed=renamed,
        known=known,
        leave_seconds=leave_seconds,
    )


def event_of(type: str = "batch.failed", subject: str = "batch-778", version: int = 4) -> Event:
    """Make an event."""
    payload = {"batch_id": subject, "paths": ["foo/bar.go"]}
    return Event.versioned(source="submitqueue", type=type, subject=subject, version=version, payload=payload)


class Deaf:
    """A coroutine that swallows every cancellation until it is let go."""

    name = "deaf"

    def __init__(self, timeout_seconds: float = 30.0) -> None:
        self.timeout_seconds = timeout_seconds
        self.let_go = asyncio.Event()

    async def handle(self, _: Event) -> None:
        """Hang."""
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue


def delivery_of(event: Event | None = None, headers: Headers = ()) -> Delivery:
    """Make the delivery of an event's record, with more headers."""
    encoded = encode_event(event or event_of())
    return Delivery(Record("test-hook", 0, 0, None, encoded.key, encoded.value, (*encoded.headers, *headers)))


async def attempt(stage: Stage, delivery: Delivery) -> Outcome:
    """Run one attempt as the engine does, and return what follows."""
    result = await invoke(_handle(stage, delivery), lambda: delivery.cut_off)
    return Done() if isinstance(result, Returned) else stage.decide(delivery, result.error)


async def settle(stage: Stage, delivery: Delivery) -> Done | GiveUp:
    """Run attempts until one settles the record, which must not be held."""
    outcome = await attempt(stage, delivery)
    while not isinstance(outcome, Done | GiveUp):
        assert not isinstance(outcome, Hold)
        delivery.attempt += 1
        outcome = await attempt(stage, delivery)
    return outcome


def altered(delivery: Delivery, **parts: object) -> Delivery:
    """Return a fresh delivery whose record has other parts."""
    return Delivery(replace(delivery.record, **parts))  # type: ignore[arg-type] # the parts of a record, by name


async def _handle(stage: Stage, delivery: Delivery) -> None:
    stage.identify(delivery)
    rest = stage.handle(delivery)
    if rest is not None:
        await rest
