"""`hookline gate`: close a domain, a hook or a subject, open it again, and list what is closed."""

from __future__ import annotations

import asyncio
import getpass
import os
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hookline.contract import MAX_REASON_CHARS, GateKey, format_time
from hookline.hooks import hooks_of
from hookline.service import Gatekeeper, SettingsError, build_hooks, nearest

from ._options import ConfigOption, Output, OutputOption, print_json, printable, settings_of
from ._times import time_text

if TYPE_CHECKING:
    from hookline.contract import Gate, JsonValue
    from hookline.service import Settings

_COLUMNS = ("HOOK", "SUBJECT", "CLOSED AT", "CLOSED BY", "REASON")

app = typer.Typer(help="Let a domain, a hook or a subject wait, and go on.", no_args_is_help=True)

HookOption: TypeAlias = Annotated[
    str | None, typer.Option("--hook", metavar="NAME", help="Only this hook; without it all.")
]
SubjectOption: TypeAlias = Annotated[
    str | None, typer.Option("--subject", metavar="ID", help="Only events of this subject; without it all.")
]


@app.command("close")
def close(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; whoever asks what is closed reads it.")],
    config: ConfigOption = None,
    hook: HookOption = None,
    subject: SubjectOption = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who closes it; your user name without it.")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Let a hook, a subject, or the whole domain wait.

    With both options it is one hook for one subject, with neither the whole domain. What is running finishes; what follows waits, without costing attempts, in every replica and over restarts, until the
    gate is opened.
    """
    if not reason.strip() or len(reason) > MAX_REASON_CHARS:
        raise typer.BadParameter(f"--reason needs a text of at most {MAX_REASON_CHARS} characters")
    _require_names(hook, subject)
    settings = settings_of(config)
    key = GateKey(settings.domain, hook or "", subject or "")
    _warn_of_unknown(settings, hook)
    gate, was_open = asyncio.run(Gatekeeper(settings).close(key, reason.strip(), by or _user()))
    if output is Output.JSON:
        print_json({"gate": _document(gate), "changed": was_open})
    elif was_open:
        typer.echo(f"closed {_named(key)}; what is running finishes, what follows waits")
    else:
        typer.echo(f"{_named(key)} is closed already, {_since(gate)}: {printable(gate.reason) or '(no reason given)'}")


@app.command("open")
def open_gate(
    config: ConfigOption = None,
    hook: HookOption = None,
    subject: SubjectOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Open what was closed; what waited for it runs.

    It is known by the same hook and subject. Another gate that is closed, such as that of the whole domain, stays closed.
    """
    _require_names(hook, subject)
    settings = settings_of(config)
    key = GateKey(settings.domain, hook or "", subject or "")
    gate = asyncio.run(Gatekeeper(settings).open(key))
    if output is Output.JSON:
        print_json({"gate": None if gate is None else _document(gate), "changed": gate is not None})
    elif gate is None:
        _warn_of_unknown(settings, hook)
        typer.echo(f"{_named(key)} was not closed; a process that holds it and could not write that down lets it go")
    else:
        typer.echo(f"opened {_named(key)}, closed {_since(gate)}")


@app.command("list")
def list_gates(config: ConfigOption = None, output: OutputOption = Output.TEXT) -> None:
    """List what is closed in the domain, the oldest first."""
    gates = asyncio.run(Gatekeeper(settings_of(config)).closed())
    if output is Output.JSON:
        print_json([_document(gate) for gate in gates])
        return
    if not gates:
        typer.echo("nothing is closed")
        return
    for line in (_COLUMNS, *map(_cells, gates)):
        typer.echo("\t".join(line))


def _require_names(hook: str | None, subject: str | None) -> None:
    """Refuse an empty name: it would stand for all, which nobody means who gives one."""
    for option, value in (("--hook", hook), ("--subject", subject)):
        if value == "":
            raise typer.BadParameter(f"{option} is empty; leave it out to mean all")


def _warn_of_unknown(settings: Settings, hook: str | None) -> None:
    """Say when no hook has that name, as far as that can be told here: the hooks may be those of another host."""
    if hook is None:
        return
    try:
        known = {each.name for each in hooks_of(build_hooks(settings))}
    except SettingsError as error:
        typer.echo(f"hookline: not checked whether there is a hook {printable(hook)}: {error}", err=True)
        return
    if known and hook not in known:
        typer.echo(f"hookline: there is no hook {printable(hook)}; {nearest(hook, known)}", err=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in an image the user often has no name
        return f"user {os.getuid()}"


def _named(key: GateKey) -> str:
    return printable(str(key))


def _since(gate: Gate) -> str:
    by = f" by {printable(gate.closed_by)}" if gate.closed_by else ""
    return f"since {time_text(gate.closed_at_ms or None)}{by}"


def _cells(gate: Gate) -> tuple[str, ...]:
    closed_at = time_text(gate.closed_at_ms or None)
    texts = (gate.hook or "*", gate.subject or "*", closed_at, gate.closed_by or "-", gate.reason or "-")
    return tuple(map(printable, texts))


def _document(gate: Gate) -> dict[str, JsonValue]:
    return {
        "scope": gate.key.scope,
        "domain": gate.domain,
        "hook": gate.hook or None,
        "subject": gate.subject or None,
        "reason": gate.reason,
        "closed_by": gate.closed_by,
        "closed_at": format_time(gate.closed_at_ms) if gate.closed_at_ms else None,
    }
