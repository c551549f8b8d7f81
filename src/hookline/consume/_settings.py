"""What can be set of the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Bounds and intervals of one engine.

    `concurrency` attempts run at once. Of each partition at most `window_records` records and `window_bytes` bytes are
    in hand; fetching rests when either is full, until the half is worked off.
    """

    concurrency: int = 64
    window_records: int = 2_000
    window_bytes: int = 16 * 1024 * 1024
    poll_records: int = 500
    commit_seconds: float = 0.2
    revoke_seconds: float = 5.0
    dedupe_window: int = 10_000
