"""`hookline publish`: events from a file to the hook topic, confirmed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookline.contract import InvalidEventError, event_from_json, validate_for_publishing
from hookline.publish import HookPublisher
from hookline.service import Problem, SettingsError

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import Event, JsonValue
    from hookline.kafka import Acknowledgement
    from hookline.service import Settings

_ANSWER_SECONDS = 8.0
_MINTED_FROM = 'give "version" as 1 or more, or an "id" of your own'


def publish(
    file: Annotated[
        Path, typer.Option("--file", "-f", metavar="FILE", help="JSON of one event or a list; - reads stdin.")
    ],
    config: ConfigOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Publish events from a file, each confirmed by the broker.

    One after another; the first that is not confirmed ends it.
    """
    settings = settings_of(config)
    events = read_events(file)
    if not events:
        typer.echo(f"hookline: {file}: the list has no events, so there is nothing to publish", err=True)
    rows: list[JsonValue] = []

    def confirmed(event: Event, place: Acknowledgement) -> None:
        rows.append(_row(event, place))
        if output is Output.TEXT:
            typer.echo(f"published {event.id} to {place.topic}/{place.partition}/{place.offset}")

    try:
        if events:
            asyncio.run(_publish(settings, events, confirmed))
    finally:
        if output is Output.JSON:
            print_json({"published": rows})


async def _publish(
    settings: Settings, events: list[Event], confirmed: Callable[[Event, Acknowledgement], None]
) -> None:
    async with HookPublisher.from_settings(settings) as publisher:
        await publisher.check(_ANSWER_SECONDS)
        for event in events:
            confirmed(event, await publisher.publish(event))


def read_events(file: Path) -> list[Event]:
    """Read events in their JSON form (`event_from_json`). Raises SettingsError that says what is wrong with the file."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        document = json.loads(text)
    except OSError as error:
        raise _unreadable(file, f"cannot be read: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(file, f"is not JSON: {error}", "give JSON of one event or a list") from error
    documents = document if isinstance(document, list) else [document]
    return [_event(each, f"event {number}", file) for number, each in enumerate(documents, 1)]


def _unreadable(file: Path, what: str, fix: str) -> SettingsError:
    return SettingsError([Problem(what, str(file), fix)])


def _event(document: Any, name: str, file: Path) -> Event:
    """Make one event and judge it, so that a list is published whole or not begun."""
    try:
        event = event_from_json(document)
        validate_for_publishing(event)
    except InvalidEventError as error:
        fix = _MINTED_FROM if error.field == "id" and "id" not in document else ""
        raise SettingsError([Problem(f"{name}: {error}", str(file), fix)]) from error
    return event


def _row(event: Event, place: Acknowledgement) -> JsonValue:
    return {"id": event.id, "topic": place.topic, "partition": place.partition, "offset": place.offset}
