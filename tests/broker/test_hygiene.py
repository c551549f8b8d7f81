"""Hooks that misbehave on the engine, on both brokers: offsets move on, and nobody else notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hookline.hooks import Hook, Hooks
from tests.broker.test_stage import Shop
from tests.support.hooks import event_of, stage_of
from tests.unit.hooks.hygiene import ERRORS, Bad, Fine, cancel_and_raise, raising

if TYPE_CHECKING:
    from tests.support.kafka import TestBroker


async def test_misdeeds_cost_their_own_event_and_hook_alone(broker: TestBroker) -> None:
    """P1, P5, P7, cases 13, 14 and 29: a letter for each, attributed; siblings and the last event done, all committed."""
    shop = Shop(broker)
    misdeeds = [*map(raising, ERRORS), cancel_and_raise]
    bad = Bad(lambda event: misdeeds[event.version - 1](event), waits=True)
    fine = Fine("fine", waits=2)
    for version in range(1, len(misdeeds) + 1):
        shop.publish(event_of("do.misbehave", f"batch-{version % 3}", version))
    shop.publish(event_of("do.pass", "batch-0", len(misdeeds) + 1))
    async with stage_of(Hooks({"*": [cast("Hook", bad), cast("Hook", fine)]})) as stage, shop.running(stage):
        await shop.until_settled()
    letters = await shop.letters()
    assert len(letters) == len(misdeeds)
    assert {failure.hook for letter in letters for failure in letter.failures} == {"bad"}
    assert all({"hook:bad"} < {str(each) for each in letter.subjects} for letter in letters)
    assert len(fine.done) == len(misdeeds) + 1
    assert [event.type for event in bad.done] == ["do.pass"]
