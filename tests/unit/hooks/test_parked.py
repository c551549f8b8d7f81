"""Events that a gate keeps: they stand in nobody's way, they are counted, and they go on when it opens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, Hold
from hookline.hooks import Gate, Gates, HookPolicy, Hooks
from hookline.telemetry import Metrics
from tests.support.hooks import Script, attempt, delivery_of, event_of, stage_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from hookline import Event
    from hookline.consume import Delivery

CLOSED = Gate("test", "", "closed", "being repaired", "ada")


class Busy:
    """A hook that runs until it is let go."""

    name = "busy"

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.handled: list[str] = []

    async def handle(self, event: Event) -> None:
        """Wait, then do."""
        await self.go_on.wait()
        self.handled.append(event.subject)


def of(subject: str, called: list[str]) -> Delivery:
    """Make a delivery of a subject that notes when it is called."""
    delivery = delivery_of(event_of(subject=subject))
    delivery.note_waiting(lambda: called.append(subject))
    return delivery


async def test_a_place_that_falls_free_goes_past_whom_a_gate_keeps() -> None:
    """P8: a closed subject that came first does not keep a hook with few places from the subjects behind it."""
    hook, gates, called = Busy(), Gates("test"), list[str]()
    gates.close(CLOSED)
    async with stage_of(Hooks({"*": [hook]}), concurrency={"busy": 1}, gates=gates) as stage:
        running = asyncio.create_task(attempt(stage, of("first", called)))
        await asyncio.sleep(0)
        closed, other = of("closed", called), of("other", called)
        assert isinstance(await attempt(stage, closed), Hold)
        assert isinstance(await attempt(stage, other), Hold)
        hook.go_on.set()
        assert await running == Done()
        assert called == ["other"]
        assert await attempt(stage, other) == Done()
        gates.open(CLOSED.key)
        assert called == ["other", "closed"]
        assert await attempt(stage, closed) == Done()


async def test_who_was_called_when_its_gate_had_closed_passes_the_place_on() -> None:
    """P8: a subject that is closed while it stands in line gives its turn to the next."""
    hook, gates, called = Busy(), Gates("test"), list[str]()
    async with stage_of(Hooks({"*": [hook]}), concurrency={"busy": 1}, gates=gates) as stage:
        running = asyncio.create_task(attempt(stage, of("first", called)))
        await asyncio.sleep(0)
        closed, other = of("closed", called), of("other", called)
        assert isinstance(await attempt(stage, closed), Hold)
        assert isinstance(await attempt(stage, other), Hold)
        gates._closed[CLOSED.hook, CLOSED.subject] = CLOSED
        gates.is_open = False
        hook.go_on.set()
        assert await running == Done()
        assert called == ["closed"]
        assert isinstance(await attempt(stage, closed), Hold)
        assert called == ["closed", "other"]
        assert await attempt(stage, other) == Done()


@pytest.mark.parametrize(
    ("gate", "parked"),
    [(Gate("test"), {"a": 2, "b": 2}), (Gate("test", "a"), {"a": 2, "b": 0}), (CLOSED, {"a": 1, "b": 1})],
    ids=["domain", "hook", "subject"],
)
async def test_what_is_parked_is_counted(gate: Gate, parked: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The gauge tells for each hook how many events wait because something is closed, and falls when they are gone."""
    monkeypatch.setattr("hookline.hooks._admission._TICK_SECONDS", 0.001)
    gates, metrics = Gates("test"), Metrics(domain="test")
    gates.close(gate)

    async def shows(expected: dict[str, int]) -> None:
        await eventually_async(lambda: {name: metrics.value("parked_events", hook=name) for name in "ab"} == expected)

    async with stage_of(Hooks({"*": [Script("a"), Script("b")]}), gates=gates, metrics=metrics) as stage:
        deliveries = [delivery_of(event_of(subject=subject)) for subject in ("closed", "other")]
        for delivery in deliveries:
            await attempt(stage, delivery)
        await shows(parked)
        gates.replace_all([])
        assert [await attempt(stage, delivery) for delivery in deliveries] == [Done(), Done()]
        await shows({"a": 0, "b": 0})


async def test_a_rate_does_not_call_whom_a_gate_keeps() -> None:
    """P8: the turns that a rate gives go to events that may run."""
    hook, gates, called = Script("a"), Gates("test"), list[str]()
    gates.close(CLOSED)
    async with stage_of(Hooks({"*": [hook]}), hooks={"a": HookPolicy(rate=100.0)}, gates=gates) as stage:
        closed, other = of("closed", called), of("other", called)
        assert await attempt(stage, of("first", called)) == Done()
        assert isinstance(await attempt(stage, closed), Hold)
        assert isinstance(await attempt(stage, other), Hold)
        await eventually_async(lambda: called)
        assert called == ["other"]
