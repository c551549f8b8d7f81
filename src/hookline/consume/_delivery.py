"""What a handler sees of the engine, and what the engine asks of a handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from hookline.kafka import Record

    from ._outcome import GiveUp, Hold, Outcome, Retry

Identity: TypeAlias = tuple[str, str]
"""(source, id) of an event: what makes a second record of it a duplicate."""


@dataclass(slots=True)
class Delivery:
    """One record on its way through a handler: no ack, no nack.

    `attempt` counts from 1 and grows with every retry. `first_failed_at` is in Unix seconds, None until something
    failed. `progress` belongs to the handler, which finds there at the next attempt what it left at the last one.
    `cut_off` is set before the engine cancels the attempt: whatever it returns or raises from then on counts for nothing.
    """

    record: Record
    attempt: int = 1
    first_failed_at: float | None = None
    progress: object | None = None
    cut_off: bool = False


class Handler(Protocol):
    """What runs a record. The engine is generic: it has never heard of a hook.

    All methods run on the event loop. `identify` comes first at every attempt and raises when the record is malformed.
    """

    def identify(self, delivery: Delivery) -> Identity | None:
        """Tell the identity for dedupe; None when the record must run even if it has completed before."""
        ...

    async def handle(self, delivery: Delivery) -> None:
        """Run the record: returning means done, raising means that the effect did not happen."""
        ...

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide what follows a failure of `identify` or `handle`."""
        ...


class Observer(Protocol):
    """Somebody who watches deliveries, such as metrics or the demo's timeline. Called on the event loop; must not raise."""

    def started(self, delivery: Delivery) -> None:
        """Tell that an attempt begins."""
        ...

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Tell how an attempt ended; a dead letter is told after its confirmation."""
        ...


class Observers:
    """Several observers as one; none is one too."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def started(self, delivery: Delivery) -> None:
        """Tell all."""
        for observer in self._observers:
            observer.started(delivery)

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Tell all."""
        for observer in self._observers:
            observer.ended(delivery, outcome, error)
