"""A hook's time limit holds whatever the hook makes of it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest

from hookline.consume import Done, Raised, invoke
from hookline.errs import HookErrorGroup, Redactor, location
from hookline.hooks import Hooks
from tests.support.hooks import Acting, attempt, delivery_of, stage_of

if TYPE_CHECKING:
    from hookline import Event
    from hookline.hooks import Hook

_PLACE: ContextVar[str] = ContextVar("_PLACE", default="nowhere")


class GivesIn:
    """Returns when it is cancelled, as if it were done."""

    name = "hook"

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

    name = "hook"

    async def handle(self, _: Event) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


async def raised_by(hook: Hook, limit_seconds: float) -> BaseException:
    """Run a hook once in a stage and return what the stage takes for its failure."""
    async with stage_of(Hooks({"*": [hook]}), timeout_seconds={hook.name: limit_seconds}) as stage:
        delivery = delivery_of()
        stage.identify(delivery)
        rest = stage.handle(delivery)
        assert rest is not None
        result = await invoke(rest)
    assert isinstance(result, Raised)
    assert isinstance(result.error, HookErrorGroup)
    (error,) = result.error.exceptions
    return error


async def test_a_time_limit_that_passed_leads_to_where_the_hook_was() -> None:
    """P10. The error of the limit keeps the frames that were cut off."""
    error = await raised_by(Hangs(), 0.01)
    assert isinstance(error, TimeoutError)
    assert isinstance(error.__cause__, asyncio.CancelledError)
    assert (location(error, redactor=Redactor()) or "").endswith(" in handle")


async def test_a_hooks_own_timeout_error_stays_as_it_is() -> None:
    """P10: that a receiver was late is not that the hook was."""
    own = TimeoutError()

    async def fail(_: Event) -> None:
        await asyncio.sleep(0)
        raise own

    assert await raised_by(Acting("own", fail), 30) is own


@pytest.mark.parametrize("hook", [GivesIn(), GivesInFromAFunction()], ids=lambda hook: type(hook).__name__)
async def test_a_hook_that_swallows_its_time_limit_has_failed(hook: GivesIn) -> None:
    """P1, P10, cases: hung-sync-hook. Returning because of the time limit is no success: the effect may not have happened."""
    assert isinstance(await raised_by(hook, 0.01), TimeoutError)


async def test_a_hook_that_waits_gets_what_it_waits_for() -> None:
    """A hook that is begun where it is called goes on as a coroutine does: results, errors, tasks and limits of its own."""
    seen: list[object] = []

    async def fail() -> None:
        raise LookupError("behind")

    async def wait(_: Event) -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "result")
        seen.append(await future)
        with pytest.raises(LookupError):
            await asyncio.create_task(fail())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asyncio.sleep(0, "task"))
        seen.append(task.result())

    async with stage_of(Hooks({"*": [Acting("waits", wait)]})) as stage:
        assert await attempt(stage, delivery_of()) == Done()
    assert seen == ["result", "task"]


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "awaited"])
async def test_what_a_hook_sets_in_its_context_is_seen_by_itself_alone(*, waits: bool) -> None:
    """cases: minor (trace context). What is set around a hook is there; what it sets is there for it, and leaks nowhere."""
    seen: list[str] = []

    async def look(_: Event) -> None:
        seen.append(_PLACE.get())
        _PLACE.set("hook")
        if waits:
            await asyncio.sleep(0)
        seen.append(_PLACE.get())

    _PLACE.set("loop")
    async with stage_of(Hooks({"*": [Acting("looks", look)]})) as stage:
        for _ in range(2):
            assert await attempt(stage, delivery_of()) == Done()
    assert seen == ["loop", "hook"] * 2
