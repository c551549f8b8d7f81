"""Checks that a hook may be given an event more than once."""

from __future__ import annotations

import copy
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from ._double import Double
from ._steps import UNWIND_SECONDS, HookSource, Run, entered, limit_of, made_from, told
from ._time import VirtualTime, virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.contract import Event
    from hookline.hooks import Hook

_MOST_CUTS: Final = 100


async def assert_idempotent(
    hook: HookSource, event: Event, *, effects: Callable[[Any], object] | None = None, most_cuts: int = _MOST_CUTS
) -> None:
    """Check that an event which comes again has the effect of one that came once.

    The hook runs once, which shows what the effect is; then, each time from a fresh beginning, twice; and cut off at
    its first suspension and run again, at its second and run again, and so on, up to `most_cuts`. Behind each course the
    effects must equal those of the one run. Raises AssertionError with the course and both effects.

    `effects(hook)` tells the effects as a value to be compared, or is a coroutine function that does; without it they
    are the calls of the `Double`s among the hook's attributes. For each course the hook is made anew: by calling what
    was given, when that is a class or a function, or else as `copy.deepcopy` of the hook, together with its doubles. Give
    a function that also clears what lies elsewhere, such as a table.

    Runs on asyncio's event loop, in virtual time: a hook that sleeps costs none. Plain functions run in a thread and
    cannot be cut off.
    """
    with virtual_time() as time:
        courses = _Courses(hook, event, effects, time)
        expected = await courses.expected()
        await courses.compare(expected, (None,), "it succeeded and came again")
        for cut_at in count(1):
            if cut_at > most_cuts or not await courses.compare(
                expected, (cut_at,), f"it was cut off at suspension {cut_at} and came again"
            ):
                return


class _Courses:
    """Lets an event come in one way or another, each time to a hook that has seen nothing."""

    def __init__(
        self, source: HookSource, event: Event, effects: Callable[[Any], object] | None, time: VirtualTime
    ) -> None:
        self._source = source
        self._event = event
        self._effects = effects or _calls_of_doubles
        self._time = time

    async def expected(self) -> object:
        """Tell the effects of one run. Raises AssertionError when there are none to be seen."""
        hook = await made_from(self._source, self._time)
        async with entered(hook, self._time):
            before = await self._seen(hook)
            await self._run_to_the_end(hook, "alone")
            after = await self._seen(hook)
        if before == after:
            raise AssertionError(
                f"hook {hook.name} had no effect that can be seen: {after!r} before and after it ran. "
                "Let `effects` look where it acts, or give an event that interests it"
            )
        return after

    async def compare(self, expected: object, cuts: tuple[int | None, ...], course: str) -> bool:
        """Check the effects of runs that are cut, or not, and of one more; tells whether all the cuts took place."""
        hook = await made_from(self._source, self._time)
        async with entered(hook, self._time):
            for cut_at in cuts:
                if not await self._run_until(hook, cut_at):
                    return False
            await self._run_to_the_end(hook, f"after {course}")
            seen = await self._seen(hook)
        if seen != expected:
            raise AssertionError(
                f"hook {hook.name} is not idempotent: {course}.\n  effects of one run: {expected!r}\n  effects now: {seen!r}\n"
                f"Let it act once for each event.id ({self._event.id}): as an idempotency key of the other side, or by a "
                "look in the same transaction"
            )
        return True

    async def _run_until(self, hook: Hook, cut_at: int | None) -> bool:
        if cut_at is None:
            await self._run_to_the_end(hook, "alone")
            return True
        run = Run(hook, self._event, self._time, cut_at=cut_at)
        await self._end(run, hook, limit_of(hook) + UNWIND_SECONDS, f"when it was cut off at suspension {cut_at}")
        return run.was_cut

    async def _run_to_the_end(self, hook: Hook, course: str) -> None:
        run = Run(hook, self._event, self._time)
        await self._end(run, hook, limit_of(hook), course)
        if run.error is not None:
            raise AssertionError(f"hook {hook.name} raised {run.error!r}, {course}") from run.error

    async def _end(self, run: Run, hook: Hook, seconds: float, course: str) -> None:
        if await self._time.let_pass(self._time.now + seconds, run.task.done):
            return
        where = run.where()
        run.abandon()
        await self._time.quiet()
        raise AssertionError(f"hook {hook.name} did not end within {seconds:g} s, {course}; it waits at {where}")

    async def _seen(self, hook: Hook) -> object:
        return copy.deepcopy(await told(self._effects(hook), self._time))


def _calls_of_doubles(hook: Hook) -> dict[str, object]:
    doubles = {name: value for name, value in getattr(hook, "__dict__", {}).items() if isinstance(value, Double)}
    if not doubles:
        raise TypeError(
            f"the effects of hook {hook.name} cannot be seen: none of its attributes is a Double; "
            "give `effects=lambda hook: ...`, which tells them"
        )
    return {name: double.calls for name, double in doubles.items()}
