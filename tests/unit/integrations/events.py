"""Events for the tests of the integrations."""

from __future__ import annotations

from hookline.contract import Event


def failed_batch(number: int = 778, *, version: int = 4, error: str = "merge conflict") -> Event:
    """Make the seed's example: a batch that failed."""
    return Event.versioned(
        source="submitqueue",
        type="batch.failed",
        subject=f"batch-{number}",
        version=version,
        payload={"batch_id": f"batch-{number}", "error": error, "size": 3},
        timestamp_ms=1_796_032_800_123,
    )
