"""Whose suspects run: those of several engines together, or a record of one alone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turn:
    """Shared by the engines of one process, each of which takes it while suspects of its own run. For one event loop.

    Batches are named and charged with nothing, so they run together. A record that runs alone is charged, so nothing runs
    beside it that may have taken the process down; it waits for the batches that run, and those that come wait for it.
    """

    def __init__(self) -> None:
        self._together = 0
        self._alone = 0
        """How many run alone, or wait to."""
        self._is_alone = False
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Wait until nothing runs alone or waits to, and let nothing do so meanwhile."""
        while self._alone:
            await self._change()
        self._together += 1
        try:
            yield
        finally:
            self._together -= 1
            self._freed.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until nothing else runs, and let nothing do so meanwhile."""
        self._alone += 1
        try:
            while self._is_alone or self._together:
                await self._change()
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False
        finally:
            self._alone -= 1
            self._freed.set()

    async def _change(self) -> None:
        self._freed.clear()
        await self._freed.wait()
