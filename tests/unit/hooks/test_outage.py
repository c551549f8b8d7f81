"""Outages of a dependency, hours of them, on a stage with a time of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline import Event
from hookline.consume import RetryPolicy
from hookline.errs import HttpStatusError
from hookline.testing import HookStage

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600.0


class Receiver:
    """A hook and the receiver that it calls, which can be away."""

    name = "notify"

    def __init__(self, name: str = "notify") -> None:
        self.name = name
        self.is_up = True
        self.asked = 0
        self.taken: list[tuple[str, int]] = []

    async def handle(self, event: Event) -> None:
        """Call it."""
        self.asked += 1
        if not self.is_up:
            raise HttpStatusError(503, host="ci.example.com")
        self.taken.append((event.subject, event.version))


def events_of(subjects: int, versions: range) -> Iterator[Event]:
    """Make events, version by version."""
    for version in versions:
        for number in range(subjects):
            yield Event.versioned(source="submitqueue", type="batch.failed", subject=f"b{number}", version=version)


async def test_an_outage_of_an_hour_costs_no_dead_letter_and_few_calls() -> None:
    """P9: a receiver that is away for an hour is asked some dozens of times; then everything is delivered, in order."""
    away, there = Receiver(), Receiver("audit")
    async with HookStage({"*": [away, there]}) as stage:
        away.is_up = False
        for minute in range(60):
            stage.publish(*events_of(25, range(1 + minute, 2 + minute)))
            await stage.advance(60)
        assert away.asked < 250
        assert (
            len(there.taken) == 25
        )  # of each subject the first event waits for its other hook, and the rest behind it
        away.is_up = True
        await stage.settle()
        assert stage.dead_letters == []
    for receiver in (away, there):
        assert len(set(receiver.taken)) == len(receiver.taken) == 25 * 60
        for number in range(25):
            assert [version for subject, version in receiver.taken if subject == f"b{number}"] == [*range(1, 61)]


async def test_an_outage_longer_than_the_bound_of_a_dependency_costs_no_dead_letter_either() -> None:
    """P9: time in which the breaker is open is not charged: half an hour of outage with a bound of an eighth."""
    away = Receiver()
    async with HookStage({"*": [away]}, retry=RetryPolicy(dependency_seconds=HOUR / 8)) as stage:
        away.is_up = False
        stage.publish(*events_of(30, range(1, 2)))
        await stage.advance(HOUR / 2)
        away.is_up = True
        await stage.settle()
        assert stage.dead_letters == []
    assert len(away.taken) == 30


async def test_a_quiet_domain_bears_ten_minutes_without_a_breaker() -> None:
    """P9: one subject alone opens no breaker; its event waits, is tried again and again, and is delivered."""
    away = Receiver()
    async with HookStage({"*": [away]}) as stage:
        away.is_up = False
        stage.publish(*events_of(1, range(1, 3)))
        await stage.advance(600)
        assert stage.metrics.value("breaker_open", hook="notify") in {None, 0}
        away.is_up = True
        await stage.settle()
        assert stage.dead_letters == []
    assert away.taken == [("b0", 1), ("b0", 2)]


async def test_a_restart_in_the_middle_of_an_outage_changes_nothing() -> None:
    """P6, P9: the process goes down twice while the receiver is away; nothing is dead-lettered, nothing delivered twice."""
    away = Receiver()
    async with HookStage({"*": [away]}) as stage:
        away.is_up = False
        stage.publish(*events_of(40, range(1, 4)))
        for _ in range(2):
            await stage.advance(HOUR / 4)
            await stage.crash()
        away.is_up = True
        await stage.settle()
        assert stage.dead_letters == []
    assert sorted(away.taken) == sorted((f"b{number}", version) for version in (1, 2, 3) for number in range(40))
