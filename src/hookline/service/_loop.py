"""The event loop that a service runs on."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, TypeVar

import uvloop

from hookline.errs import one_line
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")

_log = get_logger(__name__)


def run_service(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end on a loop of its own: one whose timers and wake-ups cost half of the standard ones.

    Only `main` ends it. asyncio hands a SystemExit or KeyboardInterrupt of any task to whoever runs the loop, and a task
    that a hook started may raise one: it has failed then, its hook learns of it, and everything else goes on.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        while not task.done():
            try:
                loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done() or _is_asked_for(error):
                    raise
                _log.error("a task tried to end the process, which goes on", error=one_line(error))
        return task.result()


def _is_asked_for(error: BaseException) -> bool:
    """Tell whether somebody pressed Ctrl-C before the service listened for it."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler
