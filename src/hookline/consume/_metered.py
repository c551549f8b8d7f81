"""Counts how attempts end, and what else an engine does."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from hookline.contract import DeadLetterClass

from ._outcome import Done, Duplicate, GiveUp, Hold, Retry

if TYPE_CHECKING:
    from collections.abc import Sized
    from typing import Literal

    from hookline.kafka import CommitError
    from hookline.telemetry import Metrics

    from ._delivery import Delivery
    from ._outcome import Outcome


class MeteredObserver:
    """An `Observer` that keeps the counters of records and dead letters."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def started(self, delivery: Delivery) -> None:
        """Count nothing: what runs is counted when it ends."""

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count an attempt."""
        del delivery, error
        match outcome:
            case Done():
                self._count("done")
            case Duplicate():
                self._count("duplicate")
            case Retry():
                self._count("retried")
            case Hold():
                self._count("held")
            case GiveUp(letter_class, code):
                self._count_given_up(letter_class, code)
            case _:
                assert_never(outcome)

    def _count_given_up(self, letter_class: DeadLetterClass, code: str) -> None:
        self._metrics.dead_lettered_total.labels(**{"class": str(letter_class)}).inc()
        if letter_class is not DeadLetterClass.MALFORMED:
            self._count("dead_lettered")
            return
        self._count("malformed")
        self._metrics.malformed_total.inc(code=code)

    def _count(self, outcome: str) -> None:
        self._metrics.records_total.labels(outcome=outcome).inc()


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

    def dead_letter_refused(self) -> None:
        """Count a dead letter that was not confirmed."""
        if self._metrics is not None:
            self._metrics.dead_letter_write_failures_total.inc()
