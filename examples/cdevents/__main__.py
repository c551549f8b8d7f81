"""Let another program write CDEvents as CloudEvents, and prove that the stage read each of them as it was written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from examples.cdevents.foreign import MODES, NotWrittenError, message_of, read_cdevents, write
from examples.proof import ProofError, arguments_of, parse, prove

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cloudevents.core.bindings.kafka import KafkaMessage

    from examples.cdevents.foreign import CDEvent
    from examples.proof import Document
    from hookline.service import Settings

_EXAMPLES: Final = Path(__file__).parents[2] / "tests" / "vectors" / "cdevents-spec-0.5.1" / "conformance"


def send(written: Sequence[tuple[Document, KafkaMessage]], settings: Settings) -> list[Document]:
    """Have the messages written, and return the documents that hooks should get of them."""
    bootstrap = settings.kafka.common["bootstrap.servers"]
    try:
        write(bootstrap, settings.hook_topic(), [message for _, message in written])
    except NotWrittenError as error:
        raise ProofError(str(error)) from error
    return [document for document, _ in written]


def expected(cdevent: CDEvent) -> Document:
    """Say what a hook should see of a CDEvent: its envelope by the binding, and all of it as the payload."""
    context, subject = cdevent["context"], cdevent["subject"]["id"]
    return {name: context[name] for name in ("id", "source", "type")} | {"subject": subject, "payload": cdevent}


def main() -> int:
    """Run the example; return its exit code."""
    parser = arguments_of("examples.cdevents", __doc__)
    parser.add_argument("--events", type=Path, default=_EXAMPLES, help="a folder of CDEvents, one JSON file each")
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both", help="how CloudEvents are put into records")
    options = parse(parser)
    modes = MODES if options.mode == "both" else (options.mode,)
    try:
        written = [
            (expected(cdevent), message_of(cdevent, mode))
            for mode in modes
            for cdevent in read_cdevents(options.events, mode)
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.exit(1, f"{parser.prog}: {options.events} holds something other than CDEvents: {error!r}\n")
    return prove(options, lambda settings: send(written, settings))


if __name__ == "__main__":
    sys.exit(main())
