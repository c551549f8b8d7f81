"""Progress on standard error, so that standard output holds the result alone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Screen:
    """Says how far things are: a bar that moves on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(text)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """Give a function that shows how many of `total` there are."""
        if not self._console.is_terminal:
            yield lambda done: self.say(f"{what} {done} of {total}")
            return
        with Progress(console=self._console) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done: progress.update(task, completed=done)
