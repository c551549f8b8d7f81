"""Options that several commands share, and what they mean."""

from __future__ import annotations

import json
import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hookline.service import load_settings, redactor_of
from hookline.telemetry import configure_logging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.contract import JsonValue
    from hookline.errs import Redactor
    from hookline.service import Settings

_CLIENT_LOGGER = "hookline.kafka.client"
DEFAULT_CONFIG = Path("hookline.toml")


class Output(StrEnum):
    """How a command prints data."""

    TEXT = "text"
    JSON = "json"


ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", "-c", envvar="HOOKLINE_CONFIG", help="Settings file; hookline.toml here if it exists."),
]
OutputOption: TypeAlias = Annotated[Output, typer.Option("--output", "-o", help="For people, or one JSON document.")]


def settings_of(config: Path | None) -> Settings:
    """Load the settings that a command was given, and keep their secrets out of its log. Raises SettingsError."""
    settings = load_settings(config_path(config))
    log_to_standard_error(redactor_of(settings))
    return settings


def log_to_standard_error(redactor: Redactor) -> None:
    """Keep standard output for what a command prints; `hookline run` sets its own log up once it has its settings.

    The Kafka client's own lines are left out: what they mean ends the command with one sentence.
    """
    configure_logging(format="console", level="warning", stream=sys.stderr, redact=redactor.redact)
    logging.getLogger(_CLIENT_LOGGER).setLevel(logging.CRITICAL)


def log_everything() -> None:
    """Let the Kafka client's own lines through again."""
    logging.getLogger(_CLIENT_LOGGER).setLevel(logging.NOTSET)


def config_path(config: Path | None) -> Path | None:
    """Tell which file is read: the one given, else hookline.toml if it is here, else none but the environment."""
    if config is None and DEFAULT_CONFIG.exists():
        return DEFAULT_CONFIG
    return config


def print_json(document: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
    """Print one document on standard output; what cannot be printed is escaped, for its texts may be foreign."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    typer.echo("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text))
