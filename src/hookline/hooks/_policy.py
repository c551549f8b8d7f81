"""How one hook is treated, and how a stage watches over all of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.consume import RetryPolicy


@dataclass(frozen=True, slots=True)
class HookPolicy:
    """What is set for one hook; None leaves it to the stage.

    `timeout_seconds` bounds an attempt, `concurrency` how many events it handles at once, `rate` how many attempts begin
    in a second. An event older than `max_age_seconds` by its timestamp is not given to the hook any more: it ends as
    expired. A hook from code may carry one as its attribute `policy`; what the settings say goes before.
    """

    retry: RetryPolicy | None = None
    timeout_seconds: float | None = None
    concurrency: int | None = None
    rate: float | None = None
    max_age_seconds: float | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether something has to be asked before an attempt begins."""
        return not (self.concurrency is None and self.rate is None and self.max_age_seconds is None)

    def over(self, other: HookPolicy) -> HookPolicy:
        """Give this policy, and what the other says where this one says nothing."""
        names = [field.name for field in fields(self)]
        mine = {name: getattr(self, name) for name in names}
        return HookPolicy(**{name: getattr(other, name) if mine[name] is None else mine[name] for name in names})


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a hook's dependency counts as away, and how its return is found.

    Open when within `window_seconds` events of at least `subjects` different subjects failed because of the dependency,
    and at least `share` of the hook's attempts did. The first probe follows after `probe_seconds`, each further one after
    twice the time, at most `max_probe_seconds`.
    """

    enabled: bool = True
    window_seconds: float = 30.0
    subjects: int = 20
    share: float = 0.5
    probe_seconds: float = 5.0
    max_probe_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """When a hook counts as broken: of at least `outcomes`, with failures of `subjects` subjects, more than `share` would be dead letters."""

    enabled: bool = True
    outcomes: int = 100
    subjects: int = 50
    share: float = 0.5
