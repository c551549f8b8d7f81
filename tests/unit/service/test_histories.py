"""Histories of domains whose hooks move between groups while events come."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.service.moving_domain import NAMES, MovingDomain, ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Mapping

SEEDS = range(6)
_MODES: tuple[Mapping[str, Any], ...] = (
    {},
    {"isolation": "per-hook"},
    {"own": ("ci",)},
    {"own": ("chat", "audit")},
)


@pytest.mark.parametrize("seed", SEEDS)
async def test_hooks_that_move_in_order_run_once(seed: int) -> None:
    """P1, P4, P6: shared, own and back under load, hooks in retry all the while, publishers that repeat themselves.

    Nothing is missed, and nothing runs again.
    """
    rng = Random(seed)  # noqa: S311 - a history is told again by its seed
    with MovingDomain.open(rng, may_fail=False) as domain:
        for _ in range(rng.randint(3, 6)):
            await domain.begin(rng.choice(_MODES))
            await load(domain, rng)
            await domain.stop()
        await domain.begin(rng.choice(_MODES))
        await domain.settle()
        await domain.stop()
        for name in NAMES:
            done = domain.hooks[name].done
            assert done == dict.fromkeys((event.id for event in domain.events), 1), name


@pytest.mark.parametrize("seed", SEEDS)
async def test_hooks_that_move_while_processes_go_down_miss_nothing(seed: int) -> None:
    """P1, P14: with crashes, also between two steps of a move, dead letters and publishers that repeat themselves.

    In the end every hook is done with every event, once all letters came back.
    """
    rng = Random(1_000 + seed)  # noqa: S311 - the same
    with MovingDomain.open(rng, may_fail=True) as domain:
        for _ in range(rng.randint(3, 7)):
            await begin_at_last(domain, rng)
            domain.republish(rng.randint(0, 3))
            await load(domain, rng)
            await (domain.stop if rng.random() < 0.5 else domain.crash)()
        domain.mend()
        await begin_at_last(domain, rng)
        await settle_all(domain)
        await domain.stop()
        for name in NAMES:
            done = domain.hooks[name].done
            assert not [event.id for event in domain.events if not done[event.id]], name


@pytest.mark.parametrize("seed", SEEDS)
async def test_hooks_that_are_renamed_there_and_back_miss_nothing(seed: int) -> None:
    """P1: a roll back gives the old name a group that begins at the latest; renamed again, what it left out is run."""
    rng = Random(2_000 + seed)  # noqa: S311 - the same
    starts: Mapping[str, Any] = {"isolation": "per-hook", "start": "latest"}
    with MovingDomain.open(rng, may_fail=seed % 2 == 0) as domain:
        await domain.begin(starts)
        for _ in range(rng.randint(2, 6)):
            await load(domain, rng)
            await (domain.stop if rng.random() < 0.6 else domain.crash)()
            domain.rename("build" if rng.random() < 0.6 else "ci", former="ci")
            await domain.begin(starts)
        await domain.stop()
        domain.mend()
        domain.rename("build", former="ci")
        await domain.begin(starts)
        await settle_all(domain)
        await domain.stop()
        for name, hook in domain.hooks.items():
            assert not [event.id for event in domain.events if not hook.done[event.id]], name


async def settle_all(domain: MovingDomain) -> None:
    """Wait until all is done, and send back all dead letters."""
    await domain.settle()
    while domain.republish(1_000):
        await domain.settle()


async def begin_at_last(domain: MovingDomain, rng: Random) -> None:
    """Begin a process; some go down while they move groups."""
    mode = rng.choice(_MODES)
    for steps in range(rng.choice((0, 0, 3))):
        try:
            await domain.begin(mode, crash_after=steps)
        except ProcessEndedError:
            continue
        return
    await domain.begin(mode)


async def load(domain: MovingDomain, rng: Random) -> None:
    """Publish events, some of them again, while time passes."""
    for _ in range(rng.randint(1, 12)):
        if domain.events and rng.random() < 0.2:
            domain.publish(rng.choice(domain.events))
        else:
            domain.publish_new(f"subject-{rng.randint(1, 5)}")
        await domain.live(rng.choice((0.0, 0.05, 1.5, 4.0)))
