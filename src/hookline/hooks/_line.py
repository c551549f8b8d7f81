"""Events that wait for a hook, in the order in which they came."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.consume import Delivery

    from ._runs import HookRun

_numbers: Final = count(1)


class Ticket:
    """A run's place in a line. Weak: nobody tells of an event whose partition was let go while it waited."""

    __slots__ = ("_delivery", "_run", "line", "number", "subject")

    def __init__(self, line: Line, run: HookRun, delivery: Delivery, subject: str) -> None:
        self.line = line
        self.number = run.number
        self.subject = subject
        self._run = ref(run)
        self._delivery = ref(delivery)

    def __lt__(self, other: Ticket) -> bool:
        return self.number < other.number

    def holder(self) -> tuple[HookRun, Delivery] | None:
        """Give who waits with it; None when nobody does any more."""
        run, delivery = self._run(), self._delivery()
        if run is None or delivery is None or run.ticket is not self or delivery.cut_off or not run.pending:
            return None
        return run, delivery


class Line:
    """The runs of one hook that wait until they may begin. One that waits holds nothing.

    A run has its number from when it first may not begin until it begins, and its place by that, in whichever line.
    """

    __slots__ = ("_tickets",)

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []

    def __len__(self) -> int:
        return len(self._tickets)

    def join(self, run: HookRun, delivery: Delivery, subject: str = "") -> None:
        """Let a run wait. One that waits here already keeps its place, and so does one that was called in vain."""
        if run.ticket is not None and run.ticket.line is self:
            return
        run.number = run.number or next(_numbers)
        run.ticket = Ticket(self, run, delivery, subject)
        heappush(self._tickets, run.ticket)

    def call(self) -> bool:
        """Let the first that still waits ask again; tells whether there was one.

        One whose event is at work with another hook asks by itself when that ends: the turn is the next one's.
        """
        while self._tickets:
            held = heappop(self._tickets).holder()
            if held is None:
                continue
            run, delivery = held
            run.ticket, run.due_at = None, 0.0
            run.was_called = delivery.wake()
            if run.was_called:
                return True
        return False

    def count(self) -> int:
        """Tell how many wait, and forget those that are gone."""
        self._tickets = [ticket for ticket in self._tickets if ticket.holder() is not None]
        heapify(self._tickets)
        return len(self._tickets)

    def move(self, other: Line, goes: Callable[[str], bool]) -> None:
        """Let those wait in another line whose subjects a function names."""
        for ticket in self._tickets:
            held = ticket.holder() if goes(ticket.subject) else None
            if held is not None:
                other.join(*held, ticket.subject)
        self.count()
