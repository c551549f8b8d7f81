"""`hookline dlq`: list, show and republish dead letters."""

from __future__ import annotations

import asyncio
import getpass
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hookline.contract import DeadLetterClass
from hookline.deadletters import Filter, UnknownDeadLetterError
from hookline.kafka import AcknowledgedProducer
from hookline.service import dead_letters_of

from ._dlq_text import command_to_go_on, detail_lines, list_lines, plan_lines, report_lines
from ._options import ConfigOption, Output, OutputOption, choice, number, print_json, settings_of
from ._times import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookline.deadletters import DeadLetters, Plan, Report
    from hookline.service import Settings

app = typer.Typer(help="Look after dead letters.", no_args_is_help=True)

_FLUSH_SECONDS = 5.0

HooksOption = Annotated[
    list[str] | None, typer.Option("--hook", metavar="NAME", help="A hook that failed; may be repeated.")
]
TypesOption = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="An event type; * stands for anything.")
]
SourcesOption = Annotated[list[str] | None, typer.Option("--source", metavar="SOURCE", help="An event source.")]
ClassesOption = Annotated[
    list[DeadLetterClass] | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        parser=choice(DeadLetterClass),
        help="Why it was given up: malformed, permanent, exhausted or crashed.",
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Failed since: 2h, 7d, or a time in RFC 3339.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Failed before: 2h, 7d, or a time in RFC 3339.")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", metavar="N", parser=number, help="At most so many, the oldest first.")
]


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
    if not rows:
        typer.echo("no dead letters")
        return
    _print(list_lines(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


@app.command("show")
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="partition/offset, as the list shows it.")],
    config: ConfigOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show one dead letter: who failed and why, and the event.

    With --output json all of it: headers, key and value too.
    """
    detail = asyncio.run(dead_letters_of(settings_of(config)).show(id))
    if output is Output.JSON:
        print_json(detail.document())
        return
    _print(detail_lines(detail))


@app.command("republish")
def republish(
    config: ConfigOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter that the filters leave.")] = False,
    id: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="One dead letter; may be repeated.")
    ] = None,
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
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="NAME", help="Go on with an interrupted run.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Act; without it the plan is shown.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the record.")] = "",
    output: OutputOption = Output.TEXT,
) -> None:
    """Send dead letters back to their hook topic.

    Only the hooks that failed run again. Without --execute the plan is shown and nothing is sent.
    """
    chosen = _filter(hook, type, source, letter_class, since, until, limit, ids=id)
    if not everything and chosen == Filter(limit=limit):
        raise typer.BadParameter("choose what: --all, --id ID, or a filter such as --hook NAME")
    if execute and not reason.strip():
        raise typer.BadParameter("--execute needs a --reason; it is kept with the records")
    if execute and not yes and not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; give --yes to act without being asked")
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
        _print_plan(plan, wish)
        return 0
    if wish.output is Output.TEXT:
        _print(plan_lines(plan))
    if plan.letters and not wish.yes and not _agreed(len(plan.letters)):
        return 1
    report = await _execute(letters, plan, settings, wish.reason)
    if wish.output is Output.JSON:
        print_json(report.document())
    else:
        _print(report_lines(report))
    return 0 if report.is_complete else 1


def _print_plan(plan: Plan, wish: Wish) -> None:
    if wish.output is Output.JSON:
        print_json(plan.document())
        return
    _print(plan_lines(plan))
    if plan.letters:
        typer.echo(f"to go on: {command_to_go_on(sys.argv[1:], reason=bool(wish.reason))}")


def _agreed(count: int) -> bool:
    # On standard error: with --output json standard output is one document.
    return typer.confirm(f"Republish {count} dead letter{'s' if count != 1 else ''}?", err=True)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


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
        since_ms=moment_ms(since, "--since"),
        until_ms=moment_ms(until, "--until"),
        limit=limit,
        ids=tuple(ids or ()),
    )
