"""Series: exact from many threads without a lock, and scraped as the client library's own would be."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from hookline.telemetry import SPECS, Metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client.registry import Collector

    from hookline.telemetry import Counter as OurCounter

BUCKETS = next(spec.buckets for spec in SPECS if spec.attribute == "hook_seconds")
AMOUNTS = st.lists(st.sampled_from(BUCKETS) | st.floats(0, 1000) | st.integers(0, 1000) | st.just(float("inf")))


def fresh() -> Metrics:
    """Make the metrics of one domain."""
    return Metrics(domain="orders")


def text(collector: Collector) -> str:
    """Scrape one collector, its times of creation left out."""
    return re.sub(r"(_created\{.*) .*", r"\1", generate_latest(collector).decode())


def in_threads(number: int, act: Callable[[], None]) -> None:
    """Do the same in several threads at once, and wait for all."""
    together = threading.Barrier(number)

    def run() -> None:
        together.wait()
        act()

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@given(AMOUNTS)
def test_a_counter_is_scraped_as_the_librarys_own(amounts: list[float]) -> None:
    """Names, labels, values and their form are those that dashboards know."""
    family = fresh().retries_total
    own = Counter("hookline_retries_total", "Further attempts that were scheduled for a hook.", ("domain", "hook"), registry=None)  # fmt: skip
    for amount in amounts:
        family.inc(amount, hook="ci")
        own.labels("orders", "ci").inc(amount)
    assert text(family) == text(own)


@given(AMOUNTS)
def test_a_gauge_is_scraped_as_the_librarys_own(amounts: list[float]) -> None:
    """Names, labels, values and their form are those that dashboards know."""
    family = fresh().hook_in_flight
    own = Gauge("hookline_hook_in_flight", "Runs of a hook going on.", ("domain", "hook"), registry=None)
    for amount in amounts:
        family.set(amount, hook="ci")
        own.labels("orders", "ci").set(amount)
    assert text(family) == text(own)


@given(AMOUNTS)
def test_a_histogram_is_scraped_as_the_librarys_own(amounts: list[float]) -> None:
    """Every observation is in the library's bucket, a bound in the bucket that it ends."""
    family = fresh().hook_seconds
    own = Histogram("hookline_hook_seconds", "Time one run of a hook took.", ("domain", "hook"), registry=None, buckets=BUCKETS)  # fmt: skip
    for amount in amounts:
        family.observe(amount, hook="ci")
        own.labels("orders", "ci").observe(amount)
    assert text(family) == text(own)


def test_threads_lose_no_count() -> None:
    """Each thread counts for itself, and a scrape adds them up."""
    metrics = fresh()
    handles: set[object] = set()

    def count() -> None:
        done = metrics.records_total.labels(outcome="done")
        seconds = metrics.hook_seconds.labels(hook="ci")
        handles.update((done, seconds))
        for _ in range(1000):
            done.inc()
            seconds.observe(0.5)
            metrics.retries_total.inc(hook="ci")

    in_threads(8, count)
    assert len(handles) == 16
    assert metrics.value("records_total", outcome="done") == 8000
    assert metrics.value("retries_total", hook="ci") == 8000
    assert metrics.value("hook_seconds_count", hook="ci") == 8000
    assert metrics.value("hook_seconds_sum", hook="ci") == 4000
    assert metrics.value("hook_seconds_bucket", hook="ci", le="0.25") == 0
    assert metrics.value("hook_seconds_bucket", hook="ci", le="0.5") == 8000


def test_a_thread_is_given_the_same_handle_again() -> None:
    """Asking again makes no further handle, so asking for every event leaks nothing."""
    metrics = fresh()
    assert metrics.records_total.labels(outcome="done") is metrics.records_total.labels(outcome="done")
    assert metrics.hook_seconds.labels(hook="ci") is metrics.hook_seconds.labels(hook="ci")


def test_handles_are_no_more_than_the_threads_at_once() -> None:
    """A thousand short threads, one after another, leave the handles of a few."""
    counter = fresh().reconciled_total
    handles: set[OurCounter] = set()
    for _ in range(1000):
        in_threads(1, lambda: handles.add(counter.labels()))
    assert len(handles) < 100
    assert sum(handle.total for handle in handles) == 0


def test_a_gauge_shows_what_any_thread_set_last() -> None:
    """A gauge is not added up: threads share it."""
    metrics = fresh()
    metrics.ready.set(1)
    in_threads(1, lambda: metrics.ready.set(0))
    assert metrics.value("ready") == 0


def test_a_handle_of_a_removed_series_counts_nothing() -> None:
    """What was taken away stays away until somebody asks for it again; then it starts at 0."""
    metrics = fresh()
    kept = metrics.retries_total.labels(hook="ci")
    kept.inc()
    metrics.retries_total.remove(hook="ci")
    kept.inc()
    assert metrics.value("retries_total", hook="ci") is None
    metrics.retries_total.labels(hook="ci").inc()
    assert metrics.value("retries_total", hook="ci") == 1


def test_a_counter_only_goes_up() -> None:
    """A negative amount is a defect of the caller; Prometheus would take it for a restart."""
    with pytest.raises(ValueError, match="up"):
        fresh().records_total.inc(-1, outcome="done")


def test_a_registry_holds_a_name_once() -> None:
    """Two sets of metrics cannot share a registry: their series would be scraped twice."""
    registry = CollectorRegistry()
    Metrics(domain="one", registry=registry)
    with pytest.raises(ValueError, match="hookline_published"):
        Metrics(domain="two", registry=registry)


@pytest.mark.parametrize(("value", "shown"), [("", True), ("false", True), ("True", False), ("1", False)])
def test_times_of_creation_can_be_left_out(value: str, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001  # a parameter of the test
    """The variable that turns them off for every Python exporter does so here, and nothing else changes."""
    usual = fresh().render()[0].decode()
    monkeypatch.setenv("PROMETHEUS_DISABLE_CREATED_SERIES", value)
    lines = fresh().render()[0].decode().splitlines()
    assert any("_created{" in line for line in lines) is shown
    assert [line.partition(" ")[0] for line in lines if not line.startswith("#") and "_created{" not in line] == [
        line.partition(" ")[0] for line in usual.splitlines() if not line.startswith("#") and "_created{" not in line
    ]
