"""Metrics: every name in one table, bounded labels, a scrape that never fails."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from hookline.contract import DeadLetterClass
from hookline.errs import Verdict
from hookline.telemetry import SPECS, Metrics, metrics_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from hookline.telemetry._families import Spec

ROOT = Path(__file__).parents[3]


def fresh() -> Metrics:
    """Make the metrics of one domain."""
    return Metrics(domain="submitqueue")


def scraped(metrics: Metrics) -> list[Metric]:
    """Read a scrape back as Prometheus would."""
    return list(parse(metrics.render()[0].decode()))


def series(metrics: Metrics) -> int:
    """Count the samples of a scrape."""
    return sum(len(family.samples) for family in scraped(metrics))


def test_the_page_is_made_of_the_table() -> None:
    """docs/metrics.md says exactly what the code says."""
    assert (ROOT / "docs/metrics.md").read_text() == metrics_page()


def test_every_line_of_the_table_is_scraped_under_its_name() -> None:
    """A name in the table is a name at /metrics, once something happened."""
    metrics = fresh()
    metrics.declare(source=["s"], type=["t"], hook=["h"], pager=["p"], code=["c"], partition=["0"], group=["g"])
    names = {sample.name for family in scraped(metrics) for sample in family.samples}
    expected = {spec.name + ("_count" if spec.kind == "histogram" else "") for spec in SPECS}
    assert expected <= names


def test_names_follow_prometheus() -> None:
    """Counters end in _total, histograms in their base unit, and nothing else ends in _total."""
    assert all(spec.name.endswith("_total") == (spec.kind == "counter") for spec in SPECS)
    assert all(spec.name.endswith("_seconds") for spec in SPECS if spec.kind == "histogram")
    assert all(spec.help.endswith(".") for spec in SPECS)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("reconciled_total", {}),
        ("dead_letter_write_failures_total", {}),
        *(("records_total", {"outcome": outcome}) for outcome in ("done", "duplicate", "dead_lettered", "malformed")),
        *(("dead_lettered_total", {"class": str(letter_class)}) for letter_class in DeadLetterClass),
        ("commits_total", {"result": "error"}),
        ("ready", {}),
    ],
)
def test_what_pages_is_there_from_the_start(name: str, labels: dict[str, str]) -> None:
    """A counter that pages starts at 0, so that increase() sees the first one."""
    assert fresh().value(name, **labels) == 0


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.attribute)
def test_every_line_of_the_table_is_written(spec: Spec[Any]) -> None:
    """A metric that nothing writes is a promise that nobody keeps."""
    write = re.compile(rf"\.{spec.attribute}\.(?:inc|set|observe|labels)\(")
    assert any(write.search(path.read_text()) for path in (ROOT / "src").rglob("*.py"))


def test_declared_values_start_at_zero() -> None:
    """Once a hook is wired, all its series are there."""
    metrics = fresh()
    metrics.declare(hook=["ci"], group=["orders-hook"])
    assert metrics.value("dead_letter_held", group="orders-hook") == 0
    assert metrics.value("hook_errors_total", hook="ci", verdict="infra_dependency") == 0
    assert metrics.value("hook_seconds_count", hook="ci") == 0
    assert metrics.value("retries_total", hook="ci") == 0


def test_only_open_labels_are_declared() -> None:
    """A label that does not exist, or whose values are fixed, is a mistake in the wiring."""
    with pytest.raises(TypeError):
        fresh().declare(outcome=["done"])
    with pytest.raises(TypeError):
        fresh().declare(user=["x"])


def test_labels_must_be_those_of_the_table() -> None:
    """A missing or unknown label name is said at once, not counted elsewhere."""
    with pytest.raises(TypeError):
        fresh().records_total.inc()
    with pytest.raises(TypeError):
        fresh().reconciled_total.inc(hook="ci")


def test_the_words_of_other_rooms_are_known() -> None:
    """Every verdict and every class of dead letter has its label value."""
    words = {label.name: set(label.values) for spec in SPECS for label in spec.labels}
    assert words["verdict"] == {verdict.value for verdict in Verdict}
    assert words["class"] == {letter.value for letter in DeadLetterClass}


def test_series_are_bounded_whatever_events_say() -> None:
    """A hundred thousand hostile types and sources make a constant number of series (case 25)."""
    metrics = fresh()
    for number in range(100_000):
        metrics.published_total.inc(source=f"source-{number % 1000}", type=f"type-{number}", result="ok")
    before = series(metrics)
    metrics.published_total.inc(source="one more", type="one more", result="unheard of")
    assert before < 6000
    assert series(metrics) - before <= 2
    assert metrics.value("published_total", source="other", type="other", result="ok") is not None


def test_declared_values_keep_their_name_in_a_flood() -> None:
    """Hostile types cannot push a configured one into "other" (case 25)."""
    metrics = fresh()
    for number in range(1000):
        metrics.reconciled_by_type_total.inc(source="s", type=f"type-{number}")
    metrics.declare(type=["batch.failed"])
    metrics.reconciled_by_type_total.inc(source="s", type="batch.failed")
    assert metrics.value("reconciled_by_type_total", source="s", type="batch.failed") == 1


@given(st.lists(st.text(st.characters()) | st.none() | st.integers() | st.binary(), max_size=8))
def test_no_label_value_breaks_a_scrape(values: list[object]) -> None:
    """Surrogates, NULs, quotes, line ends, None: the scrape can be made and read, in both formats (case 25)."""
    metrics = fresh()
    for value in values:
        metrics.published_total.inc(source=value, type=value, result=value)
        metrics.hook_errors_total.inc(hook=value, verdict=value)
    assert scraped(metrics)
    body, content_type = metrics.render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert list(parse_openmetrics(body.decode()))  # type: ignore[no-untyped-call]  # its parser has no types


def test_a_megabyte_of_label_is_cut() -> None:
    """A value is at most 128 characters long (case 25)."""
    metrics = fresh()
    metrics.hook_attempts_total.inc(hook="x" * 1_000_000, outcome="ok")
    assert metrics.value("hook_attempts_total", hook="x" * 128, outcome="ok") == 1


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain;version=1.0.0;escaping=allow-utf-8", "application/openmetrics-text;version=x.y", ";;,\x00", "text/plain;version="])  # fmt: skip
def test_any_accept_header_is_answered(accept: str) -> None:
    """Whatever a scraper asks for, it gets metrics."""
    body, content_type = fresh().render(accept)
    assert b"hookline_ready" in body
    assert "text" in content_type


def test_a_foreign_collector_that_raises_costs_itself() -> None:
    """What else is registered may break; our metrics are still scraped (case 25)."""

    class Broken:
        def collect(self) -> Iterable[Metric]:
            raise ZeroDivisionError

        def describe(self) -> Iterable[Metric]:
            return ()

    registry = CollectorRegistry()
    metrics = Metrics(domain="d", registry=registry)
    registry.register(Broken())
    assert b"hookline_ready" in metrics.render()[0]


def test_instances_are_apart() -> None:
    """Two domains in one process, or two tests, share nothing."""
    one, two = Metrics(domain="one"), Metrics(domain="two")
    one.reconciled_total.inc()
    assert (one.value("reconciled_total"), two.value("reconciled_total")) == (1, 0)


def test_every_series_names_the_domain() -> None:
    """An alert can say which domain it is about."""
    samples = [sample for family in scraped(fresh()) for sample in family.samples]
    assert {sample.labels.get("domain") for sample in samples} == {"submitqueue"}


def test_a_kept_handle_counts() -> None:
    """A hot path keeps the series and pays no look-up."""
    metrics = fresh()
    done = metrics.records_total.labels(outcome="done")
    done.inc()
    done.inc(2)
    assert metrics.value("records_total", outcome="done") == 3


def test_a_partition_that_moved_leaves_the_scrape() -> None:
    """A revoked partition's lag is not shown for ever; removing it twice is no error."""
    metrics = fresh()
    metrics.lag_records.set(5, group="g", partition=3)
    assert metrics.value("lag_records", group="g", partition="3") == 5
    metrics.lag_records.remove(group="g", partition=3)
    metrics.lag_records.remove(group="g", partition=3)
    assert metrics.value("lag_records", group="g", partition="3") is None


def test_threads_cannot_pass_the_bound() -> None:
    """Labels are folded under a lock: eight threads admit no more than one would."""
    metrics = fresh()

    def flood(start: int) -> None:
        for number in range(start, start + 500):
            metrics.retries_total.inc(hook=f"h{number}")

    threads = [threading.Thread(target=flood, args=(start * 500,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    family = next(family for family in scraped(metrics) if family.name == "hookline_retries")
    totals = [sample for sample in family.samples if sample.name.endswith("_total")]
    assert len(totals) == 129
    assert sum(sample.value for sample in totals) == 4000
