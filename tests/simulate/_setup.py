"""What a history is made of, drawn from its seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.consume import EngineSettings, Order, RetryPolicy

if TYPE_CHECKING:
    import random

HOOKS = ("alpha", "beta", "gamma")
LIMIT_SECONDS = 0.6
"""The time limit of every hook."""
SESSION_SECONDS = 1.5
TOPIC, LETTERS, GROUP = "sim-hook", "sim-hook_dlq", "sim-hook"
RETRY = RetryPolicy(max_attempts=3, initial_seconds=0.05, max_seconds=0.4, dependency_seconds=3_600.0)
_WHOLE_WINDOW = 1_000


@dataclass(frozen=True, slots=True)
class Faults:
    """How often what goes wrong; all are chances from 0 to 1, but for what says otherwise."""

    commit_refused: float
    commit_unheard: float
    """Committed, and reported as failed."""
    torn: float
    unknown_positions: float
    letter_refused: float
    letter_unheard: float
    recall_broken: float
    crash_point: float
    """A crash in the very moment of a call to the outside."""
    most_characters: int | None
    """What the broker takes as metadata."""
    letter_outages: tuple[tuple[float, float], ...]
    hook_outages: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """One history."""

    engine: EngineSettings
    partitions: int
    processes: int
    records: int
    subjects: int
    seconds: float
    """How long things go wrong."""
    faults: Faults
    killers: int
    crashes: int
    freezes: int
    evictions: int
    restarts: int
    joins: int

    @property
    def remembers_all(self) -> bool:
        """Tell whether the dedupe window holds the whole history."""
        return self.engine.dedupe_window >= _WHOLE_WINDOW


def draw_setup(rng: random.Random) -> Setup:
    """Draw a history; what goes wrong at all is drawn first, so that some are quiet."""
    seconds = rng.uniform(2.0, 6.0)
    return Setup(
        engine=_draw_engine(rng),
        partitions=rng.randint(1, 3),
        processes=rng.randint(1, 3),
        records=rng.randint(8, 45),
        subjects=rng.randint(1, 5),
        seconds=seconds,
        faults=_draw_faults(rng, seconds),
        killers=rng.choice((0, 0, 0, 1, 1, 2)),
        crashes=rng.choice((0, 0, 1, 2, 3)),
        freezes=rng.choice((0, 0, 1, 2, 3)),
        evictions=rng.choice((0, 0, 1, 2, 4)),
        restarts=rng.choice((0, 0, 1, 2)),
        joins=rng.choice((0, 0, 1, 2)),
    )


def _draw_engine(rng: random.Random) -> EngineSettings:
    return EngineSettings(
        concurrency=rng.randint(2, 8),
        order=rng.choices((Order.SUBJECT, Order.PARTITION, Order.NONE), (10, 1, 1))[0],
        window_records=rng.randint(4, 50),
        window_bytes=1_000_000,
        poll_records=rng.randint(1, 30),
        commit_seconds=rng.uniform(0.05, 0.2),
        revoke_seconds=rng.uniform(0.2, 2.0),
        dedupe_window=rng.choice((_WHOLE_WINDOW, _WHOLE_WINDOW, 6)),
        recall_seconds=1.0,
        max_crashes=rng.randint(1, 3),
    )


def _draw_faults(rng: random.Random, seconds: float) -> Faults:
    def chance(most: float) -> float:
        return rng.choice((0.0, 0.0, rng.uniform(0.0, most)))

    return Faults(
        commit_refused=chance(0.4),
        commit_unheard=chance(0.3),
        torn=rng.choice((0.0, 0.0, 0.0, 0.5)),
        unknown_positions=rng.choice((0.0, 0.0, 0.0, 0.3)),
        letter_refused=chance(0.5),
        letter_unheard=chance(0.4),
        recall_broken=chance(0.5),
        crash_point=rng.choice((0.0, 0.0, 0.0, rng.uniform(0.0, 0.02))),
        most_characters=rng.choice((None, None, None, None, None, rng.randint(0, 60))),
        letter_outages=_draw_windows(rng, seconds),
        hook_outages=tuple((rng.choice(HOOKS), *window) for window in _draw_windows(rng, seconds)),
    )


def _draw_windows(rng: random.Random, seconds: float) -> tuple[tuple[float, float], ...]:
    starts = [rng.uniform(0.0, seconds) for _ in range(rng.choice((0, 0, 1, 2)))]
    return tuple((start, start + rng.uniform(0.2, 2.0)) for start in starts)
