"""Hooks of whole `hookline run` processes: one that keeps a journal for B6, one that does nothing for B7."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookline import Hooks

if TYPE_CHECKING:
    from pathlib import Path

    from hookline import Event
    from hookline.service import Settings

JOURNAL = "journal"
_WAIT_SECONDS = 0.05


def journalled(settings: Settings) -> Hooks:
    """Make the hook of B6; its journal is a file beside the settings, for all replicas."""
    return Hooks({"*": [Journalled(settings.folder)]})


def idle(settings: Settings) -> Hooks:
    """Make the hook of B7."""
    del settings
    return Hooks({"*": [Idle()]})


class Journalled:
    """Takes 50 ms, and writes a line when it begins and when it ends."""

    name = "journalled"

    def __init__(self, folder: Path) -> None:
        self._journal = os.open(folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def handle(self, event: Event) -> None:
        """Begin, wait, end."""
        self._note("began", event)
        await asyncio.sleep(_WAIT_SECONDS)
        self._note("ended", event)

    def _note(self, what: str, event: Event) -> None:
        os.write(self._journal, f"{what} {event.subject} {event.version}\n".encode())


class Idle:
    """Does nothing."""

    name = "idle"

    async def handle(self, event: Event) -> None:
        """Do nothing."""
