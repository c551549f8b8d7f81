from __future__ import annotations

import pytest

from benchmarks.stats import measured, medians, percentile


@pytest.mark.parametrize(("percent", "value"), [(0, 1.0), (50, 50.0), (99, 99.0), (99.5, 100.0), (100, 100.0)])
def test_a_percentile_is_a_value_that_was_seen(percent: float, value: float) -> None:
    """The nearest rank: nothing is made up between two values."""
    assert percentile([float(number) for number in range(100, 0, -1)], percent) == value


def test_there_is_no_percentile_of_nothing() -> None:
    """An empty run is an error, not a zero."""
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_what_a_system_tells_becomes_rate_cpu_and_memory() -> None:
    """Events over seconds, CPU microseconds an event, peak memory in MiB; names are no measures."""
    raw = {"system": "ours", "events": 1_000, "seconds": 2.0, "cpu_seconds": 0.015, "max_rss_kib": 2_048, "lanes": 0.0}
    assert measured(raw) == {"rate": 500.0, "cpu_micros": 15.0, "max_rss_mib": 2.0, "lanes": 0.0}


def test_the_median_of_the_rounds_counts() -> None:
    """One bad round of three changes nothing, and a peer that failed in a round counts with the others it did."""
    rounds = [
        {"ours": {"p99_ms": 3.0}, "peer": {"p99_ms": 8.0}},
        {"ours": {"p99_ms": 90.0}},
        {"ours": {"p99_ms": 2.0}},
    ]
    assert medians(rounds) == {"ours": {"p99_ms": 3.0}, "peer": {"p99_ms": 8.0}}
