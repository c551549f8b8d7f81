"""What a handler sees of the engine, and what the engine asks of a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.kafka import Record

    from ._outcome import GiveUp, Hold, Outcome, Retry

Identity: TypeAlias = tuple[str, str]
"""(source, id) of an event: what makes a second record of it a duplicate."""

Fingerprint: TypeAlias = bytes | str
"""What the handler keeps of a completed record, to tell whether a repeat says the same."""


class Delivery:
    """One record on its way through a handler: no ack, no nack.

    `attempt` counts from 1 and grows with every retry. `first_failed_at` is in Unix seconds, None until something
    failed. `progress` belongs to the handler, which finds there at the next attempt what it left at the last one.
    `cut_off` is set before the engine cancels the attempt: whatever it returns or raises from then on counts for
    nothing.
    """

    __slots__ = (
        "__weakref__", "_end_wait", "attempt", "cut_off", "first_failed_at", "identity", "progress", "record", "release_slot",
    )  # fmt: skip

    def __init__(self, record: Record, attempt: int = 1) -> None:
        self.record = record
        self.attempt = attempt
        self.first_failed_at: float | None = None
        self.progress: object | None = None
        self.cut_off = False
        self.identity: Identity | None = None
        """What the handler said of it last."""
        self.release_slot: Callable[[], None] = holds_no_slot
        """For the handler to call when what it runs can be neither ended nor waited for: the attempt then holds its
        subject, and no slot any more. Once is enough; more calls do nothing."""

    def wake(self) -> bool:
        """End the wait for the next attempt: what it was held for is over. Tells whether it waited; else does nothing."""
        end_wait: Callable[[], None] | None = getattr(self, "_end_wait", None)  # unset in one that has never waited
        if end_wait is None:
            return False
        end_wait()
        return True

    def note_waiting(self, end_wait: Callable[[], None] | None) -> None:
        """Take what ends its wait; for the engine. None when it waits no more."""
        self._end_wait = end_wait

    def __repr__(self) -> str:
        return f"Delivery({self.record}, attempt={self.attempt})"


class Handler(Protocol):
    """What runs a record. The engine is generic: it has never heard of a hook.

    All methods run on the event loop. `identify` comes first at every attempt and raises when the record is malformed.
    """

    def identify(self, delivery: Delivery) -> Identity | None:
        """Tell the identity for dedupe; None when the record must run even if it has completed before."""
        ...

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Run the record: None when it is done already, else what is left to be awaited.

        Raising, here or when awaited, means that the effect did not happen.
        """
        ...

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide what follows a failure of `identify` or `handle`."""
        ...


class Memory(Protocol):
    """What a handler keeps of its work beyond this process.

    All methods are pure, quick, and run on the event loop.
    """

    def save(self, delivery: Delivery) -> bytes:
        """Tell in a few bytes how far a record has come; equal for equal states, empty when there is nothing to tell."""
        ...

    def restore(self, delivery: Delivery, saved: bytes) -> None:
        """Give back what `save` told, perhaps in another release; what cannot be read is ignored."""
        ...

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Read a record that was settled: its identity and fingerprint; None when it is malformed or has none."""
        ...

    def fingerprint(self, delivery: Delivery) -> Fingerprint:
        """Tell what to keep of a record that has completed just now."""
        ...

    def says_the_same(self, delivery: Delivery, earlier: Fingerprint) -> bool:
        """Tell whether a repeat says what the completed record of its identity said."""
        ...


class Observer(Protocol):
    """Somebody who watches deliveries, such as metrics or the demo's timeline. Called on the event loop; must not raise.

    Subclass it to define only what is of interest: a method that is not overridden costs nothing.
    """

    def started(self, delivery: Delivery) -> None:
        """Tell that an attempt begins."""
        del delivery

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Tell how an attempt ended; a dead letter is told after its confirmation."""
        del delivery, outcome, error


class Observers(Observer):
    """Several observers as one; none is one too."""

    def __init__(self, *observers: Observer) -> None:
        listeners = [listeners_of(each) for each in observers]
        self.listeners: Listeners = (
            [tell for started, _ in listeners for tell in started],
            [tell for _, ended in listeners for tell in ended],
        )

    def started(self, delivery: Delivery) -> None:
        """Tell all."""
        for tell in self.listeners[0]:
            tell(delivery)

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Tell all."""
        for tell in self.listeners[1]:
            tell(delivery, outcome, error)


Listeners: TypeAlias = """tuple[
    list[Callable[[Delivery], None]], list[Callable[[Delivery, Outcome, BaseException | None], None]]
]"""


def listeners_of(observer: Observer) -> Listeners:
    """Tell whom to call for a start and for an end, so that who does not listen is not called."""
    if isinstance(observer, Observers):
        return observer.listeners
    kind = type(observer)
    return (
        [] if kind.started is Observer.started else [observer.started],
        [] if kind.ended is Observer.ended else [observer.ended],
    )


def holds_no_slot() -> None:
    """Give nothing back: what a delivery's `release_slot` is outside of an attempt."""
