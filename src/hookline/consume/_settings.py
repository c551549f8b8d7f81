"""What can be set of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Order(StrEnum):
    """Which records wait for each other."""

    SUBJECT = "subject"
    """Those of one key; a null key waits for nobody."""
    PARTITION = "partition"
    """All of a partition."""
    NONE = "none"
    """None."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Bounds and intervals of one engine.

    `concurrency` attempts run at once, in the given `order`. Of each partition at most `window_records` records are in
    hand, and four times as many wait unread (of all partitions 16,000), all together with `window_bytes` bytes. The
    identities of the last `dedupe_window` records of a partition are remembered; at an assignment they are read back
    for at most `recall_seconds`. A record that took the process down `max_crashes` times while it ran alone is a dead
    letter.
    """

    concurrency: int = 64
    order: Order = Order.SUBJECT
    window_records: int = 2_000
    window_bytes: int = 8 * 1024 * 1024
    poll_records: int = 500
    commit_seconds: float = 0.15
    revoke_seconds: float = 5.0
    dedupe_window: int = 10_000
    recall_seconds: float = 10.0
    max_crashes: int = 3
