"""One run: send, let the stage work, compare."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from examples.proof._broker import Domain, broker_at
from examples.proof._checks import Document, Proof, audit_lines, check, warehouse_rows
from examples.proof._errors import ProofError
from examples.proof._screen import Screen
from examples.proof._stage import Stage
from hookline.kafka import KafkaClientError, TopicReader
from hookline.publish import PublishError
from hookline.service import Settings

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from examples.proof._broker import Broker

Send: TypeAlias = Callable[[Settings], Sequence[Document]]
"""Sends events to the hook topic of the settings, confirmed, and returns them in the order sent."""


def prove(options: Namespace, send: Send) -> int:
    """Send events to a fresh domain and print what became of them; return the exit code, 1 when anything is off."""
    logging.basicConfig(level=logging.CRITICAL)  # what goes wrong is raised; what clients log on the way is noise here
    try:
        with _folder_at(options.folder) as folder, broker_at(options.bootstrap) as broker:
            proof = _run(broker, folder, send, Screen())
    except (ProofError, PublishError, KafkaClientError, OSError) as error:
        print(f"no proof: {error}", file=sys.stderr)
        return 1
    _print(proof, as_json=options.output == "json")
    return 0 if proof.holds else 1


def _run(broker: Broker, folder: Path, send: Send, screen: Screen) -> Proof:
    domain = Domain.fresh(broker, folder)
    settings = domain.settings
    broker.create_topics(settings)
    screen.say(f"created topics {settings.hook_topic()} and {settings.dead_letter_topic()} at {broker.bootstrap}")
    with Stage(domain) as stage:
        screen.say("the stage is ready")
        began = time.monotonic()
        sent = send(settings)
        screen.say(f"published {len(sent)}, each confirmed")
        with screen.counting("settled", len(sent)) as told:
            stage.wait_until_settled(len(sent), told)
        seconds = time.monotonic() - began
    screen.say("the stage has drained and ended 0")
    lines, rows = audit_lines(folder / "audit.jsonl"), warehouse_rows(folder / "warehouse.db")
    return check(sent, lines, rows, dead_letters=_count_dead_letters(settings), seconds=seconds)


def _count_dead_letters(settings: Settings) -> int:
    """Read the dead-letter topic to its end."""
    return sum(1 for _ in TopicReader(settings.client_config()).read(settings.dead_letter_topic()))


@contextmanager
def _folder_at(path: Path | None) -> Iterator[Path]:
    """Give an empty folder: what stood in it before would count as proof. One that nobody named is removed again."""
    if path is None:
        with TemporaryDirectory(prefix="hookline-example-") as made:
            yield Path(made)
        return
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise ProofError(f"{path} is not empty: name a new folder with --folder")
    yield path


def _print(proof: Proof, *, as_json: bool) -> None:
    document = asdict(proof)
    if as_json:
        print(json.dumps(document))
        return
    for name, value in document.items():
        print(f"{name.replace('_', ' '):<12} {str(value).lower()}")
