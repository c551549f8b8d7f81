"""What a hook is, and what finds the hooks of an event."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.contract import Event


DEFAULT_TIMEOUT_SECONDS = 30.0
"""How long an attempt may take when neither the settings nor the hook say."""
_MOST_HOLD_SECONDS = 31_536_000


@runtime_checkable
class Hook(Protocol):
    """One integration: a name, unique within its domain, and something to do with an event.

    `handle` is called at least once for every event that resolves to the hook, and must be idempotent by `event.id`.
    Returning means done, or not interested; raising means that the effect did not happen. Raise plain errors: whether
    to try again is decided outside. A plain function runs in a thread, which nothing can stop; prefer `async def`.

    A hook may be an async context manager too: it is entered on the event loop before its first event and left after
    the last one. It may have an attribute `timeout_seconds`, the time limit of an attempt; without one, and without one
    in the settings, that is `DEFAULT_TIMEOUT_SECONDS`. It may have an attribute `policy`, a `HookPolicy`. Its `handle` may
    take a second argument, the `HookDelivery`: `async def handle(self, event, delivery)`.
    """

    name: str

    def handle(self, event: Event) -> Awaitable[None] | None:
        """Do what the integration does."""
        ...


class DeliveryHook(Protocol):
    """A hook whose `handle` takes the delivery beside the event; `Hook` says the rest."""

    name: str

    def handle(self, event: Event, delivery: HookDelivery) -> Awaitable[None] | None:
        """Do what the integration does."""
        ...


class HookDelivery:
    """What a hook may know of its attempt, and may ask for; for hooks whose `handle` takes it beside the event."""

    __slots__ = ("_ask", "attempt")

    def __init__(self, attempt: int, ask: Callable[[float], None]) -> None:
        self.attempt = attempt
        """The number of this attempt of this hook at this event, counted from 1."""
        self._ask = ask

    def hold(self, seconds: float) -> None:
        """Ask to be run again after so long, as if for the first time: it counts as no attempt, and only the subject waits.

        Counts when the attempt returns; one that raises has failed. The last call of an attempt counts. Raises ValueError for
        anything but a number from 0 to 31,536,000, a year: nobody would be run again then.
        """
        if not 0 <= seconds <= _MOST_HOLD_SECONDS:
            raise ValueError(
                f"hold({seconds!r}): give the seconds until the hook is run again, from 0 to {_MOST_HOLD_SECONDS}; "
                "to be done with the event return without a hold, to give it up raise"
            )
        self._ask(float(seconds))


class Resolver(Protocol):
    """What tells the hooks of an event. Asked for every delivery, so it must be cheap and must not fail."""

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks that an event belongs to; none is ordinary. The order means nothing."""
        ...


def takes_delivery(hook: Hook) -> bool:
    """Tell whether `handle` can be called with the delivery beside the event."""
    try:
        signature = inspect.signature(cast("Any", hook).handle)
        signature.bind(None, None)
    except (TypeError, ValueError):  # it cannot, or is a function in C that does not tell
        return False
    wants = [each for each in signature.parameters.values() if each.name == "delivery"]
    return bool(wants) and wants[0].kind is not inspect.Parameter.VAR_KEYWORD
