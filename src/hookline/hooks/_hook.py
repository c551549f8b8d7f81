"""What a hook is, and what finds the hooks of an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from hookline.contract import Event


DEFAULT_TIMEOUT_SECONDS = 30.0
"""How long an attempt may take when neither the settings nor the hook say."""


@runtime_checkable
class Hook(Protocol):
    """One integration: a name, unique within its domain, and something to do with an event.

    `handle` is called at least once for every event that resolves to the hook, and must be idempotent by `event.id`.
    Returning means done, or not interested; raising means that the effect did not happen. Raise plain errors: whether
    to try again is decided outside. A plain function runs in a thread, which nothing can stop; prefer `async def`.

    A hook may be an async context manager too: it is entered on the event loop before its first event and left after
    the last one. It may have an attribute `timeout_seconds`, the time limit of an attempt; without one, and without one
    in the settings, that is `DEFAULT_TIMEOUT_SECONDS`.
    """

    name: str

    def handle(self, event: Event) -> Awaitable[None] | None:
        """Do what the integration does."""
        ...


class Resolver(Protocol):
    """What tells the hooks of an event. Asked for every delivery, so it must be cheap and must not fail."""

    def for_event(self, event: Event) -> Sequence[Hook]:
        """Tell the hooks that an event belongs to; none is ordinary. The order means nothing."""
        ...
