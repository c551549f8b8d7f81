# ruff: noqa: D101 - the text of docs/testing.md, word for word
from hookline import Event
from hookline.consume import RetryPolicy
from hookline.testing import HookStage, events


class Notify:
    name = "notify"

    async def handle(self, event: Event) -> None:
        """Tell somebody."""


async def test_an_outage_of_an_hour_costs_nothing() -> None:
    async with HookStage({"*": [Notify()]}, retry=RetryPolicy(max_seconds=300.0)) as stage:
        stage.fail("notify", times=20)
        stage.publish(events.batch_failed())
        await stage.settle()
        assert stage.now > 3_600
        assert stage.dead_letters == []


async def test_a_crash_in_the_middle() -> None:
    async with HookStage({"*": [Notify()]}) as stage:
        stage.hang("notify")
        stage.publish(events.batch_failed())
        await stage.advance(1)
        await stage.crash()
        await stage.settle()
        assert [attempt.succeeded for attempt in stage.attempts("notify")] == [False, True]
