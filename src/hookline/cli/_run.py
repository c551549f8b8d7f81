"""`hookline run`: the stage and the reconciler of one domain."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from hookline.errs import one_line
from hookline.kafka import EmbeddedBroker, KafkaClientError
from hookline.service import Service, build_hooks, configure_service_logging
from hookline.telemetry import get_logger

from ._options import ConfigOption, config_path, settings_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hookline.service import Settings

_log = get_logger(__name__)


def run(
    config: ConfigOption = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Use a broker inside this process, for trying things out.")
    ] = False,
) -> None:
    """Run a domain's hook stage and dead-letter reconciler until SIGTERM."""
    settings = settings_of(config)
    configure_service_logging(settings)
    broker: AbstractContextManager[EmbeddedBroker | None] = EmbeddedBroker() if embedded else nullcontext()
    with broker as running:
        if running is not None:
            settings = settings.for_embedded(running.bootstrap)
            running.create_topics(settings.hook_topic(), settings.dead_letter_topic())
            _log.info("embedded broker, for trying things out only", bootstrap=running.bootstrap)
        code = asyncio.run(_serve(settings, str(config_path(config) or "hookline.toml")))
    _leave(code)


async def _serve(settings: Settings, config: str) -> int:
    """Serve until a signal or until a part breaks; tell the exit code."""
    service = Service(settings, build_hooks(settings), config_path=config)
    stopping = asyncio.Event()
    _listen_for_signals(stopping)
    await service.start()
    broken = asyncio.create_task(service.wait())
    asked = asyncio.create_task(stopping.wait())
    await asyncio.wait((broken, asked), return_when=asyncio.FIRST_COMPLETED)
    failure = broken.exception() if broken.done() else None
    asked.cancel()
    broken.cancel()
    try:
        await service.stop()
    except KafkaClientError as error:
        failure = failure or error
    if failure is not None:
        _log.critical("ended by a failure", error=one_line(failure))
    return 1 if failure else 0


def _listen_for_signals(stopping: asyncio.Event) -> None:
    """Drain at the first SIGTERM or SIGINT; the second ends the process at once, without committing anything."""

    def told() -> None:
        if stopping.is_set():
            os._exit(1)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)


def _leave(code: int) -> None:
    """End the process, also when a hook's thread still runs: nothing can stop one, and all it had is uncommitted."""
    stuck = [each.name for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
    if stuck:
        _log.warning("threads still running at exit", threads=stuck)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)
