"""Publish recorded GitHub webhooks to a fresh domain and prove that its stage wrote each of them down, once, in order."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from examples.github.mapping import event_of
from examples.github.webhooks import read_webhooks
from examples.proof import arguments_of, parse, prove
from hookline import Event, HookPublisher
from hookline.contract import event_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.proof import Document
    from hookline.service import Settings

_EXAMPLES: Final = Path(__file__).parents[2] / "tests" / "vectors" / "github-webhooks" / "examples.jsonl"


async def publish(events: Sequence[Event], settings: Settings) -> list[Document]:
    """Publish events in order and return them as documents; raises the first PublishError."""
    async with HookPublisher.from_settings(settings) as publisher:
        results = await publisher.publish_many(events)
    for result in results:
        if result.error is not None:
            raise result.error
    return [event_to_json(event) for event in events]


def main() -> int:
    """Run the example; return its exit code."""
    parser = arguments_of("examples.github", __doc__)
    parser.add_argument("--file", type=Path, default=_EXAMPLES, help="recorded webhooks, one JSON document a line")
    options = parse(parser)
    try:
        events = [event_of(webhook) for webhook in read_webhooks(options.file)]
    except (OSError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
    return prove(options, lambda settings: asyncio.run(publish(events, settings)))


if __name__ == "__main__":
    sys.exit(main())
