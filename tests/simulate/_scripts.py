"""What hooks do, decided before a record is published, so that no order of events changes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tests.simulate._setup import LIMIT_SECONDS, RETRY

if TYPE_CHECKING:
    import random

_HANG_SECONDS = 20 * LIMIT_SECONDS


class Act(Enum):
    """What one run of a hook does."""

    RETURN = "return"
    RAISE_RETRYABLE = "raise retryable"
    RAISE_PERMANENT = "raise permanent"
    ASK_DEPENDENCY = "ask dependency"
    """Fail while the hook's dependency is away."""
    SWALLOW = "swallow"
    """Hang, and go on when it is cancelled."""
    KILL = "kill"


@dataclass(frozen=True, slots=True)
class Step:
    """One run: after `seconds` of waiting, none for 0, it acts; cancelled, it goes on for `stays_seconds`."""

    act: Act
    seconds: float
    stays_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    """The runs of a hook for one record: the first ones, and then `rest` for ever."""

    first: tuple[Step, ...]
    rest: Step

    def step(self, number: int) -> Step:
        """Tell what run `number` does, counted from 0."""
        return self.first[number] if number < len(self.first) else self.rest

    @property
    def kills(self) -> bool:
        """Tell whether each run takes the process down."""
        return self.rest.act is Act.KILL

    @property
    def is_permanent(self) -> bool:
        """Tell whether it fails for good."""
        return self.rest.act is Act.RAISE_PERMANENT


def draw_script(rng: random.Random) -> Script:
    """Draw what a hook does for a record."""
    kind = rng.choices(
        ("at once", "later", "flaky", "permanent", "hang", "swallow", "exhausted", "dependency"),
        (30, 35, 12, 5, 4, 4, 3, 10),
    )[0]
    done = Step(Act.RETURN, 0.0 if kind == "at once" else rng.choice((0.0, rng.uniform(0.001, 0.2))))
    seconds = rng.choice((0.0, rng.uniform(0.001, 0.1)))
    scripts = {
        "flaky": Script((Step(Act.RAISE_RETRYABLE, seconds),) * rng.randint(1, RETRY.max_attempts - 1), done),
        "permanent": Script((), Step(Act.RAISE_PERMANENT, seconds)),
        "hang": Script((Step(Act.RETURN, _HANG_SECONDS),), done),
        "swallow": Script((Step(Act.SWALLOW, _HANG_SECONDS, rng.uniform(0.05, 2.5)),), done),
        "exhausted": Script((), Step(Act.RAISE_RETRYABLE, seconds)),
        "dependency": Script((), Step(Act.ASK_DEPENDENCY, seconds)),
    }
    return scripts.get(kind, Script((), done))


def killer(rng: random.Random) -> Script:
    """Write the script of a hook that takes its process down."""
    return Script((), Step(Act.KILL, rng.choice((0.0, rng.uniform(0.001, 0.1)))))
