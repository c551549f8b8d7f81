"""`python -m tests.simulate`: run histories for some time, and end 1 when a promise was broken."""

from __future__ import annotations

import argparse
import gc
import secrets
import sys
import time
from itertools import count

from hookline.telemetry import Metrics
from tests.simulate._history import run_history
from tests.simulate._mutations import MUTATIONS, without

_MOST_TOLD = 10


def main() -> int:
    """Run, and report."""
    asked = _arguments()
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    metrics = Metrics(domain="sim")
    trace = (lambda text: print(text, flush=True)) if asked.trace else (lambda _: None)  # noqa: T201
    gc.set_threshold(50_000, 20, 100)
    give_up = time.monotonic() + asked.seconds
    ran = violations = 0
    with without(asked.without):
        for each in count(seed):
            if time.monotonic() >= give_up or ran == asked.histories or violations == _MOST_TOLD:
                break
            violation = run_history(each, metrics, trace)
            ran += 1
            if violation is not None:
                violations += 1
                _tell(each, violation, asked.without)
    print(f"histories {ran}, violations {violations}, seed {seed}")  # noqa: T201 - its answer
    return 1 if violations else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to run histories")
    parser.add_argument("--seed", type=int, help="of the first history; each next one is one more")
    parser.add_argument("--histories", type=int, default=-1, help="at most so many")
    parser.add_argument("--without", choices=sorted(MUTATIONS), help="take a safeguard out: violations are expected")
    parser.add_argument("--trace", action="store_true", help="print what happens")
    return parser.parse_args()


def _tell(seed: int, violation: Exception, mutation: str | None) -> None:
    flag = f" --without {mutation}" if mutation else ""
    print(f"seed {seed}: {violation}")  # noqa: T201
    print(f"    again: python -m tests.simulate --histories 1 --seed {seed} --trace{flag}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
