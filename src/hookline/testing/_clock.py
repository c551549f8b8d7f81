"""Other clocks for hookline, and for nobody else."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRODUCT = "hookline."
_KIT = __name__.rpartition(".")[0]


class Clocks(Protocol):
    """What tells the time in the place of the module `time`."""

    def monotonic(self) -> float:
        """Tell the time by the clock of timers, in seconds."""
        ...

    def wall(self) -> float:
        """Tell the time of day, in seconds since 1970."""
        ...

    def wall_ns(self) -> int:
        """Tell the time of day, in nanoseconds since 1970."""
        ...

    def work(self) -> float:
        """Tell the time by the clock that measures how long something took, in seconds."""
        ...


@contextmanager
def told_by(clocks: Clocks) -> Iterator[None]:
    """Let every module of hookline that is imported by now read these clocks; all others keep the real ones.

    What a module calls `time`, or has taken out of it by name, is replaced in that module. Not while another has done
    so: the first one's clocks stay then.
    """
    standins = _standins(clocks)
    replaced = [
        (namespace, name, value)
        for namespace in _namespaces()
        for name, value in namespace.items()
        if id(value) in standins
    ]
    for namespace, name, value in replaced:
        namespace[name] = standins[id(value)]
    try:
        yield
    finally:
        for namespace, name, value in replaced:
            namespace[name] = value


class _TimeModule:
    """Stands for the module `time`; what it does not know is the real one's."""

    def __init__(self, clocks: Clocks) -> None:
        self.time = clocks.wall
        self.time_ns = clocks.wall_ns
        self.monotonic = clocks.monotonic
        self.perf_counter = clocks.work

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def _standins(clocks: Clocks) -> dict[int, object]:
    return {
        id(time): _TimeModule(clocks),
        id(time.time): clocks.wall,
        id(time.time_ns): clocks.wall_ns,
        id(time.monotonic): clocks.monotonic,
        id(time.perf_counter): clocks.work,
    }


def _namespaces() -> list[dict[str, Any]]:
    return [
        vars(module)
        for name, module in sys.modules.copy().items()
        if name.startswith(_PRODUCT) and not name.startswith(_KIT) and module is not None
    ]
