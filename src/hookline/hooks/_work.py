"""How far an event has come with each of its hooks, kept over attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errs import HookErrorGroup

from ._runs import plan_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Event, Redrive

    from ._runs import Failed, HookRun
    from ._wiring import Plan


class Work:
    """An event and the runs of its hooks; what a delivery's `progress` holds once the record is decoded."""

    __slots__ = ("_runs", "asks_for", "event", "is_done", "is_free", "plan", "raised", "redrive", "restored", "saved")

    def __init__(
        self,
        event: Event,
        redrive: Redrive | None,
        restored: bytes = b"",
        runs: Sequence[HookRun] | None = None,
    ) -> None:
        self.event = event
        self.redrive = redrive
        self.restored = restored
        """What an owner before left of it, until the hooks are resolved."""
        self.plan: Plan | None = None
        """The hooks that it resolves to; None until it is resolved."""
        self._runs = runs
        self.asks_for: frozenset[str] | None = None
        """The hooks that other groups have not settled; None when none has settled any."""
        self.is_done = False
        """Whether all hooks are done."""
        self.is_free = False
        """Whether all runs may begin as they are: none has begun before, and none needs to be asked for."""
        self.raised: dict[str, BaseException] = {}
        """What hooks raised in the latest attempt, by hook."""
        self.saved: bytes | None = None
        """What to keep of it beyond this process; None when that has to be told anew."""

    @property
    def runs(self) -> Sequence[HookRun]:
        """The runs of its hooks, made when they are first asked for; none before it is resolved."""
        if self._runs is None:
            if self.plan is None:
                return ()
            self._runs = plan_runs(self.plan.hooks, self.redrive, self.plan.serves, self._declines)
            for run in self._runs if self.is_done else ():
                run.done = True
        return self._runs

    def _declines(self, name: str) -> bool:
        return self.plan is not None and self.plan.declines(name, self.event)

    def note_done(self) -> None:
        """Note that all hooks are done."""
        self.is_done = True
        self.saved = None
        for run in self._runs or ():
            run.done = True

    @property
    def is_resolved(self) -> bool:
        """Whether it is known which hooks want it."""
        return self.plan is not None or self._runs is not None

    def error_of(self, run: HookRun) -> BaseException | None:
        """Tell why a hook is not done: what it raised now, or what it failed with for good before."""
        if run.name in self.raised:  # never by the error's own truth, which may be false or raise
            return self.raised[run.name]
        return run.failed.error if run.failed else None

    def errors(self) -> HookErrorGroup | None:
        """Collect what failed, now or before; None when nothing has."""
        return HookErrorGroup.of((run.name, self.error_of(run)) for run in self.runs)

    def pending(self) -> list[HookRun]:
        """List the runs that still have work."""
        return [run for run in self.runs if run.pending]

    def failed(self) -> list[Failed]:
        """List what has failed for good, in the resolver's order."""
        return [run.failed for run in self.runs if run.failed is not None]
