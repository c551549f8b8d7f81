"""`hookline hooks`: which hooks are wired, and how one of them fares with an event."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hookline.hooks import TrialOutcome
from hookline.service import Problem, SettingsError, dead_letters_of, list_hooks, run_service, try_hook

from ._hooks_text import hook_lines, trial_document, trial_lines
from ._options import ConfigOption, Output, OutputOption, print_json, printable, settings_of
from ._publish import read_events

if TYPE_CHECKING:
    from hookline.contract import Event
    from hookline.hooks import Trial
    from hookline.service import Settings

app = typer.Typer(help="Look at the hooks that are wired, and try one.", no_args_is_help=True)

_STAGE_LOGGER = "hookline.hooks"


@app.command("list")
def list_wired(
    config: ConfigOption = None,
    kinds: Annotated[bool, typer.Option("--kinds", help="List the kinds that no hook uses too.")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the hooks, where they come from and what is wrong.

    Plug-ins that are broken are listed too. Ends 1 when a hook that is wired cannot be made. A resolver from code lists its
    hooks in an attribute `hooks`.
    """
    rows = list_hooks(settings_of(config), unused_kinds=kinds)
    if output is Output.JSON:
        print_json([row.document() for row in rows])
    else:
        for line in hook_lines(rows):
            typer.echo(line)
    raise typer.Exit(1 if any(row.error and row.is_wired for row in rows) else 0)


@app.command("test")
def try_one(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The hook, as the list shows it.")],
    event: Annotated[
        Path | None,
        typer.Option(
            "--event", metavar="FILE", help="JSON of one event, as `hookline publish` takes it; - reads stdin."
        ),
    ] = None,
    dead_letter: Annotated[
        str | None, typer.Option("--dead-letter", metavar="ID", help="The event of this dead letter, partition/offset.")
    ] = None,
    config: ConfigOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run one hook once with an event, for real: what it does is done.

    It is entered, run with its own time limit, and left. Shown is what came of it and what a stage would do next.
    Nothing is published or acknowledged and no offset moves. Ends 0 when the hook did its work, else 1.
    """
    if (event is None) == (dead_letter is None):
        raise typer.BadParameter("give --event FILE or --dead-letter ID, one of them")
    settings = settings_of(config)
    run_service(_try(settings, name, event, dead_letter, output))


async def _try(settings: Settings, name: str, file: Path | None, letter: str | None, output: Output) -> None:
    event = _event_in(file) if file is not None else await _event_of(settings, letter or "")
    typer.echo(printable(f"hookline: running {name} once with {event.id}: what it does is real"), err=True)
    # The stage's own lines tell of attempts to come: there are none.
    logging.getLogger(_STAGE_LOGGER).setLevel(logging.CRITICAL + 1)
    trial = await try_hook(settings, name, event)
    if output is Output.JSON:
        print_json(trial_document(trial))
    else:
        for line in trial_lines(trial):
            typer.echo(line)
    _end(trial)


def _end(trial: Trial) -> None:
    if trial.outcome is TrialOutcome.STUCK:  # what still runs would keep the process for ever
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    raise typer.Exit(0 if trial.is_ok else 1)


def _event_in(file: Path) -> Event:
    events = read_events(file)
    if len(events) != 1:
        what = f"holds {len(events)} events"
        raise SettingsError([Problem(what, str(file), "give a file with one event")])
    return events[0]


async def _event_of(settings: Settings, id: str) -> Event:
    found = (await dead_letters_of(settings).show(id)).stored
    if found.event is None:
        fix = "its record is malformed; no hook can be run with it"
        raise SettingsError([Problem("holds no event", f"dead letter {id}", fix)])
    return found.event
