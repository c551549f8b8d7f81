"""The second argument of a hook that wants to know of its attempt."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.hooks import Hook


class FirstDelivery:
    """Stands for the delivery of a first attempt, where there is no stage that would hold it."""

    attempt = 1

    def hold(self, seconds: float) -> None:
        """Let a hook ask."""


def takes_delivery(hook: Hook) -> bool:
    """Tell whether `handle` takes a delivery beside the event."""
    try:
        return "delivery" in inspect.signature(hook.handle).parameters
    except (TypeError, ValueError):  # a function in C may not tell
        return False
