"""The gauges of a stage."""

from __future__ import annotations

from hookline.consume import EngineLoad
from hookline.service._gauges import _write, _write_lag
from hookline.telemetry import Metrics


def load(lag_records: dict[int, int], lanes: int = 0) -> EngineLoad:
    return EngineLoad(
        lanes=lanes, running=0, retrying=0, paused_partitions=0, oldest_unsettled_seconds=0.0, lag_records=lag_records
    )


def test_the_lag_of_a_partition_that_moved_is_not_shown_for_ever() -> None:
    """A partition's series is there while the stage owns it, and comes back with it."""
    metrics = Metrics(domain="orders")

    def lag(partition: str) -> float | None:
        return metrics.value("lag_records", group="g", partition=partition)

    shown = _write_lag(metrics, "g", load({0: 5, 1: 7}), frozenset())
    shown = _write_lag(metrics, "g", load({1: 3}), shown)
    assert (lag("0"), lag("1")) == (None, 3)
    _write_lag(metrics, "g", load({0: 2}), shown)
    assert (lag("0"), lag("1")) == (2, None)


def test_groups_do_not_overwrite_each_other() -> None:
    """Each group of a process has its own numbers: one that lags is not hidden by one that does not."""
    metrics = Metrics(domain="orders")
    for group, lanes in (("orders-hook", 0), ("orders-hook.ci", 7)):
        _write(metrics, group, load({}, lanes))
        _write_lag(metrics, group, load({0: lanes}), frozenset())
    assert (metrics.value("lanes", group="orders-hook"), metrics.value("lanes", group="orders-hook.ci")) == (0, 7)
    assert metrics.value("lag_records", group="orders-hook.ci", partition="0") == 7
    assert metrics.value("lag_records", group="orders-hook", partition="0") == 0
