"""`hookline hooks`: which hooks are wired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hookline.hooks import hooks_of
from hookline.service import build_hooks

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of

if TYPE_CHECKING:
    from hookline.contract import JsonValue

app = typer.Typer(help="Look at the hooks that are wired.", no_args_is_help=True)


@app.command("list")
def list_hooks(config: ConfigOption = None, output: OutputOption = Output.TEXT) -> None:
    """List the hooks by name and class.

    A resolver from code lists its hooks in an attribute `hooks`.
    """
    settings = settings_of(config)
    types = {table.name: table.types for table in settings.hooks}
    rows = [(hook.name, type(hook), types.get(hook.name)) for hook in hooks_of(build_hooks(settings))]
    if output is Output.JSON:
        print_json([{"name": name, "class": _path(kind), "types": _json(wanted)} for name, kind, wanted in rows])
        return
    for name, kind, wanted in rows:
        typer.echo(f"{name}\t{_path(kind)}\t{', '.join(wanted) if wanted else 'from code'}")


def _json(types: list[str] | None) -> JsonValue:
    return None if types is None else list(types)


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
