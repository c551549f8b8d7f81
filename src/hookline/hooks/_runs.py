"""Which hooks of an event run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.contract import DeadLetterClass, HookFailure
from hookline.errs import Verdict

from ._work import Failed, HookRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.contract import Redrive

    from ._wiring import WiredHook


class HookGoneError(Exception):
    """A republished record names a hook that this event no longer resolves to."""


def plan_runs(hooks: Mapping[str, WiredHook], redrive: Redrive | None) -> list[HookRun]:
    """List the runs: every hook that the event resolves to, or those that a republication names."""
    if redrive is None or redrive.hooks is None:
        return [HookRun(name, hook) for name, hook in hooks.items()]
    names = dict.fromkeys(redrive.hooks)
    return [HookRun(name, hooks[name]) if name in hooks else _gone(name) for name in names]


def _gone(name: str) -> HookRun:
    text = f"hook {name} does not exist any more, or does not want this event"
    failure = HookFailure(
        hook=name, verdict=str(Verdict.USER), exception="hookline.hooks.HookGoneError", message=text, attempts=0,
        elapsed_seconds=0.0, code="hook_gone",
    )  # fmt: skip
    return HookRun(name, None, failed=Failed(DeadLetterClass.PERMANENT, failure, text, HookGoneError(text)))
