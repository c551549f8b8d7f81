"""`hookline config`: what is set, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hookline.service import check_settings, notes_on

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of
from ._toml import toml_lines

if TYPE_CHECKING:
    from hookline.contract import JsonValue

app = typer.Typer(help="Show and check the settings.", no_args_is_help=True)


@app.command("show")
def show(config: ConfigOption = None, output: OutputOption = Output.TEXT) -> None:
    """Show what is set, and where; secrets are masked."""
    settings = settings_of(config)
    shown = settings.redacted()
    if output is Output.JSON:
        print_json(shown)
        return
    typer.echo("\n".join(toml_lines(shown, settings.origin)))


@app.command("check")
def check(
    config: ConfigOption = None,
    embedded: Annotated[bool, typer.Option("--embedded", help="Check what `run --embedded` would use.")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Say what is wrong, and what a hook that is held would stop.

    Imports the hooks; ends 1 when something is wrong.
    """
    settings = settings_of(config)
    problems = check_settings(settings.for_embedded("127.0.0.1:9092") if embedded else settings)
    notes: list[JsonValue] = [] if problems else [*notes_on(settings)]
    if output is Output.JSON:
        told: list[JsonValue] = [{"what": each.what, "where": each.where, "fix": each.fix} for each in problems]
        print_json({"problems": told, "notes": notes})
    else:
        typer.echo("\n".join(str(each) for each in problems) or "ok")
        for note in notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(1 if problems else 0)
