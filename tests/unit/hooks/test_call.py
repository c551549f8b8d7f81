"""A hook's time limit holds whatever the hook makes of it."""

from __future__ import annotations

import asyncio

import pytest

from hookline import Event
from hookline.errs import Redactor, location
from hookline.hooks._call import Caller

EVENT = Event.versioned(source="s", type="t", subject="u", version=1)


class GivesIn:
    """Returns when it is cancelled, as if it were done."""

    name = "gives-in"

    async def handle(self, _: Event) -> None:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return


class GivesInFromAFunction(GivesIn):
    """The same behind a plain function that returns an awaitable."""

    def handle(self, event: Event) -> asyncio.Future[None]:  # type: ignore[override]  # a hook may be either
        """Give the coroutine."""
        return super().handle(event)  # type: ignore[return-value]  # a coroutine, awaited all the same


class Hangs:
    """Waits until it is cancelled."""

    name = "hangs"

    async def handle(self, _: Event) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


class OwnLimit:
    """Raises a TimeoutError of its own."""

    name = "own"

    async def handle(self, _: Event) -> None:
        """Fail."""
        raise TimeoutError("the receiver's")


async def test_a_time_limit_that_passed_leads_to_where_the_hook_was() -> None:
    """P10. The error of the limit keeps the frames that were cut off; a hook's own TimeoutError stays as it is."""
    caller = Caller()
    try:
        with pytest.raises(TimeoutError) as caught:
            await caller.call(Hangs(), EVENT, 0.01)
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)
        assert (location(caught.value, redactor=Redactor()) or "").endswith(" in handle")
        with pytest.raises(TimeoutError, match="the receiver's"):
            await caller.call(OwnLimit(), EVENT, 30)
    finally:
        caller.close()


@pytest.mark.parametrize("hook", [GivesIn(), GivesInFromAFunction()], ids=lambda hook: type(hook).__name__)
async def test_a_hook_that_swallows_its_time_limit_has_failed(hook: GivesIn) -> None:
    """P1, P10, cases: hung-sync-hook. Returning because of the time limit is no success: the effect may not have happened."""
    caller = Caller()
    try:
        with pytest.raises(TimeoutError):
            await caller.call(hook, EVENT, 0.01)
    finally:
        caller.close()
