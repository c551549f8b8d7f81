"""`hookline dlq`: list, show and republish dead letters."""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hookline.contract import DeadLetterClass
from hookline.deadletters import Filter, UnknownDeadLetterError
from hookline.kafka import AcknowledgedProducer
from hookline.service import dead_letters_of

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of
from ._times import moment_ms, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.deadletters import DeadLetters, Plan, Report, Row
    from hookline.service import Settings

app = typer.Typer(help="Look after dead letters.", no_args_is_help=True)

_FLUSH_SECONDS = 5.0
_COLUMNS = ("ID", "FAILED AT", "CLASS", "CODE", "TYPE", "SUBJECT", "HOOKS", "REPUBLISHED")

HooksOption = Annotated[list[str] | None, typer.Option("--hook", help="A hook that failed; may be repeated.")]
TypesOption = Annotated[list[str] | None, typer.Option("--type", help="An event type; * stands for anything.")]
SourcesOption = Annotated[list[str] | None, typer.Option("--source", help="An event source.")]
ClassesOption = Annotated[list[DeadLetterClass] | None, typer.Option("--class", help="Why it was given up.")]
SinceOption = Annotated[str | None, typer.Option("--since", help="Failed since: 2h, 7d, or a time in RFC 3339.")]
UntilOption = Annotated[str | None, typer.Option("--until", help="Failed before: 2h, 7d, or a time in RFC 3339.")]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many, the oldest first.")]


@app.command("list")
def list_letters(
    config: ConfigOption = None,
    hook: HooksOption = None,
    type: TypesOption = None,
    source: SourcesOption = None,
    letter_class: ClassesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """List dead letters, oldest first. Moves no offset."""
    chosen = _filter(hook, type, source, letter_class, since, until, limit)
    rows = asyncio.run(dead_letters_of(settings_of(config)).list_rows(chosen))
    if output is Output.JSON:
        print_json([row.document() for row in rows])
        return
    _print_rows(rows)


@app.command("show")
def show(
    id: Annotated[str, typer.Argument(help="partition/offset, as the list shows it.")],
    config: ConfigOption = None,
) -> None:
    """Show one dead letter whole, as JSON: event, failures, headers."""
    print_json(asyncio.run(dead_letters_of(settings_of(config)).show(id)).document())


@app.command("republish")
def republish(
    config: ConfigOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter that the filters leave.")] = False,
    id: Annotated[list[str] | None, typer.Option("--id", help="One dead letter; may be repeated.")] = None,
    hook: HooksOption = None,
    type: TypesOption = None,
    source: SourcesOption = None,
    letter_class: ClassesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: LimitOption = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also what was republished before, and what has completed since.")
    ] = False,
    all_hooks: Annotated[
        bool, typer.Option("--all-hooks", help="Run every hook, not those alone that failed.")
    ] = False,
    operation: Annotated[str | None, typer.Option("--operation", help="Go on with an interrupted run.")] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Act; without it the plan is shown.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the record.")] = "",
    output: OutputOption = Output.TEXT,
) -> None:
    """Send dead letters back to their hook topic; only the hooks that failed run again. Shows a plan unless --execute."""
    chosen = _filter(hook, type, source, letter_class, since, until, limit, ids=id)
    if not everything and chosen == Filter(limit=limit):
        raise typer.BadParameter("choose what: --all, --id ID, or a filter such as --hook NAME")
    if execute and not reason.strip():
        raise typer.BadParameter("--execute needs a --reason; it is kept with the records")
    wish = Wish(chosen, again, all_hooks, operation, execute, yes, reason, output)
    raise typer.Exit(asyncio.run(_republish(settings_of(config), wish)))


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asked for on the command line."""

    chosen: Filter
    again: bool
    all_hooks: bool
    operation: str | None
    execute: bool
    yes: bool
    reason: str
    output: Output


async def _republish(settings: Settings, wish: Wish) -> int:
    letters = dead_letters_of(settings)
    plan = await letters.plan(wish.chosen, again=wish.again, all_hooks=wish.all_hooks, operation=wish.operation)
    _refuse_unknown(wish.chosen.ids, plan)
    if not wish.execute:
        _print_plan(plan, wish.output)
        return 0
    if wish.output is Output.TEXT:
        _print_plan(plan, wish.output)
    if plan.letters and not wish.yes and not typer.confirm(f"Republish {len(plan.letters)} dead letters?"):
        return 1
    report = await _execute(letters, plan, settings, wish.reason)
    _print_report(report, wish.output)
    return 0 if report.is_complete else 1


def _refuse_unknown(ids: Sequence[str], plan: Plan) -> None:
    known = {planned.stored.id for planned in plan.letters} | {id for id, _ in plan.left_out}
    for id in ids:
        if id not in known:
            raise UnknownDeadLetterError(id)


async def _execute(letters: DeadLetters, plan: Plan, settings: Settings, reason: str) -> Report:
    producer = AcknowledgedProducer(settings.client_config().producer())
    try:
        return await letters.execute(plan, producer, reason=reason, operator=getpass.getuser())
    finally:
        await producer.close(_FLUSH_SECONDS)


def _filter(
    hook: list[str] | None,
    type: list[str] | None,
    source: list[str] | None,
    letter_class: list[DeadLetterClass] | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    ids: Sequence[str] | None = None,
) -> Filter:
    return Filter(
        hooks=tuple(hook or ()),
        types=tuple(type or ()),
        sources=tuple(source or ()),
        classes=tuple(letter_class or ()),
        since_ms=moment_ms(since),
        until_ms=moment_ms(until),
        limit=limit,
        ids=tuple(ids or ()),
    )


def _print_rows(rows: Sequence[Row]) -> None:
    if not rows:
        typer.echo("no dead letters")
        return
    lines = [_COLUMNS, *(tuple(map(_printable, _cells(row))) for row in rows)]
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        typer.echo("\n".join("\t".join(line) for line in lines))
        return
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    for line in lines[1:]:
        table.add_row(*map(Text, line))
    console.print(table)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.id, time_text(row.failed_at_ms), row.letter_class or "-", row.code, row.type or "-", row.subject or "-",
        ", ".join(row.hooks) or "-", "yes" if row.republished else "no",
    )  # fmt: skip


def _printable(text: str) -> str:
    """Escape what would paint the terminal, turn text around or end the line: an event may say anything."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _print_plan(plan: Plan, output: Output) -> None:
    if output is Output.JSON:
        print_json(plan.document())
        return
    typer.echo(f"operation {plan.operation}: to republish: {len(plan.letters)}")
    for topic, count in sorted(plan.per_topic.items()):
        typer.echo(f"  {count} to {_printable(topic)}")
    for (name, code), count in sorted(plan.per_reason.items()):
        typer.echo(f"  {count} failed in {_printable(name or 'no hook')}: {_printable(code)}")
    for why, count in sorted(plan.left_out_counts.items()):
        typer.echo(f"  {count} left out: {str(why).replace('_', ' ')}")


def _print_report(report: Report, output: Output) -> None:
    if output is Output.JSON:
        print_json(report.document())
        return
    for fate, count in sorted(report.counts.items()):
        typer.echo(f"{count} {str(fate).replace('_', ' ')}")
