"""Ports on loopback that are free now."""

from __future__ import annotations

import contextlib
import socket

__all__ = ["free_port", "free_ports"]


def free_port() -> int:
    """Name a loopback TCP port that nobody listens on.

    Nothing holds it afterwards: listen at once, or be ready to ask again.
    """
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Name that many different free loopback TCP ports."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
