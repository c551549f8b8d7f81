"""What an engine counts."""

from __future__ import annotations

from hookline.consume import Delivery, Done, Duplicate, EngineMeter, GiveUp, Hold, MeteredObserver, Retry
from hookline.contract import DeadLetterClass
from hookline.kafka import CommitError, ErrorKind, Fault, Record
from hookline.telemetry import Metrics

DELIVERY = Delivery(Record("orders-hook", 0, 0, None, b"k", b"v", ()))


def test_each_outcome_is_counted_as_what_it_is() -> None:
    """P12: every end of an attempt is counted once; a malformed record also by its code, a dead letter by its class."""
    metrics = Metrics(domain="orders")
    observer = MeteredObserver(metrics)
    malformed = GiveUp(DeadLetterClass.MALFORMED, "decode_error", "no event")
    exhausted = GiveUp(DeadLetterClass.EXHAUSTED, "http_status", "503")
    for outcome in (Done(), Duplicate(("s", "i"), 0), Retry(1), Hold(1), malformed, exhausted):
        observer.started(DELIVERY)
        observer.ended(DELIVERY, outcome, None)
    for word in ("done", "duplicate", "retried", "held", "malformed", "dead_lettered"):
        assert metrics.value("records_total", outcome=word) == 1
    assert metrics.value("malformed_total", code="decode_error") == 1
    assert metrics.value("dead_lettered_total", **{"class": "malformed"}) == 1
    assert metrics.value("dead_lettered_total", **{"class": "exhausted"}) == 1


def test_commits_rebalances_and_refused_dead_letters_are_counted() -> None:
    """Commits count by how they ended, partitions by how they came and went, dead letters by each failed write."""
    metrics = Metrics(domain="orders")
    meter = EngineMeter(metrics)
    meter.committed(None)
    meter.committed(CommitError(Fault("REBALANCE_IN_PROGRESS", ErrorKind.RETRYABLE, "rebalancing")))
    meter.rebalanced("assigned", [0, 1, 2])
    meter.rebalanced("revoked", [0])
    meter.dead_letter_refused()
    assert (metrics.value("commits_total", result="ok"), metrics.value("commits_total", result="error")) == (1, 1)
    assert metrics.value("rebalances_total", kind="assigned") == 3
    assert metrics.value("rebalances_total", kind="revoked") == 1
    assert metrics.value("rebalances_total", kind="lost") == 0
    assert metrics.value("dead_letter_write_failures_total") == 1


def test_an_engine_without_metrics_counts_nothing() -> None:
    """Metrics are the wish of whoever builds the engine."""
    meter = EngineMeter()
    meter.committed(None)
    meter.rebalanced("lost", [0])
    meter.dead_letter_refused()
