"""Counts how attempts end."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from hookline.contract import DeadLetterClass

from ._outcome import Done, Duplicate, GiveUp, Hold, Retry

if TYPE_CHECKING:
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
            case GiveUp(letter_class):
                self._metrics.dead_lettered_total.labels(**{"class": str(letter_class)}).inc()
                self._count("malformed" if letter_class is DeadLetterClass.MALFORMED else "dead_lettered")
            case _:
                assert_never(outcome)

    def _count(self, outcome: str) -> None:
        self._metrics.records_total.labels(outcome=outcome).inc()
