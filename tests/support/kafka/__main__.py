"""Run a command with a real Kafka, or offer one until Ctrl-C: `python -m tests.support.kafka [-- COMMAND ...]`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from . import KafkaError, RealKafka, real_kafka

if TYPE_CHECKING:
    from types import FrameType


def main(arguments: list[str]) -> int:
    """Start or find the broker and end with the command's exit code; 2 when there is no broker."""
    if arguments and (arguments[0] != "--" or len(arguments) == 1):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    signal.signal(signal.SIGTERM, _leave)
    try:
        with real_kafka() as kafka:
            return _run(kafka, arguments[1:]) if arguments else _offer(kafka)
    except KafkaError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _offer(kafka: RealKafka) -> int:
    sys.stdout.write(f"{kafka}\nexport HOOKLINE_TEST_BOOTSTRAP={kafka.bootstrap}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    threading.Event().wait()
    return 0


def _run(kafka: RealKafka, command: list[str]) -> int:
    with subprocess.Popen(command, env=os.environ | _named(kafka)) as process:
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:  # a terminal sends it to the command too: its end decides
                continue
            except SystemExit:
                process.terminate()
                raise
            return code if code >= 0 else 128 - code


def _named(kafka: RealKafka) -> dict[str, str]:
    return {
        "HOOKLINE_TEST_BOOTSTRAP": kafka.bootstrap,
        "HOOKLINE_TEST_KAFKA_VERSION": kafka.version,
        "HOOKLINE_TEST_KAFKA_HOW": kafka.how,
    }


def _leave(number: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(ValueError):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
