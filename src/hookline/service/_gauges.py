"""Keeps the gauges that tell how the stage stands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.consume import Engine, EngineLoad
    from hookline.telemetry import Metrics

_EVERY_SECONDS = 1.0


async def keep_gauges(metrics: Metrics, engine: Engine, ready: Callable[[], bool], stalled: Callable[[], int]) -> None:
    """Write the gauges down every second until cancelled; `ready` and `stalled` tell of both engines."""
    shown = frozenset[int]()
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        metrics.stalled_partitions.set(stalled())
        metrics.ready.set(1 if ready() else 0)
        metrics.dead_letter_held.set(engine.status.held_dead_letters)
        load = engine.load()
        _write(metrics, load)
        shown = _write_lag(metrics, load, shown)


def _write(metrics: Metrics, load: EngineLoad) -> None:
    metrics.in_flight.set(load.running)
    metrics.waiting_retry.set(load.retrying)
    metrics.lanes.set(load.lanes)
    metrics.paused_partitions.set(load.paused_partitions)
    metrics.oldest_unsettled_seconds.set(load.oldest_unsettled_seconds)


def _write_lag(metrics: Metrics, load: EngineLoad, shown: frozenset[int]) -> frozenset[int]:
    """Write the lag of each partition, take those away that moved, and tell which are shown now."""
    for partition, lag in load.lag_records.items():
        metrics.lag_records.set(lag, partition=partition)
    for partition in shown - load.lag_records.keys():
        metrics.lag_records.remove(partition=partition)
    return frozenset(load.lag_records)
