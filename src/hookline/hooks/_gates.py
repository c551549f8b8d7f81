"""What an operator has closed of a domain, as the stage asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hookline.contract import Gate, GateKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["CLOSED_BY_HOOKLINE", "Gate", "Gates"]

CLOSED_BY_HOOKLINE: Final = "hookline"
"""Who closed a gate that no person closed."""


class Gates:
    """The closed gates of one domain; those of others are ignored. For one thread, the event loop's.

    `changed` holds callbacks, called after something has been closed or opened, once for any number of gates. They are
    called in order on the thread that changes the gates, and must not raise.
    """

    __slots__ = ("_closed", "changed", "domain", "is_open")

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.is_open = True
        """True while nothing at all is closed; a plain attribute, for whoever asks for every event."""
        self.changed: list[Callable[[], None]] = []
        self._closed: dict[tuple[str, str], Gate] = {}

    @property
    def closed(self) -> Collection[Gate]:
        """The closed gates, as of now."""
        return tuple(self._closed.values())

    def closed_for(self, hook: str, subject: str) -> Gate | None:
        """Tell what keeps a hook from an event of a subject: the widest gate that is closed, None when it may run."""
        if self.is_open:
            return None
        closed = self._closed
        gate = closed.get(("", "")) or closed.get((hook, ""))
        if gate is None and subject:
            gate = closed.get(("", subject)) or closed.get((hook, subject))
        return gate

    def is_held(self, hook: str) -> bool:
        """Tell whether a hook is closed because hookline found it broken, or its receiver gone."""
        return self.hold_of(hook) is not None

    def hold_of(self, hook: str) -> Gate | None:
        """Give the gate that hookline itself closed for a hook, in whatever process and however long ago."""
        gate = self._closed.get((hook, ""))
        return gate if gate is not None and gate.closed_by == CLOSED_BY_HOOKLINE else None

    def close(self, gate: Gate) -> None:
        """Close one gate, or say anew why it is closed."""
        self.apply({gate.key: gate})

    def open(self, key: GateKey) -> None:
        """Open one gate; harmless when it is open."""
        self.apply({key: None})

    def apply(self, changes: dict[GateKey, Gate | None]) -> None:
        """Close and open what is named, None meaning open; the other gates stay as they are."""
        closed = self._closed.copy()
        for key, gate in changes.items():
            if key.domain != self.domain:
                continue
            if gate is None:
                closed.pop((key.hook, key.subject), None)
            else:
                closed[key.hook, key.subject] = gate
        self._replace(closed)

    def replace_all(self, gates: Iterable[Gate]) -> None:
        """Close these gates and open every other."""
        self._replace({(gate.hook, gate.subject): gate for gate in gates if gate.domain == self.domain})

    def _replace(self, closed: dict[tuple[str, str], Gate]) -> None:
        if closed == self._closed:
            return
        self._closed = closed
        self.is_open = not closed
        for tell in tuple(self.changed):
            tell()
