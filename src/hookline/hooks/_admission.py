"""Whether a run of a hook may begin: gates, guards, breakers, places, rates and ages in one place.

A run that may not waits in its hook's line, and what lets it begin calls it: a place that falls free, the moment that the
rate allows, the next probe, a breaker that closes, a gate that opens. As many are called as may begin; who is called and
has no use for the turn passes it on. Once a second whoever may begin is called anyway, for the one that was called may have
been let go with its partition.

A place is taken when a run is let begin, and given back once: when it has ended, when it is stuck, or when its attempt was
cut off before its hook was called.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from hookline.consume import Raised, begin

from ._gates import Gates
from ._hook import DEFAULT_TIMEOUT_SECONDS
from ._limits import HookLimits
from ._log import say_breaker_closed, say_breaker_open, say_expired, say_held
from ._troubles import HookTrouble, TroubleKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookline.consume import Delivery
    from hookline.contract import Event, Gate
    from hookline.telemetry import Metrics

    from ._policy import BreakerPolicy, GuardPolicy, HookPolicy
    from ._runs import HookRun
    from ._wiring import WiredHook

_ASK_AGAIN_SECONDS: Final = 60.0
_TICK_SECONDS: Final = 1.0
_PROBE_GRACE_SECONDS: Final = 5.0
_NEWS_SECONDS: Final = 60.0


class Admission:
    """Lets runs of hooks begin, or has them wait. On the event loop."""

    def __init__(
        self,
        breaker: BreakerPolicy,
        guard: GuardPolicy,
        metrics: Metrics,
        gates: Gates | None = None,
        close_gate: Callable[[str, str], None] | None = None,
        release: str = "",
    ) -> None:
        self._breaker = breaker
        self._guard = guard
        self._metrics = metrics
        self._gates = Gates("") if gates is None else gates
        self._close_gate = close_gate
        self._release = release
        self._limits: dict[str, tuple[HookLimits, WiredHook]] = {}
        self._ticking: asyncio.Task[None] | None = None
        self.is_clear = self._gates.is_open
        """True while nothing at all is held: all that most events look at."""

    def open(self) -> None:
        """Begin to keep time, on the loop that calls this."""
        self._gates.changed.append(self._gates_changed)
        self._look_whether_clear()
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    def close(self) -> None:
        """Call nobody any more."""
        if self._gates_changed in self._gates.changed:
            self._gates.changed.remove(self._gates_changed)
        if self._ticking is not None:
            self._ticking.cancel()
        for limits, _ in self._limits.values():
            if limits.timer is not None:
                limits.timer.cancel()

    def limits_of(self, hook: WiredHook) -> HookLimits:
        """Give the limits of a hook, the same for every object of its name."""
        known = self._limits.get(hook.name)
        if known is None:
            limits = HookLimits(hook.policy, self._breaker, self._guard)
            limits.breaker.tick(time.monotonic(), hook.ended)
        else:
            limits = known[0]
            limits.narrow(hook.policy)
        self._limits[hook.name] = limits, hook
        return limits

    def admits(self, run: HookRun, hook: WiredHook, delivery: Delivery, event: Event) -> bool:
        """Tell whether a run may begin now; one that may not waits in line, unless it has expired, which ends it."""
        had_turn, run.was_called = run.was_called, False
        limits, now = hook.limits, time.monotonic()
        if _has_expired(event, hook.policy):
            run.done = True
            self._metrics.expired_total.inc(hook=hook.name)
            say_expired(event, hook.name)
        elif self._gates.closed_for(hook.name, event.subject) is not None:
            self._let_wait(run, now)
            limits.parked.join(run, delivery, event.subject)
        elif self._room(limits, now):
            self._let_begin(run, hook, now)
            return True
        else:
            self._let_wait(run, now)
            limits.line.join(run, delivery, event.subject)
            return False
        if had_turn:
            self._call_next(limits, now)
        return False

    def left(self, run: HookRun, hook: WiredHook) -> None:
        """Note that a run which was let begin has ended, is stuck, or was never called: its place is free."""
        if not run.has_place:
            return
        limits, now = hook.limits, time.monotonic()
        run.has_place = False
        limits.taken -= 1
        self._call_next(limits, now)

    def over(self, runs: Iterable[HookRun]) -> None:
        """Note that an attempt is over, and with it what was let begin and was cut off before it told anything."""
        for run in runs:
            if run.hook is None:
                continue
            if not run.is_called:
                self.left(run, run.hook)
            if run.probe:
                self._probe_ended(run, run.hook, answered=False)

    def answered(self, run: HookRun, hook: WiredHook) -> None:
        """Note that a run ended, well or not, and that the hook's dependency has nothing to do with that."""
        if run.probe:
            self._probe_ended(run, hook, answered=True)

    def asked(self, run: HookRun, hook: WiredHook) -> None:
        """Note that a run ended well and asked to be run again, which tells nothing of hook and dependency."""
        hook.limits.holds += 1
        probe, run.probe = run.probe, 0
        if hook.limits.breaker.is_awaited(probe):
            hook.limits.breaker.pass_on_probe()

    def dependency_failed(self, run: HookRun, hook: WiredHook, subject: str) -> None:
        """Note that a run failed because of the hook's dependency; when it runs again is known."""
        limits, now = hook.limits, time.monotonic()
        if not _keeps_failing(limits, hook, now):
            limits.failing_since = now
        limits.oks_before = _oks(hook)
        limits.failing_until = max(run.due_at, now) + _NEWS_SECONDS
        if run.probe:
            self._probe_ended(run, hook, answered=False)
        elif limits.breaker.failed(subject, now, hook.ended):
            self._breaker_changed(hook)
            say_breaker_open(hook.name)

    def holds(self, hook: WiredHook) -> bool:
        """Tell whether a hook is held until a person releases it."""
        return bool(hook.limits.held_because) or self._gates.closed_for(hook.name, "") is not None

    def failed_for_good(self, hook: WiredHook, subject: str) -> None:
        """Note that a hook failed for good with an event: a flood of them holds the hook."""
        limits = hook.limits
        limits.failed_for_good += 1
        outcomes = _oks(hook) + limits.failed_for_good
        if limits.guard.failed(subject, outcomes):
            self.hold(hook, "guard: most of the latest events failed for good")

    def hold(self, hook: WiredHook, reason: str) -> None:
        """Hold a hook until a person releases it."""
        limits = hook.limits
        if self.holds(hook):
            return
        limits.guard.reset()
        limits.held_because, limits.held_since = reason, time.monotonic()
        self.is_clear = False
        self._metrics.held_hooks.set(1, hook=hook.name)
        say_held(hook.name, reason, self._release or self._usual_release(hook.name))
        if self._close_gate is not None:
            self._close_gate(hook.name, reason)

    def _usual_release(self, hook: str) -> str:
        if self._close_gate is None:
            return "restart the process: there is no control topic"
        return f"hookline gate open --hook {hook}"

    def troubles(self) -> list[HookTrouble]:
        """List the hooks whose events wait for something that may need a person."""
        now = time.monotonic()
        return [
            trouble
            for limits, hook in self._limits.values()
            for trouble in _troubles_of(limits, hook, now, self._gates.hold_of(hook.name))
        ]

    def _let_wait(self, run: HookRun, now: float) -> None:
        run.note_waiting(now)
        run.due_at = now + _ASK_AGAIN_SECONDS

    def _room(self, limits: HookLimits, now: float) -> float:
        """Tell how many runs of a hook may begin now, their own gates apart; sees to it that the rate calls the next."""
        breaker = limits.breaker
        if limits.held_because or (breaker.is_open and not breaker.may_probe(now)):
            return 0
        room = limits.most_running - limits.taken
        if room <= 0:
            return 0
        wait_seconds = limits.seconds_to_next(now)
        if wait_seconds:
            self._call_in(limits, wait_seconds)
            return 0
        return 1 if breaker.is_open or limits.gap_seconds else room

    def _let_begin(self, run: HookRun, hook: WiredHook, now: float) -> None:
        limits = hook.limits
        run.note_begun(now)
        run.has_place, run.is_called = True, False
        limits.taken += 1
        limits.count_begun(now)
        if limits.breaker.is_open:
            run.probe = limits.breaker.begin_probe(now, _most_seconds(hook) + _PROBE_GRACE_SECONDS)
        if limits.gap_seconds and limits.line:
            self._call_in(limits, limits.gap_seconds)

    def _call_next(self, limits: HookLimits, now: float) -> None:
        """Call the first in line if it may begin: a turn has fallen to it."""
        if limits.line and self._room(limits, now):
            limits.line.call()

    def _call_all(self, limits: HookLimits, now: float) -> None:
        """Call as many as may begin."""
        most = min(self._room(limits, now), len(limits.line)) if limits.line else 0
        while most >= 1 and limits.line.call():
            most -= 1

    def _probe_ended(self, run: HookRun, hook: WiredHook, *, answered: bool) -> None:
        probe, run.probe = run.probe, 0
        breaker = hook.limits.breaker
        if not breaker.is_awaited(probe):
            return
        now = time.monotonic()
        open_seconds = now - (breaker.opened_at or now)
        breaker.end_probe(now, hook.ended, answered=answered)
        if answered:
            self._breaker_changed(hook)
            say_breaker_closed(hook.name, open_seconds)
            self._call_all(hook.limits, now)

    def _breaker_changed(self, hook: WiredHook) -> None:
        self._metrics.breaker_open.set(int(hook.limits.breaker.is_open), hook=hook.name)
        self._look_whether_clear()

    def _look_whether_clear(self) -> None:
        every = [limits for limits, _ in self._limits.values()]
        self.is_clear = self._gates.is_open and not any(each.held_because or each.breaker.is_open for each in every)

    def _gates_changed(self) -> None:
        """Release what was held and whose gate a person has opened, and let those ask again that wait."""
        for limits, hook in self._limits.values():
            is_closed = self._gates.closed_for(hook.name, "") is not None
            if limits.is_gated and not is_closed:
                limits.held_because = ""
            limits.is_gated = bool(limits.held_because) and is_closed
            self._show_held(limits, hook)
        self._look_whether_clear()
        for limits, hook in tuple(self._limits.values()):
            self._sort(limits, hook)
            self._call_all(limits, time.monotonic())

    def _sort(self, limits: HookLimits, hook: WiredHook) -> None:
        """Let those stand in line that no gate keeps, and those apart that one does: each has its place all the same."""
        limits.parked.move(limits.line, lambda subject: self._gates.closed_for(hook.name, subject) is None)
        limits.line.move(limits.parked, lambda subject: self._gates.closed_for(hook.name, subject) is not None)

    def _show_held(self, limits: HookLimits, hook: WiredHook) -> None:
        is_held = bool(limits.held_because) or self._gates.is_held(hook.name)
        self._metrics.held_hooks.set(int(is_held), hook=hook.name)

    def _call_in(self, limits: HookLimits, seconds: float) -> None:
        if limits.timer is None:
            limits.timer = asyncio.get_running_loop().call_later(seconds, self._ring, limits)

    def _ring(self, limits: HookLimits) -> None:
        limits.timer = None
        self._call_next(limits, time.monotonic())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.monotonic()
            for limits, hook in tuple(self._limits.values()):
                limits.breaker.tick(now, hook.ended)
                self._show_held(limits, hook)
                self._metrics.parked_events.set(_parked(limits), hook=hook.name)
                self._metrics.waiting_events.set(limits.line.count() + limits.parked.count(), hook=hook.name)
                self._call_all(limits, now)


def _parked(limits: HookLimits) -> int:
    """Tell how many events wait for a person."""
    return limits.parked.count() + (limits.line.count() if limits.held_because else 0)


def _has_expired(event: Event, policy: HookPolicy) -> bool:
    """Tell whether an event is of no use any more, or too old for a hook; one without a timestamp has no age."""
    expires_at_ms, now_ms = event.expires_at_ms, time.time() * 1000
    if expires_at_ms is not None and now_ms > expires_at_ms:
        return True
    most_seconds = policy.max_age_seconds
    return most_seconds is not None and event.timestamp_ms > 0 and now_ms > event.timestamp_ms + most_seconds * 1000


def _troubles_of(limits: HookLimits, hook: WiredHook, now: float, hold: Gate | None) -> Iterator[HookTrouble]:
    waiting = limits.line.count() + limits.parked.count()
    closed_at_ms = 0 if hold is None else hold.closed_at_ms
    if limits.held_because:
        seconds, because = now - limits.held_since, limits.held_because
        yield HookTrouble(hook.name, TroubleKind.HELD, seconds, because, waiting, closed_at_ms)
    elif hold is not None:
        seconds = max(time.time() - closed_at_ms / 1000, 0.0) if closed_at_ms else 0.0
        yield HookTrouble(hook.name, TroubleKind.HELD, seconds, hold.reason, waiting, closed_at_ms, is_own=False)
    if limits.breaker.opened_at is not None:
        seconds = now - min(limits.failing_since or now, limits.breaker.opened_at)
        yield HookTrouble(hook.name, TroubleKind.BREAKER, seconds, "its dependency is away", waiting)
    elif limits.failing_since is not None and _keeps_failing(limits, hook, now):
        seconds = now - limits.failing_since
        yield HookTrouble(hook.name, TroubleKind.DEPENDENCY, seconds, "its dependency keeps failing", waiting)


def _keeps_failing(limits: HookLimits, hook: WiredHook, now: float) -> bool:
    return limits.failing_since is not None and _oks(hook) <= limits.oks_before and now < limits.failing_until


def _oks(hook: WiredHook) -> int:
    """Tell how often a hook was done with an event, so far."""
    return int(hook.oks.total) - hook.limits.holds


def _most_seconds(hook: WiredHook) -> float:
    """Tell how long a run of a hook may take, also of one that cannot tell."""
    seconds = begin(hook.limit_seconds)
    return DEFAULT_TIMEOUT_SECONDS if isinstance(seconds, Raised) else seconds
