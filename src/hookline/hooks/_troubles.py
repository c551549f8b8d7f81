"""What a person has to know of a hook that is held."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TroubleKind(StrEnum):
    """Why the events of a hook wait."""

    BREAKER = "breaker_open"
    """Its dependency is away, and the breaker holds its events."""
    DEPENDENCY = "dependency_failing"
    """Its dependency fails, of too few subjects for the breaker: each event waits for its own next attempt."""
    HELD = "held"
    """The guard or the receiver stopped it; a person releases it."""


@dataclass(frozen=True, slots=True)
class HookTrouble:
    """A hook whose events wait, for how many seconds, and why in one line."""

    hook: str
    kind: TroubleKind
    seconds: float
    reason: str
    waiting: int
    """How many events wait for it in this process."""
    closed_at_ms: int = 0
    """When the gate was closed that holds it (ms since the epoch), the same in every process; 0 when that is not known."""
    is_own: bool = True
    """False when another process closed it, or this one before it was started again."""


class ReceiverGoneError(Exception):
    """The receiver asks never to be called again, as by `410 Gone`.

    A hook that raises it is held until a person opens its gate; the event waits, and is no dead letter. An error of a
    client that means this may inherit from it.
    """
