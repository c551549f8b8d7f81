"""Writes the tables of docs/performance.md from the JSON of the last full run: `python -m benchmarks.page`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from benchmarks.processes import ROOT
from benchmarks.results import RESULTS, amount, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["BEGIN", "END", "PAGE", "tables", "with_tables", "write_page"]

PAGE: Final = ROOT / "docs" / "performance.md"
BEGIN: Final = "<!-- results: written by the harness, do not edit -->"
END: Final = "<!-- end of results -->"
_NOTHING: Final = "No full run has been kept yet."
_PHASES: Final = ("idle", "busy")


def write_page(results: Path = RESULTS / "full.json", page: Path = PAGE) -> None:
    """Write the tables of the last full run into the page; without one it says so."""
    report = json.loads(results.read_text(encoding="utf-8")) if results.exists() else None
    page.write_text(with_tables(page.read_text(encoding="utf-8"), report), encoding="utf-8")


def with_tables(text: str, report: Mapping[str, Any] | None) -> str:
    """Put the tables between the marks of a page. Raises ValueError when a mark is missing."""
    before, rest = _split(text, BEGIN)
    _, after = _split(rest, END)
    return f"{before}{BEGIN}\n\n{_NOTHING if report is None else tables(report)}\n\n{END}{after}"


def tables(report: Mapping[str, Any]) -> str:
    """Write the tables: what was reached of each goal, all systems, the footprint, and what it was measured on."""
    workloads = report["workloads"]
    parts = [_machine(report), _goals_table(workloads), _systems_table(workloads), _footprint_table(workloads)]
    return "\n\n".join(part for part in [*parts, _left_out(workloads)] if part)


def _split(text: str, mark: str) -> tuple[str, str]:
    before, found, after = text.partition(mark)
    if not found:
        raise ValueError(f"the mark {mark!r} is missing")
    return before, after


def _machine(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    return (
        f"{report['began_at'][:10]}: Python {machine['python']}, confluent-kafka {machine['confluent_kafka']} "
        f"(librdkafka {machine['librdkafka']}), Apache Kafka {machine['kafka']}, {machine['system']} "
        f"{machine['architecture']}, {machine['cores']} cores for all together, load {machine['load_before']} before.\n"
        f"Peers: {', '.join(f'{name} {version}' for name, version in machine['peers'].items()) or 'none'}."
    )


def _goals_table(workloads: Mapping[str, Any]) -> str:
    rows = [_goal_row(name, check) for name, told in workloads.items() for check in told["checks"]]
    return _table(("workload", "measure", "ours", "reference", "reached", "goal", ""), rows)


def _goal_row(name: str, check: Mapping[str, Any]) -> tuple[str, ...]:
    measure, reference = check["measure"], check["reference"]
    of = check["of"] or ""
    return (
        name,
        words(measure),
        _amount(measure, check["ours"]),
        f"{of} {_amount(measure, reference)}".strip() if of else "",
        f"{check['value']:.2f}" if of and check["value"] is not None else _amount(measure, check["value"]),
        check["goal"],
        check["verdict"],
    )


def _systems_table(workloads: Mapping[str, Any]) -> str:
    rows = [
        (name, system, *(_amount(measure, found.get(measure)) for measure in ("rate", "cpu_micros", "max_rss_mib")))
        for name, told in workloads.items()
        for system, found in told["medians"].items()
        if "rate" in found
    ]
    return _table(("workload", "system", "events", "CPU an event", "peak memory"), rows)


def _footprint_table(workloads: Mapping[str, Any]) -> str:
    medians = workloads.get("B7", {}).get("medians", {})
    measures = dict.fromkeys(_bare_name(measure) for found in medians.values() for measure in found)
    measures.pop("", None)
    columns = [(system, each) for system in medians for each in _PHASES]
    rows = [
        (measure.replace("_", " "), *(_number(medians[system].get(f"{each}_{measure}")) for system, each in columns))
        for measure in measures
    ]
    return _table(("footprint", *(f"{system}, {each}" for system, each in columns)), rows)


def _bare_name(measure: str) -> str:
    phase, _, name = measure.partition("_")
    return name if phase in _PHASES else ""


def _left_out(workloads: Mapping[str, Any]) -> str:
    reasons = {peer: reason for told in workloads.values() for peer, reason in told["not_run"].items()}
    return "\n".join(f"Not run: {peer}: {reason}." for peer, reason in reasons.items())


def _amount(measure: str, value: float | None) -> str:
    return "not run" if value is None else amount(measure, value)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines]) if lines else ""


if __name__ == "__main__":
    write_page()
