"""Dead letters of a group that runs one hook: each names it, whatever it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hookline.consume import DeadLetterWriter
from hookline.contract import HookFailure
from hookline.errs import Verdict

if TYPE_CHECKING:
    from hookline.consume import Sender
    from hookline.contract import DeadLetter


class HookNotRunError(Exception):
    """An event was given up without the hook: its resolver failed, or it had taken the process down."""


class OwnLetters(DeadLetterWriter):
    """Writes the dead letters of one hook's own group.

    One that names no hook would be republished for all hooks, also those whose groups are done with the event.
    """

    def __init__(self, sender: Sender, topic: str, hook: str) -> None:
        super().__init__(sender, topic)
        self._hook = hook

    async def write(self, letter: DeadLetter) -> None:
        """Write a letter, which names the hook if it names none."""
        await super().write(letter if letter.failures else replace(letter, failures=(self._failure(letter),)))

    def _failure(self, letter: DeadLetter) -> HookFailure:
        return HookFailure(
            hook=self._hook, verdict=str(Verdict.UNKNOWN), exception="hookline.hooks.HookNotRunError",
            message=letter.message, attempts=letter.delivery_count, elapsed_seconds=0.0, code=letter.code,
        )  # fmt: skip
