"""Dead letters, plans and reports as people read them. What an event says is shown, never obeyed."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size

from hookline.contract import event_to_json
from hookline.deadletters import Fate
from hookline.errs import redacted

from ._options import json_text, printable
from ._times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.contract import HookFailure
    from hookline.deadletters import Detail, Plan, Report, Row

_COLUMNS: Final = ("ID", "FAILED AT", "CLASS", "CODE", "TYPE", "SUBJECT", "HOOKS", "REPUBLISHED", "ERROR")
_LEAST_ERROR_CELLS: Final = 40
_LETTERS_SHOWN: Final = 20
_VALUE_CHARS: Final = 400


def list_lines(rows: Sequence[Row], width: int | None) -> list[str]:
    """Return a list with its head: in columns for a terminal of this width, tab-separated without one.

    In columns only the error is cut; what does not fit beside it goes on in the terminal's next line.
    """
    lines = [_COLUMNS, *(tuple(map(printable, _cells(row))) for row in rows)]
    if width is None:
        return ["\t".join(line) for line in lines]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    widths[-1] = max(width - sum(widths[:-1]) - 2 * len(widths), _LEAST_ERROR_CELLS)
    return ["  ".join(map(_fitted, line, widths)).rstrip() for line in lines]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.id, time_text(row.failed_at_ms), row.letter_class or "-", row.code, row.type or "-", row.subject or "-",
        ", ".join(row.hooks) or "-", "yes" if row.republished else "no", row.message or "-",
    )  # fmt: skip


def _fitted(cell: str, width: int) -> str:
    return set_cell_size(cell, width) if cell_len(cell) <= width else f"{set_cell_size(cell, width - 1)}…"


def detail_lines(detail: Detail) -> Iterator[str]:
    """Return one dead letter: what happened, who failed and where, the event, and how to send it back."""
    row, stored = detail.row, detail.stored
    letter = stored.letter
    yield f"dead letter {row.id} in {printable(stored.record.topic)}"
    first = letter.first_failed_at_ms
    before = f", for the first time {time_text(first)}" if first and first != row.failed_at_ms else ""
    yield f"failed at   {time_text(row.failed_at_ms)}{before}"
    yield f"class       {row.letter_class}, code {printable(row.code)}, attempts {letter.delivery_count}"
    yield f"origin      {printable(row.origin or 'unknown')}, redrives {row.redrives}"
    yield f"republished {'yes' if row.republished else 'no'}"
    if not letter.failures:
        yield f"error       {printable(row.message)}"
    for failure in letter.failures:
        yield from _failure_lines(detail, failure)
    yield from _event_lines(detail)
    yield f"to send it back: hookline dlq republish --id {row.id}"


def _failure_lines(detail: Detail, failure: HookFailure) -> Iterator[str]:
    def shown(text: str) -> str:
        return printable(detail.redact(text))

    yield f"hook        {shown(failure.hook)}: {shown(failure.exception)}: {shown(failure.message)}"
    attempts = f"{failure.attempts} attempt{'s' if failure.attempts != 1 else ''} in {failure.elapsed_seconds:.1f} s"
    yield f"            {shown(failure.verdict)}, {shown(failure.code)}, {attempts}"
    if failure.location:
        yield f"            at {shown(failure.location)}"
    for cause in failure.causes:
        yield f"            because of {shown(cause)}"
    about = [shown(str(subject)) for subject in failure.subjects if subject.type != "hook"]
    if about:
        yield f"            about {', '.join(about)}"
    for name, value in failure.detail.items():
        told = json.dumps(redacted({name: value}, detail.redact), ensure_ascii=False)
        yield f"            {printable(told)}"
    if failure.truncated:
        yield "            (not all of what it is about is here)"


def _event_lines(detail: Detail) -> Iterator[str]:
    event, value = detail.stored.event, detail.stored.record.value
    if event is not None:
        yield "event"
        yield from (f"  {line}" for line in json_text(event_to_json(event)).splitlines())
        return
    text = "null" if value is None else repr(value)
    cut = f"{text[:_VALUE_CHARS]}… (all of it with --output json)" if len(text) > _VALUE_CHARS else text
    yield f"no event; value {cut}"


def plan_lines(plan: Plan) -> Iterator[str]:
    """Return the counts of a plan, what it leaves out, and its letters."""
    yield f"operation {plan.operation}: to republish: {len(plan.letters)}"
    for topic, count in sorted(plan.per_topic.items()):
        yield f"  {count} to {printable(topic)}"
    for (name, code), count in sorted(plan.per_reason.items()):
        yield f"  {count} failed in {printable(name or 'no hook')}: {printable(code)}"
    for why, count in sorted(plan.left_out_counts.items()):
        yield f"  {count} left out: {spaced(why)}"
    for planned in plan.letters[:_LETTERS_SHOWN]:
        event, hooks = planned.stored.event, planned.hooks
        what = f"{event.type} {event.subject}" if event else "no event"
        runs = f"hooks {', '.join(hooks)}" if hooks else "all its hooks"
        yield printable(f"  {planned.stored.id} {what} -> {planned.topic}: {runs}")
    yield from _more(len(plan.letters))


def command_to_go_on(arguments: Sequence[str], *, reason: bool) -> str:
    """Return what to type after a plan, made of what was typed for it."""
    return f"hookline {shlex.join(arguments)} --execute" + ("" if reason else ' --reason "why"')


def report_lines(report: Report) -> Iterator[str]:
    """Return what became of the letters: where those lie that were confirmed, every one that failed, and the counts."""
    confirmed = [result for result in report.results if result.fate is Fate.CONFIRMED]
    for result in confirmed[:_LETTERS_SHOWN]:
        yield printable(f"confirmed {result.id} -> {result.target}")
    yield from _more(len(confirmed))
    for result in report.results:
        if result.fate is Fate.FAILED:
            yield printable(f"failed {result.id}: {result.error}")
    for fate, count in sorted(report.counts.items()):
        yield f"{count} {spaced(fate)}"


def _more(count: int) -> Iterator[str]:
    if count > _LETTERS_SHOWN:
        yield f"  and {count - _LETTERS_SHOWN} more"


def spaced(name: str) -> str:
    """Return a name of several words as people write it."""
    return name.replace("_", " ")
