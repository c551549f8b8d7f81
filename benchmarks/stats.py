"""Medians, percentiles and the comparison with a goal."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["measured", "medians", "percentile"]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that so many percent are at most, by the nearest rank. Raises ValueError when there is none."""
    if not values:
        raise ValueError("no values")
    rank = max(-(-len(values) * percent // 100), 1)
    return sorted(values)[int(rank) - 1]


def measured(raw: Mapping[str, Any]) -> dict[str, float]:
    """Tell what one run of one system measured, by the names of the goals; what it did not measure is missing."""
    found = {name: float(value) for name, value in raw.items() if isinstance(value, int | float)}
    events, seconds = found.pop("events", 0.0), found.pop("seconds", 0.0)
    if events and seconds:
        found["rate"] = events / seconds
    if events and "cpu_seconds" in found:
        found["cpu_micros"] = 1e6 * found.pop("cpu_seconds") / events
    if "max_rss_kib" in found:
        found["max_rss_mib"] = found.pop("max_rss_kib") / 1024
    return found


def medians(rounds: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, float]]:
    """Tell by system and measure the median of the rounds that have it."""
    systems = dict.fromkeys(system for each in rounds for system in each)
    return {system: _medians_of([measured(each[system]) for each in rounds if system in each]) for system in systems}


def _medians_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: statistics.median(run[name] for run in runs if name in run) for name in names}
