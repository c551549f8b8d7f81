"""The command line that the examples share."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

_VARIABLE: Final = "HOOKLINE_TEST_BOOTSTRAP"


def arguments_of(program: str, description: str) -> ArgumentParser:
    """Make a parser of the arguments that every example takes."""
    parser = ArgumentParser(f"python -m {program}", description=description)
    broker = parser.add_mutually_exclusive_group()
    broker.add_argument("--bootstrap", metavar="HOST:PORT", help=f"a real broker; {_VARIABLE} when not given")
    broker.add_argument("--embedded", action="store_true", help="a broker inside this process, for trying things out")
    parser.add_argument("--folder", type=Path, help="an empty folder to keep audit file, warehouse and log in")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="for people, or one JSON document")
    return parser


def parse(parser: ArgumentParser) -> Namespace:
    """Parse the command line; `bootstrap` is None for the embedded broker. Exits 2 when no broker is named."""
    options = parser.parse_args()
    if not options.embedded:
        options.bootstrap = options.bootstrap or os.environ.get(_VARIABLE)
        if not options.bootstrap:
            parser.error(f"no broker is named: give --bootstrap HOST:PORT (or set {_VARIABLE}), or --embedded")
    return options
