"""`hookline topics`: make the topics of a domain, or tell what to ask for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hookline.kafka import TopicAdmin, TopicRefusedError
from hookline.service import wanted_topics

from ._options import ConfigOption, Output, OutputOption, print_json, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import JsonValue
    from hookline.kafka import TopicChange, WantedTopic
    from hookline.service import Settings

_ANSWER_SECONDS = 8.0

app = typer.Typer(help="Make and check the topics of a domain.", no_args_is_help=True)

FileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="What the topics should be; a sensible default without it."),
]


@app.command("apply")
def apply(config: ConfigOption = None, file: FileOption = None, output: OutputOption = Output.TEXT) -> None:
    """Create the topics that are missing.

    With --file also set what differs in those that exist. Never changes the partition count of a topic that exists.
    """
    settings = settings_of(config)
    changes = _interruptible(partial(_apply, settings, wanted_topics(settings, file), alter=file is not None))
    if output is Output.JSON:
        print_json([_document(change) for change in changes])
        return
    for change in changes:
        typer.echo(_applied(change))


@app.command("check")
def check(config: ConfigOption = None, file: FileOption = None, output: OutputOption = Output.TEXT) -> None:
    """Compare the topics with what they should be.

    Prints what to ask for; ends 1 when something is missing or differs.
    """
    settings = settings_of(config)
    changes = _interruptible(partial(_compared, settings, wanted_topics(settings, file)))
    bad = [change for change in changes if change.creates or change.alters]
    if output is Output.JSON:
        print_json([_document(change) for change in changes])
    else:
        for change in changes:
            typer.echo("\n".join(_asked(change)))
    raise typer.Exit(1 if bad else 0)


def _interruptible(work: Callable[[], list[TopicChange]]) -> list[TopicChange]:
    """Work on another thread: on the main one Ctrl-C would wait until the client's call returns."""
    with ThreadPoolExecutor(1, "hookline-topics") as pool:
        return pool.submit(work).result()


def _apply(settings: Settings, wanted: list[WantedTopic], *, alter: bool) -> list[TopicChange]:
    with TopicAdmin(settings.client_config(), _ANSWER_SECONDS) as admin:
        changes = admin.plan(wanted)
        if not alter:  # the defaults are for new topics: somebody chose what stands in the others
            changes = [change if change.creates else replace(change, settings={}) for change in changes]
        for change in changes:
            admin.apply(change)
    return changes


def _compared(settings: Settings, wanted: list[WantedTopic]) -> list[TopicChange]:
    """Compare with Kafka; where reading settings is refused, only whether the topics exist and their partitions."""
    with TopicAdmin(settings.client_config(), _ANSWER_SECONDS) as admin:
        try:
            return admin.plan(wanted)
        except TopicRefusedError as error:
            typer.echo(f"hookline: {error}; comparing without settings", err=True)
            return admin.plan([replace(topic, config={}) for topic in wanted])


def _applied(change: TopicChange) -> str:
    name = change.wanted.name
    if change.creates:
        return f"created {name} with {change.wanted.partitions} partitions"
    said = ", ".join(f"{key} from {found} to {wanted}" for key, (found, wanted) in sorted(change.settings.items()))
    return (f"set {name}: {said}" if said else f"{name} is as it should be") + _kept(change)


def _asked(change: TopicChange) -> list[str]:
    name, wanted = change.wanted.name, change.wanted
    if change.creates:
        replicas = f" --replication-factor {wanted.replication_factor}" if wanted.replication_factor else ""
        config = "".join(f" --config {key}={value}" for key, value in sorted(wanted.config.items()))
        ask = f"kafka-topics.sh --create --topic {name} --partitions {wanted.partitions}{replicas}{config}"
        return [f"{name} does not exist, or may not be described; ask for it:", f"  {ask}"]
    if not change.settings:
        return [f"{name} ok{_kept(change)}"]
    return [
        f"{name} differs{_kept(change)}; ask for it:",
        *(
            f"  kafka-configs.sh --alter --entity-type topics --entity-name {name} --add-config {key}={value}   (now {found})"
            for key, (found, value) in sorted(change.settings.items())
        ),
    ]


def _kept(change: TopicChange) -> str:
    if change.keeps_partitions is None:
        return ""
    found, wanted = change.keeps_partitions
    return f"; keeps its {found} partitions, not {wanted}: changing them would break the order of subjects"


def _document(change: TopicChange) -> JsonValue:
    return {
        "topic": change.wanted.name,
        "exists": not change.creates,
        "partitions": change.found.partitions if change.found else None,
        "wanted_partitions": change.wanted.partitions,
        "settings": {key: {"found": found, "wanted": wanted} for key, (found, wanted) in change.settings.items()},
    }
