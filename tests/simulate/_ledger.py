"""What has really happened to each record, and who knows of it."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.contract import DeadLetterClass
    from tests.simulate._scripts import Script

Place = tuple[int, str]
"""(offset, hook)."""


class ViolationError(Exception):
    """A promise was broken; ends the history. Its text begins with the promise's number."""


@dataclass(eq=False, slots=True)
class Sent:
    """A record on the topic."""

    partition: int
    offset: int
    key: bytes | None
    identity: tuple[str, str]
    scripts: dict[str, Script]
    """By hook that is to run."""
    again: bool = False
    """Whether it runs even if its identity has completed."""
    names_hooks: bool = False
    """Whether it was republished for some hooks only."""
    runs: Counter[str] = field(default_factory=Counter)
    bad_runs: Counter[str] = field(default_factory=Counter)
    """By hook: runs that raised or were cancelled."""
    ok: set[str] = field(default_factory=set)
    """Hooks that have succeeded in somebody's epoch."""
    letters: list[DeadLetterClass] = field(default_factory=list)
    blame: int = 0
    """How often an owner went down that may have charged this record."""

    def makes_repeat(self, other: Sent) -> bool:
        """Tell whether another record of the identity asks for nothing, once this one has completed.

        One that names hooks says nothing of what stands before it: that may be open for others.
        """
        if not self.names_hooks:
            return True
        return other.scripts.keys() <= self.scripts.keys() if other.names_hooks else self.offset < other.offset

    @property
    def is_complete(self) -> bool:
        """Tell whether every hook has succeeded."""
        return self.ok >= self.scripts.keys()

    @property
    def kills(self) -> bool:
        """Tell whether it takes the process down."""
        return any(script.kills for script in self.scripts.values())

    def __str__(self) -> str:
        return f"{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a commit tells of attempts: hooks that succeeded, charged failures, records that were buried."""

    ok: frozenset[Place] = frozenset()
    failures: tuple[tuple[Place, int], ...] = ()
    buried: frozenset[int] = frozenset()

    def of_settled(self, position: int) -> Knowledge:
        """Tell what is left of it when the metadata is lost: what lies below the position."""
        return Knowledge(frozenset(place for place in self.ok if place[0] < position))


@dataclass(frozen=True, slots=True)
class Durable:
    """What the next owner of a partition will find."""

    position: int = 0
    surely: Knowledge = Knowledge()
    perhaps: frozenset[Place] = frozenset()
    """Successes of which it may know, if the metadata had room for them."""


@dataclass(eq=False, slots=True)
class Run:
    """One run of one hook."""

    sent: Sent
    epoch: Epoch
    hook: str
    is_cancelled: bool = False
    result: str = ""


@dataclass(eq=False, slots=True)
class Epoch:
    """One assignment of a partition to a process, from the moment that it is told to the moment that its end is."""

    process: str
    number: int
    opened_at: int
    found: Durable
    recall_is_sound: bool = True
    is_closed: bool = False
    is_sealed: bool = False
    """Whether the broker has taken its last commit, in order."""
    ok: dict[Place, int] = field(default_factory=dict)
    """When each hook succeeded."""
    failures: list[tuple[int, Place, int]] = field(default_factory=list)
    """(when, what, charge)."""
    buried: dict[int, int] = field(default_factory=dict)
    delivered: dict[int, Sent] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)
    """When each was."""
    written_at: int = 0
    """When its last commit was written."""
    begun: dict[tuple[str, str], int] = field(default_factory=dict)
    """By identity: the offset that has begun and is not settled."""
    completed: deque[Sent] = field(default_factory=deque)
    last_started: dict[object, int] = field(default_factory=dict)
    """By subject."""
    running: set[Run] = field(default_factory=set)

    def may_be_charged(self) -> set[Sent]:
        """Tell which records the last commit may have named as the one that runs alone."""
        written_at = self.written_at
        return {each for each in self.delivered.values() if self.settled.get(each.offset, written_at) >= written_at}

    def charge(self, place: Place) -> int:
        """Tell how many failures are known that count against the budget."""
        found = sum(charge for known, charge in self.found.surely.failures if known == place)
        return found + sum(charge for _, known, charge in self.failures if known == place)

    def knows(self, place: Place) -> bool:
        """Tell whether the success of a hook is known here."""
        return place in self.ok or place in self.found.surely.ok

    def durable(self, position: int, before: int, *, has_text: bool, is_whole: bool) -> Durable:
        """Tell what a commit says that was written at a moment."""
        ok = frozenset(place for place, when in self.ok.items() if when < before)
        charges = Counter[Place](dict(self.found.surely.failures))
        for when, place, charge in self.failures:
            charges[place] += charge if when < before else 0
        surely = Knowledge(
            self.found.surely.ok | ok,
            tuple(charges.items()),
            self.found.surely.buried | {offset for offset, when in self.buried.items() if when < before},
        )
        perhaps = self.found.perhaps | ok
        if has_text and is_whole:
            return Durable(position, surely, perhaps)
        return Durable(position, surely.of_settled(position), perhaps if has_text else frozenset())
