"""What an engine counts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hookline.consume import (
    DONE,
    Delivery,
    Done,
    Duplicate,
    EngineMeter,
    GiveUp,
    Hold,
    MeteredObserver,
    Observer,
    Observers,
    Retry,
)
from hookline.contract import DeadLetterClass
from hookline.kafka import CommitError, ErrorKind, Fault, Record
from hookline.telemetry import Metrics

if TYPE_CHECKING:
    import pytest

    from hookline.consume import Outcome

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


def test_a_repeat_that_says_something_else_is_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """P4: it is a duplicate like others, and an error besides: somebody's ids are not unique."""
    metrics = Metrics(domain="orders")
    observer = MeteredObserver(metrics)
    observer.ended(DELIVERY, Duplicate(("s", "i"), 7), None)
    assert caplog.records == []
    observer.ended(DELIVERY, Duplicate(("s", "i"), 7, agrees=False), None)
    assert metrics.value("records_total", outcome="duplicate") == 2
    assert metrics.value("identity_conflicts_total") == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_what_could_not_be_kept_or_read_is_counted() -> None:
    """P1, P6, P11: lost metadata by reason, records that retention took by their number, starts after a crash."""
    metrics = Metrics(domain="orders")
    meter = EngineMeter(metrics)
    for reason in ("overflow", "refused", "torn", "torn"):
        meter.metadata_lost(reason)
    meter.retention_gap(5)
    meter.retention_gap(2)
    meter.unclean_start()
    assert metrics.value("commit_metadata_lost_total", reason="torn") == 2
    assert metrics.value("commit_metadata_lost_total", reason="overflow") == 1
    assert metrics.value("retention_gap_records_total") == 7
    assert metrics.value("unclean_starts_total") == 1


class EndOnly(Observer):
    """Hears of ends."""

    def __init__(self) -> None:
        self.heard: list[Outcome] = []

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Keep it."""
        del delivery, error
        self.heard.append(outcome)


class Structural:
    """Hears of both, and subclasses nothing."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def started(self, _: Delivery) -> None:
        """Keep it."""
        self.heard.append("started")

    def ended(self, _: Delivery, __: Outcome, ___: BaseException | None) -> None:
        """Keep it."""
        self.heard.append("ended")


def test_observers_are_told_what_they_listen_to() -> None:
    """One that defines a method is told, whether it subclasses `Observer` or only looks like one; groups may be nested."""
    end, both = EndOnly(), Structural()
    observers = Observers(Observers(end), both, Observers())
    observers.started(DELIVERY)
    observers.ended(DELIVERY, DONE, None)
    assert end.heard == [DONE]
    assert both.heard == ["started", "ended"]


def test_an_engine_without_metrics_counts_nothing() -> None:
    """Metrics are the wish of whoever builds the engine."""
    meter = EngineMeter()
    meter.committed(None)
    meter.rebalanced("lost", [0])
    meter.dead_letter_refused()
    meter.metadata_lost("torn")
    meter.retention_gap(1)
    meter.unclean_start()
