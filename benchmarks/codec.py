"""How much the codec adds to bare protobuf: decoding a record of the hook topic against `HookEvent.FromString` alone.

Both in one run, alternated, the median of the rounds; the ratio is what counts, the rates depend on the machine.

    python -m benchmarks.codec
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from hookline import Event
from hookline.contract import HookEvent, decode_record, encode_event

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 50_000
ROUNDS = 5


def main() -> None:
    """Measure and print."""
    facts = {
        "batch_id": "batch-778",
        "queue": "go-monorepo",
        "error": "merge conflict",
        "conflict_paths": ["foo/bar.go"],
    }
    event = Event.versioned(source="submitqueue", type="batch.failed", subject="batch-778", version=4, payload=facts)
    record = encode_event(event)

    def bare() -> None:
        HookEvent.FromString(record.value)

    def ours() -> None:
        decode_record(record.key, record.value, record.headers)

    rounds = [(_rate(bare), _rate(ours)) for _ in range(ROUNDS)]
    print(f"bare protobuf   {statistics.median(rate for rate, _ in rounds):>10,.0f} events/s")
    print(f"decode_record   {statistics.median(rate for _, rate in rounds):>10,.0f} events/s")
    print(f"ratio           {statistics.median(ours / bare for bare, ours in rounds):>10.2f}")


def _rate(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(EVENTS):
        work()
    return EVENTS / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
