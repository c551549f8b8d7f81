"""What a stage counts and shows of its hooks and events."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Delivery, GiveUp, RetryPolicy
from hookline.contract import DeadLetterClass, Event, encode_event
from hookline.errs import DEFAULT_CLASSIFIERS, Redactor
from hookline.hooks import Hook, Hooks, Stage, StagePolicy
from hookline.kafka import Record
from hookline.telemetry import Metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Headers

NOW_MS = time.time_ns() // 1_000_000


class Looking:
    """A hook that reads, while it runs, how many of its runs are shown."""

    name = "looking"

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.seen: list[float | None] = []

    async def handle(self, event: Event) -> None:
        """Look, once it waited for something."""
        del event
        await asyncio.sleep(0)
        self.seen.append(self._metrics.value("hook_in_flight", hook=self.name))


class BrokenResolver:
    """A resolver with a defect."""

    hooks: Sequence[Hook] = ()

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Fail."""
        raise KeyError(event.type)


def stage_of(resolver: Hooks | BrokenResolver, metrics: Metrics) -> Stage:
    policy = StagePolicy(retry=RetryPolicy(), classifiers=DEFAULT_CLASSIFIERS, redactor=Redactor())
    return Stage(resolver, policy, metrics)


def delivery(timestamp_ms: int = NOW_MS, headers: Headers = ()) -> Delivery:
    event = Event.versioned(
        source="orders", type="order.paid", subject="o-1", version=1, payload={}, timestamp_ms=timestamp_ms
    )
    encoded = encode_event(event)
    return Delivery(Record("orders-hook", 0, 0, None, encoded.key, encoded.value, (*encoded.headers, *headers)))


async def run(stage: Stage, each: Delivery) -> None:
    stage.identify(each)
    rest = stage.handle(each)
    if rest is not None:
        await rest


async def test_runs_of_a_hook_are_shown_while_they_go_on() -> None:
    """A hook's series is there at 0 once the stage knows it, says 1 during the run, and 0 after it."""
    metrics = Metrics(domain="orders")
    hook = Looking(metrics)
    async with stage_of(Hooks({"*": [hook]}), metrics) as stage:
        assert metrics.value("hook_in_flight", hook="looking") == 0
        assert metrics.value("hook_errors_total", hook="looking", verdict="unknown") == 0
        await run(stage, delivery())
    assert hook.seen == [1]
    assert metrics.value("hook_in_flight", hook="looking") == 0


@pytest.mark.parametrize(("timestamp_ms", "count"), [(NOW_MS - 5000, 1), (NOW_MS + 3_600_000, 1), (0, 0)])
async def test_the_age_of_a_done_event_is_noted(timestamp_ms: int, count: int) -> None:
    """An event is as old as its timestamp says, never younger than now; one without a timestamp has no age."""
    metrics = Metrics(domain="orders")
    async with stage_of(Hooks({}), metrics) as stage:
        await run(stage, delivery(timestamp_ms))
    assert metrics.value("event_age_seconds_count") == count
    total = metrics.value("event_age_seconds_sum")
    assert total is not None
    assert total >= (5 if 0 < timestamp_ms < NOW_MS else 0)


async def test_a_republished_record_is_counted_once_however_often_it_is_tried() -> None:
    """What an operator put back is seen to come back."""
    metrics = Metrics(domain="orders")
    async with stage_of(Hooks({}), metrics) as stage:
        each = delivery(headers=(("hookline-redrives", b"1"),))
        for _ in range(3):
            await run(stage, each)
        await run(stage, delivery())
    assert metrics.value("republished_total") == 1


async def test_a_resolver_that_fails_is_counted() -> None:
    """An event whose hooks could not be told is a dead letter and an error of the resolver, never "no hooks"."""
    metrics = Metrics(domain="orders")
    async with stage_of(BrokenResolver(), metrics) as stage:
        each = delivery()
        with pytest.raises(KeyError) as caught:
            stage.identify(each)
        outcome = stage.decide(each, caught.value)
    assert isinstance(outcome, GiveUp)
    assert (outcome.letter_class, outcome.code) == (DeadLetterClass.PERMANENT, "resolver_failed")
    assert metrics.value("resolver_errors_total") == 1
