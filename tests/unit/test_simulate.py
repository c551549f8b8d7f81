"""The simulation's twin: a few hundred histories, and that its checks can fail."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest

from hookline.telemetry import Metrics
from tests.simulate._clock import Clock, virtual
from tests.simulate._history import run_history
from tests.simulate._mutations import MUTATIONS, without
from tests.simulate._setup import draw_setup
from tests.simulate._world import World

SEED = 20_260_101
HISTORIES = 240
BLOCKS = 6


@pytest.fixture(scope="module", name="metrics")
def _metrics() -> Metrics:
    return Metrics(domain="sim")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_history_breaks_a_promise(block: int, metrics: Metrics) -> None:
    """P1, P3, P4, P5, P6, P11, P13: at every step, whatever fails, freezes, moves or goes down; the seed is recorded."""
    size = HISTORIES // BLOCKS
    seeds = range(SEED + block * size, SEED + (block + 1) * size)
    broken = {seed: violation for seed in seeds if (violation := run_history(seed, metrics))}
    assert not broken, f"again: python -m tests.simulate --histories 1 --trace --seed {next(iter(broken))}"


@pytest.mark.parametrize("safeguard", sorted(MUTATIONS))
def test_a_safeguard_that_is_taken_out_is_missed(safeguard: str, metrics: Metrics) -> None:
    """P1, P5, P13: without the fence, the confirmation or the contiguous commit some history breaks a promise."""
    with without(safeguard):
        assert any(run_history(seed, metrics) for seed in range(SEED, SEED + HISTORIES))


def test_a_seed_tells_the_same_history_again(metrics: Metrics) -> None:
    """A violation can be looked at: everything that happens comes from the seed."""

    def told(seed: int) -> str:
        lines: list[str] = []
        run_history(seed, metrics, lines.append)
        return sha256("\n".join(lines).encode()).hexdigest()

    seeds = range(SEED, SEED + 10)
    once = [told(seed) for seed in seeds]
    assert once == [told(seed) for seed in seeds]


def test_a_process_that_thaws_when_faults_stop_is_not_asked_for_what_it_had_no_time_to_recall(metrics: Metrics) -> None:
    """P4: what cannot be proven completed in the time allowed may run again, and a frozen process loses that time."""
    rng = random.Random(SEED)  # noqa: S311 - a simulation
    clock = Clock(rng)
    with virtual(clock, SEED):
        world = World(draw_setup(rng), clock, rng, metrics, lambda _: None)
        try:
            world.start()
            world.run(5.0, lambda: bool(world.checks.epochs))
            world.freeze_one()
            world.stop_faults()
            assert [epoch.recall_is_sound for epoch in world.checks.epochs.values()] == [False]
        finally:
            world.dispose()
