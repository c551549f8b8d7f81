"""The gauges of a stage."""

from __future__ import annotations

from hookline.consume import EngineLoad
from hookline.service._gauges import _write_lag
from hookline.telemetry import Metrics


def load(lag_records: dict[int, int]) -> EngineLoad:
    return EngineLoad(
        lanes=0, running=0, retrying=0, paused_partitions=0, oldest_unsettled_seconds=0.0, lag_records=lag_records
    )


def test_the_lag_of_a_partition_that_moved_is_not_shown_for_ever() -> None:
    """A partition's series is there while the stage owns it, and comes back with it."""
    metrics = Metrics(domain="orders")
    shown = _write_lag(metrics, load({0: 5, 1: 7}), frozenset())
    shown = _write_lag(metrics, load({1: 3}), shown)
    assert (metrics.value("lag_records", partition="0"), metrics.value("lag_records", partition="1")) == (None, 3)
    _write_lag(metrics, load({0: 2}), shown)
    assert (metrics.value("lag_records", partition="0"), metrics.value("lag_records", partition="1")) == (2, None)
