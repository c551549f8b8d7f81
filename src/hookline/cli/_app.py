"""The command line: its commands, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from hookline.contract import ContractError
from hookline.deadletters import DeadLettersError
from hookline.errs import Redactor
from hookline.kafka import KafkaClientError
from hookline.publish import PublishError
from hookline.service import ListenError, ReplayError, SettingsError

from . import _config, _demo, _dlq, _gate, _hooks, _publish, _replay, _run, _topics
from ._options import log_to_standard_error

_EXPECTED = (
    SettingsError, ReplayError, KafkaClientError, PublishError, ContractError, ListenError, DeadLettersError, OSError,
)  # fmt: skip

app = typer.Typer(
    name="hookline",
    help="Durable hook events on Kafka: run a domain's stage, publish, tend dead letters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(_run.run)
app.command("publish")(_publish.publish)
app.command("demo")(_demo.demo)
app.command("replay")(_replay.replay)
app.add_typer(_topics.app, name="topics")
app.add_typer(_dlq.app, name="dlq")
app.add_typer(_gate.app, name="gate")
app.add_typer(_config.app, name="config")
app.add_typer(_hooks.app, name="hooks")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"hookline {version('hookline')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del show_version
    log_to_standard_error(Redactor())


def run_app() -> None:
    """Run the command that was typed, and turn the errors that are to be expected into a line and exit code 1."""
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        app()
    except _EXPECTED as error:
        typer.echo("\n".join(f"hookline: {line}" for line in str(error).splitlines()), err=True)
        sys.exit(1)


def _end_at_once(*_: object) -> None:
    """End by Ctrl-C without waiting for the threads in which a client of Kafka waits; `run` has its own way."""
    os.write(2, b"hookline: interrupted\n")
    os._exit(128 + signal.SIGINT)
