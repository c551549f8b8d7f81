"""`hookline config`: what is set, and what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from hookline.service import check_settings

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of

app = typer.Typer(help="Show and check the settings.", no_args_is_help=True)


@app.command("show")
def show(config: ConfigOption = None, output: OutputOption = Output.TEXT) -> None:
    """Show every setting that is in force, secrets masked, and where each came from."""
    settings = settings_of(config)
    shown = settings.redacted()
    if output is Output.JSON:
        print_json(shown)
        return
    for key, value in _flat(shown):
        typer.echo(f"{key} = {value}")
    for key, place in settings.origins().items():
        typer.echo(f"# {key}: from {place}")


@app.command("check")
def check(
    config: ConfigOption = None,
    embedded: Annotated[bool, typer.Option("--embedded", help="Check what `run --embedded` would use.")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check the settings, import the hooks, and say what is wrong; ends 1 when something is."""
    settings = settings_of(config)
    problems = check_settings(settings.for_embedded("127.0.0.1:9092") if embedded else settings)
    if output is Output.JSON:
        print_json({"problems": [{"what": each.what, "where": each.where, "fix": each.fix} for each in problems]})
    else:
        typer.echo("\n".join(str(each) for each in problems) or "ok")
    raise typer.Exit(1 if problems else 0)


def _flat(table: object, prefix: str = "") -> list[tuple[str, object]]:
    if not isinstance(table, dict) or not table:
        return [(prefix, table)]
    return [row for key, value in table.items() for row in _flat(value, f"{prefix}.{key}" if prefix else str(key))]
