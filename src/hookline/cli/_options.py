"""Options that several commands share, and what they mean."""

from __future__ import annotations

import json
import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer

from hookline.service import load_settings, redactor_of
from hookline.telemetry import configure_logging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.contract import JsonValue
    from hookline.errs import Redactor
    from hookline.service import Settings

Choice = TypeVar("Choice", bound=StrEnum)

_CLIENT_LOGGER = "hookline.kafka.client"
DEFAULT_CONFIG = Path("hookline.toml")


class Output(StrEnum):
    """How a command prints data."""

    TEXT = "text"
    JSON = "json"


def choice(kind: type[Choice]) -> Callable[[str], Choice]:
    """Make the parser of an option that takes the values of an enumeration."""

    def parse(text: str) -> Choice:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f'"{text}" is none of {", ".join(kind)}') from None

    return parse


def number(text: str) -> int:
    """Read the value of an option that takes a number of things, 1 or more."""
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise typer.BadParameter(f'"{text}" is not a whole number of 1 or more')
    return count


ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        envvar="HOOKLINE_CONFIG",
        help="Settings file; hookline.toml here if it exists.",
    ),
]
OutputOption: TypeAlias = Annotated[
    Output,
    typer.Option(
        "--output", "-o", metavar="text|json", parser=choice(Output), help="For people, or one JSON document."
    ),
]


def settings_of(config: Path | None) -> Settings:
    """Load the settings that a command was given, and keep their secrets out of its log. Raises SettingsError."""
    settings = load_settings(config_path(config))
    log_to_standard_error(redactor_of(settings))
    return settings


def log_to_standard_error(redactor: Redactor) -> None:
    """Keep standard output for what a command prints; `hookline run` sets its own log up once it has its settings.

    The Kafka client's own lines are left out.
    """
    configure_logging(format="console", level="warning", stream=sys.stderr, redact=redactor.redact)
    log_client_lines(wanted=False)


def log_client_lines(*, wanted: bool) -> None:
    """Let the Kafka client's own lines through, or not: what they mean is also said in words of our own."""
    logging.getLogger(_CLIENT_LOGGER).setLevel(logging.NOTSET if wanted else logging.CRITICAL)


def config_path(config: Path | None) -> Path | None:
    """Tell which file is read: the one given, else hookline.toml if it is here, else none but the environment."""
    if config is None and DEFAULT_CONFIG.exists():
        return DEFAULT_CONFIG
    return config


def print_json(document: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
    """Print one document on standard output; what cannot be printed is escaped, for its texts may be foreign."""
    typer.echo(json_text(document))


def json_text(document: Mapping[str, JsonValue] | Sequence[JsonValue]) -> str:
    """Write a document down; what cannot be printed is escaped as JSON does it."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def printable(text: str) -> str:
    """Escape what would paint the terminal, turn text around or end the line: an event may say anything."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
