"""Counts how attempts end, and what else an engine does."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from hookline.contract import DeadLetterClass
from hookline.telemetry import get_logger

from ._delivery import Observer
from ._outcome import DONE, Done, Duplicate, GiveUp, Hold, Retry

if TYPE_CHECKING:
    from collections.abc import Sized
    from typing import Literal

    from hookline.kafka import CommitError
    from hookline.telemetry import Metrics

    from ._delivery import Delivery
    from ._outcome import Outcome

_log = get_logger(__name__)


class MeteredObserver(Observer):
    """An `Observer` that keeps the counters of records and dead letters. Made on the event loop's thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._done = metrics.records_total.labels(outcome="done")

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count an attempt."""
        del error
        if outcome is DONE:
            self._done.inc()
        else:
            self._count_other(delivery, outcome)

    def _count_other(self, delivery: Delivery, outcome: Outcome) -> None:
        match outcome:
            case Done():
                self._count("done")
            case Duplicate():
                self._count("duplicate")
                self._count_conflict(delivery, outcome)
            case Retry():
                self._count("retried")
            case Hold():
                self._count("held")
            case GiveUp(letter_class, code):
                self._count_given_up(letter_class, code)
            case _:
                assert_never(outcome)

    def _count_conflict(self, delivery: Delivery, duplicate: Duplicate) -> None:
        """Count a repeat that says something else: whoever mints its ids mints them wrongly, and this event is not run."""
        if duplicate.agrees:
            return
        self._metrics.identity_conflicts_total.inc()
        source, id = duplicate.identity
        _log.error(
            "two events of one identity differ, the second was not run",
            source=source, event_id=id, record=str(delivery.record), completed_offset=duplicate.offset,
        )  # fmt: skip

    def _count_given_up(self, letter_class: DeadLetterClass, code: str) -> None:
        self._metrics.dead_lettered_total.labels(**{"class": str(letter_class)}).inc()
        if letter_class is not DeadLetterClass.MALFORMED:
            self._count("dead_lettered")
            return
        self._count("malformed")
        self._metrics.malformed_total.inc(code=code)

    def _count(self, outcome: str) -> None:
        self._metrics.records_total.inc(outcome=outcome)


class EngineMeter:
    """Counts what an engine does beside its records; counts nothing without metrics. Safe from any thread."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics

    def committed(self, error: CommitError | None) -> None:
        """Count a commit that the broker has answered."""
        if self._metrics is not None:
            self._metrics.commits_total.inc(result="ok" if error is None else "error")

    def rebalanced(self, kind: Literal["assigned", "revoked", "lost"], partitions: Sized) -> None:
        """Count partitions that came or went."""
        if self._metrics is not None:
            self._metrics.rebalances_total.inc(len(partitions), kind=kind)

    def metadata_lost(self, reason: str) -> None:
        """Count metadata of a commit that could not be written whole, or not be read."""
        if self._metrics is not None:
            self._metrics.commit_metadata_lost_total.inc(reason=reason)

    def retention_gap(self, records: int) -> None:
        """Count records that were deleted before they were read."""
        if self._metrics is not None:
            self._metrics.retention_gap_records_total.inc(records)

    def unclean_start(self) -> None:
        """Count a partition whose owner before went down."""
        if self._metrics is not None:
            self._metrics.unclean_starts_total.inc()

    def dead_letter_refused(self) -> None:
        """Count a dead letter that was not confirmed."""
        if self._metrics is not None:
            self._metrics.dead_letter_write_failures_total.inc()
