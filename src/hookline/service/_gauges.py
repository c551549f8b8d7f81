"""Keeps the gauges that tell how the groups of a service stand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.consume import Engine, EngineLoad
    from hookline.telemetry import Metrics

_EVERY_SECONDS = 1.0


async def keep_gauges(
    metrics: Metrics, engines: Mapping[str, Engine], ready: Callable[[], bool], stalled: Callable[[], int]
) -> None:
    """Write the gauges down every second until cancelled.

    `engines` are those that run hooks, by their group; `ready` and `stalled` tell of all.
    """
    metrics.declare(group=engines)
    shown = {group: frozenset[int]() for group in engines}
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        metrics.stalled_partitions.set(stalled())
        metrics.ready.set(1 if ready() else 0)
        for group, engine in engines.items():
            metrics.dead_letter_held.set(engine.status.held_dead_letters, group=group)
            load = engine.load()
            _write(metrics, group, load)
            shown[group] = _write_lag(metrics, group, load, shown[group])


def _write(metrics: Metrics, group: str, load: EngineLoad) -> None:
    metrics.in_flight.set(load.running, group=group)
    metrics.waiting_retry.set(load.retrying, group=group)
    metrics.lanes.set(load.lanes, group=group)
    metrics.paused_partitions.set(load.paused_partitions, group=group)
    metrics.oldest_unsettled_seconds.set(load.oldest_unsettled_seconds, group=group)


def _write_lag(metrics: Metrics, group: str, load: EngineLoad, shown: frozenset[int]) -> frozenset[int]:
    """Write the lag of each partition, take those away that moved, and tell which are shown now."""
    for partition, lag in load.lag_records.items():
        metrics.lag_records.set(lag, group=group, partition=partition)
    for partition in shown - load.lag_records.keys():
        metrics.lag_records.remove(group=group, partition=partition)
    return frozenset(load.lag_records)
