"""The second argument of a hook that wants to know of its attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.hooks import HookDelivery
from hookline.hooks._hook import takes_delivery

if TYPE_CHECKING:
    from hookline.contract import Event
    from hookline.hooks import Hook

__all__ = ["arguments_of", "takes_delivery"]


def arguments_of(hook: Hook, event: Event) -> tuple[object, ...]:
    """Tell what `handle` is called with at a first attempt, where there is no stage that would hold it."""
    return (event, HookDelivery(1, _hear_nothing)) if takes_delivery(hook) else (event,)


def _hear_nothing(_: float) -> None:
    """Let a hook ask."""
