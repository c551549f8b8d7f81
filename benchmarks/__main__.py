"""Measure hookline against the bare client, the ceilings and its peers, on a real broker, all in one run.

    python -m benchmarks --quick            what `make bench-quick` runs: at most 3 minutes, no peers
    python -m benchmarks                    what `make bench` runs: everything
    python -m benchmarks --only B0 B2       some workloads
    python -m benchmarks --only B1 --rounds 1 --no-peers

Ends 0 when no goal is missed, 1 when one is, 2 when something could not be measured or was handled wrongly.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.backlog import run_backlog
from benchmarks.machine import machine_facts
from benchmarks.paced import PACED, run_paced
from benchmarks.peers import Peers, prepare_peers
from benchmarks.processes import SystemFailedError
from benchmarks.results import Report, WorkloadResult, line_of, written
from benchmarks.workloads import BACKLOGS, QUICK, ROUNDS
from tests.support.kafka import KafkaError, RealKafka, real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAMES = ("B0", "B0x3", "B1", "B2", "B3", "B4")


def main(arguments: Sequence[str]) -> int:
    """Measure, print a line for each workload, write the JSON."""
    options = _parser().parse_args(arguments)
    names = options.only or (QUICK if options.quick else NAMES)
    peers = Peers() if options.quick or options.no_peers else prepare_peers()
    began, began_at = time.monotonic(), dt.datetime.now(dt.UTC)
    try:
        with real_kafka() as kafka:
            machine = machine_facts(kafka)
            results = []
            for result in _measure(kafka, names, peers, options):
                print(line_of(result), flush=True)
                results.append(result)
    except (SystemFailedError, KafkaError) as error:
        sys.stderr.write(f"not measured: {error}\n")
        return 2
    mode = "quick" if options.quick else "full"
    path = written(Report(mode, machine, began_at, time.monotonic() - began, results))
    print(f"{time.monotonic() - began:.0f} s; written to {path.relative_to(path.parents[2])}")
    return int(any(result.is_short() for result in results))


def _measure(
    kafka: RealKafka, names: Sequence[str], peers: Peers, options: argparse.Namespace
) -> Iterator[WorkloadResult]:
    for workload in BACKLOGS:
        if workload.name in names:
            rounds = list(run_backlog(kafka, workload, peers, options.rounds, quick=options.quick))
            yield WorkloadResult(workload.name, workload.says, rounds, dict(peers.not_run))
    for paced in PACED:
        if paced.name in names:
            rounds = list(run_paced(kafka, paced, options.rounds, quick=options.quick))
            yield WorkloadResult(paced.name, paced.says, rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the short form: fewer events, no peers")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each system runs (default: %(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
