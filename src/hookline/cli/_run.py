"""`hookline run`: the stage and the reconciler of one domain."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hookline.errs import one_line
from hookline.kafka import EmbeddedBroker
from hookline.service import (
    Isolation,
    ListenAddress,
    Selection,
    Service,
    Settings,
    SettingsError,
    build_hooks,
    check_connections,
    configure_service_logging,
    hold_off,
    run_service,
    wait_until_usable,
)
from hookline.telemetry import configure_logging, get_logger

from ._options import ConfigOption, config_path, log_client_lines, settings_of

if TYPE_CHECKING:
    from hookline.hooks import Resolver

_LET_GO_SECONDS = 1.0

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a service is made of."""

    settings: Settings
    resolver: Resolver


def run(
    config: ConfigOption = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Use a broker inside this process, for trying things out.")
    ] = False,
    stay: Annotated[
        str | None,
        typer.Option(
            "--stay",
            metavar="HOST:PORT",
            help="When the settings cannot be used: answer /livez and /readyz there and try again, instead of ending.",
        ),
    ] = None,
    hook: Annotated[
        list[str] | None,
        typer.Option("--hook", metavar="NAME", help="Run only this hook's own group; may be given several times."),
    ] = None,
    without_hook: Annotated[
        list[str] | None,
        typer.Option("--without-hook", metavar="NAME", help="Run all but this hook's own group; the same."),
    ] = None,
) -> None:
    """Run a domain's hooks and its reconciler of dead letters.

    With --hook neither the reconciler nor the shared group, which another process must run. At SIGTERM or Ctrl-C what
    runs is finished; a second one ends at once.
    """
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedBroker()) if embedded else None
        selection = Selection(frozenset(hook or ()), frozenset(without_hook or ()))
        code = run_service(_run(config, broker, _address(stay), selection))
    raise typer.Exit(code)


async def _run(
    config: Path | None, broker: EmbeddedBroker | None, stay: ListenAddress | None, selection: Selection
) -> int:
    """Serve until a signal or until a part breaks; tell the exit code."""
    stopping = asyncio.Event()
    _listen_for_signals(stopping)
    threads = ThreadPoolExecutor(thread_name_prefix="asyncio")
    asyncio.get_running_loop().set_default_executor(threads)
    failure: BaseException | None = None
    while True:
        wiring = await _wire(config, broker, stay, stopping, selection)
        if wiring is None:
            return 0
        failure = await _serve(await _begin(wiring, config, broker, selection), stopping)
        if stay is None or not isinstance(failure, SettingsError) or stopping.is_set():
            break
        await hold_off(failure, stay, stopping)
    threads.shutdown(wait=False)
    code = 1 if failure else 0
    await _let_go(code)
    return code


async def _begin(wiring: Wiring, config: Path | None, broker: EmbeddedBroker | None, selection: Selection) -> Service:
    configure_service_logging(wiring.settings)
    log_client_lines(wanted=wiring.settings.log.level == "debug")
    if broker is not None:
        _make_topics(wiring.settings, broker)
    path = str(config_path(config) or "hookline.toml")
    service = Service(wiring.settings, wiring.resolver, config_path=path, selection=selection)
    await service.start()
    return service


async def _wire(
    config: Path | None,
    broker: EmbeddedBroker | None,
    stay: ListenAddress | None,
    stopping: asyncio.Event,
    selection: Selection,
) -> Wiring | None:
    """Load the settings and make the hooks; None when told to stop while they could not be used."""

    def load() -> Wiring:
        settings = settings_of(config)
        if broker is not None:
            settings = settings.for_embedded(broker.bootstrap)
        resolver = build_hooks(settings)
        selection.check(Isolation(settings, resolver))
        if problems := check_connections(settings):
            raise SettingsError(problems)
        return Wiring(settings, resolver)

    if stay is None:
        return load()
    configure_logging()
    return await wait_until_usable(load, stay, stopping)


def _make_topics(settings: Settings, broker: EmbeddedBroker) -> None:
    topics = settings.hook_topic(), settings.dead_letter_topic(), settings.control_topic()
    broker.create_topics(*(topic for topic in topics if topic is not None))
    join = f"""export HOOKLINE_KAFKA__COMMON='{{"bootstrap.servers": "{broker.bootstrap}"}}'"""
    _log.info("embedded broker, for trying things out only", kafka=broker.bootstrap)
    typer.echo(f"to join: {join}", err=True)


async def _serve(service: Service, stopping: asyncio.Event) -> BaseException | None:
    """Serve until a signal, or until a part breaks: tell what broke it."""
    broken = asyncio.create_task(service.wait())
    asked = asyncio.create_task(stopping.wait())
    await asyncio.wait((broken, asked), return_when=asyncio.FIRST_COMPLETED)
    failure = broken.exception() if broken.done() else None
    asked.cancel()
    broken.cancel()
    try:
        await service.stop()
    except Exception as error:  # noqa: BLE001 - whatever broke, the process must end, and not as if all were well
        failure = failure or error
    if isinstance(failure, SettingsError):
        _log.critical("settings cannot be used", error=one_line(failure))
    elif failure is not None:
        _log.critical("ended by a failure", error=one_line(failure), exc_info=failure)
    return failure


def _address(text: str | None) -> ListenAddress | None:
    if text is None:
        return None
    try:
        return ListenAddress.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _listen_for_signals(stopping: asyncio.Event) -> None:
    """Drain at the first SIGTERM or SIGINT; the second ends the process at once, without committing anything."""

    def told() -> None:
        if stopping.is_set():
            os._exit(1)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)


async def _let_go(code: int) -> None:
    """End the process when a task cannot be cancelled or a thread still runs: asyncio would wait for them for ever.

    Nothing is lost by it: all that they had is uncommitted.
    """
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    tasks = (await asyncio.wait(rest, timeout=_LET_GO_SECONDS))[1] if rest else set()
    threads = _join_threads(_LET_GO_SECONDS)
    if tasks or threads:
        _log.warning("still running at exit", tasks=[task.get_name() for task in tasks], threads=threads)
        _exit(code)


def _join_threads(seconds: float) -> list[str]:
    """Wait for the threads that would keep the process, and name those that still run."""
    deadline = time.monotonic() + seconds
    threads = [each for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    return [thread.name for thread in threads if thread.is_alive()]


def _exit(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
