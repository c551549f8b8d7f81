"""Measure hookline against the bare client, the ceilings and its peers, on a real broker, all in one run.

    python -m benchmarks --quick            what `make bench-quick` runs: at most 3 minutes, no peers
    python -m benchmarks                    what `make bench` runs: everything
    python -m benchmarks --only B0 B2       some workloads
    python -m benchmarks --only B1 --rounds 1 --no-peers

A full run writes benchmarks/results/full.json and the tables of docs/performance.md, the short form quick.json; with
--only, --rounds or --no-peers it is partial.json. Ends 0 when no goal is missed, 1 when one is, 2 when something was
handled wrongly or could not be measured.
"""

from __future__ import annotations

import argparse
import datetime as dt
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import churn, footprint, memory
from benchmarks.backlog import Round, run_backlog
from benchmarks.broker_requests import BrokerRequests, countable_requests
from benchmarks.machine import machine_facts
from benchmarks.paced import PACED, run_paced
from benchmarks.page import write_page
from benchmarks.peers import Peers, prepare_peers
from benchmarks.processes import SystemFailedError
from benchmarks.results import Report, WorkloadResult, line_of, written
from benchmarks.workloads import BACKLOGS, QUICK, ROUNDS
from tests.support.kafka import RealKafka, real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAMES = ("B0", "B0x3", "B1", "B2", "B3", "B4", "B5", "B6", "B7")


@dataclass(frozen=True, slots=True)
class Session:
    """What every workload of one run needs."""

    kafka: RealKafka
    broker: BrokerRequests
    peers: Peers
    rounds: int
    quick: bool


def main(arguments: Sequence[str]) -> int:
    """Measure, print a line for each workload, write the JSON."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that nothing that it started is left
    names = options.only or (QUICK if options.quick else NAMES)
    peers = Peers() if options.quick or options.no_peers else prepare_peers()
    began, began_at = time.monotonic(), dt.datetime.now(dt.UTC)
    with ExitStack() as stack:
        with countable_requests(wanted="B7" in names) as broker:
            kafka = stack.enter_context(real_kafka())
        machine = machine_facts(kafka) | {"peers": peers.versions()}
        session = Session(kafka, broker, peers, options.rounds, options.quick)
        results = [_told(_measured(session, name)) for name in names]
    report = Report(_mode(options), machine, began_at, time.monotonic() - began, results)
    path = written(report)
    if report.mode == "full":
        write_page()
    print(f"{time.monotonic() - began:.0f} s; written to {path.relative_to(path.parents[2])}")
    if any(result.failure for result in results):
        return 2
    return int(any(result.is_short() for result in results))


def _mode(options: argparse.Namespace) -> str:
    """Tell whether it is a run whose results are kept: one of everything, or the short form of it."""
    if options.only or options.rounds != ROUNDS or options.no_peers:
        return "partial"
    return "quick" if options.quick else "full"


def _told(result: WorkloadResult) -> WorkloadResult:
    print(line_of(result), flush=True)
    return result


def _measured(session: Session, name: str) -> WorkloadResult:
    """Measure a workload; a failure of ours is its result, and the others run all the same."""
    says, rounds = _rounds(session, name)
    done: list[Round] = []
    try:
        done.extend(rounds)
    except SystemFailedError as error:
        return WorkloadResult(name, says, done, failure=str(error))
    return WorkloadResult(name, says, done, _left_out(session, name))


def _rounds(session: Session, name: str) -> tuple[str, Iterator[Round]]:
    """Tell what a workload is, and its rounds, which run as they are asked for."""
    kafka, times, quick = session.kafka, session.rounds, session.quick
    for workload in BACKLOGS:
        if workload.name == name:
            return workload.says, run_backlog(kafka, workload, session.peers, times, quick=quick)
    for paced in PACED:
        if paced.name == name:
            return paced.says, run_paced(kafka, paced, times, quick=quick)
    match name:
        case "B5":
            return memory.SAYS, memory.run_memory(kafka, times)
        case "B6":
            return churn.SAYS, churn.run_churn(kafka)
        case _:
            return footprint.SAYS, footprint.run_footprint(kafka, session.broker)


def _left_out(session: Session, name: str) -> dict[str, str]:
    """Name the peers of a workload that could not run, with the reason."""
    wanted = [peer for workload in BACKLOGS if workload.name == name for peer in workload.peers]
    return {peer: reason for peer, reason in session.peers.not_run.items() if peer in wanted}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the short form: fewer events, no peers")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each system runs (default: %(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
