"""`hookline demo`: the whole story, without any set-up."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from hookline.telemetry import configure_logging

from ._options import Output, OutputOption, print_json
from ._story import Story, Tally

_STYLES = {
    "publish": "cyan",
    "handle": "green",
    "retry": "yellow",
    "dead letter": "red",
    "page": "bold red",
    "person": "magenta",
}


def demo(output: OutputOption = Output.TEXT) -> None:
    """Play a story on a broker inside this process.

    Events of a merge queue are published, retried, dead-lettered, paged and republished, and all of them are counted.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # so that the folder goes away also at Ctrl-C
    configure_logging(level="critical", stream=sys.stderr)
    timeline = Timeline(silent=output is Output.JSON)
    with tempfile.TemporaryDirectory(prefix="hookline-demo-") as folder:
        tally = asyncio.run(Story(Path(folder), timeline.tell).play())
    if output is Output.JSON:
        print_json(asdict(tally))
    else:
        timeline.close(tally)
    raise typer.Exit(0 if tally.lost == 0 else 1)


class Timeline:
    """Prints what happens as it happens: coloured on a terminal, plain lines in a pipe."""

    def __init__(self, *, silent: bool) -> None:
        self._console = Console(quiet=silent, highlight=False, soft_wrap=True)
        self._began = time.monotonic()

    def tell(self, who: str, what: str) -> None:
        """Print one line."""
        line = Text.assemble(
            (f"{time.monotonic() - self._began:6.2f} s  ", "dim"), (f"{who:<12}", _STYLES.get(who, "")), what
        )
        self._console.print(line)

    def close(self, tally: Tally) -> None:
        """Print the sum of it."""
        self._console.print()
        self._console.print("  ".join(f"{name} {value}" for name, value in asdict(tally).items()), style="bold")
