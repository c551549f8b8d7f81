"""A group coordinator: who owns which partition, and what is committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hookline.kafka import CommitError, ErrorKind
from hookline.kafka._errors import Fault

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

    from hookline.kafka import Position
    from tests.simulate._checks import Checks
    from tests.simulate._ledger import Epoch

_NOT_A_MEMBER = Fault("UNKNOWN_MEMBER_ID", ErrorKind.RETRYABLE, "simulated")
_REFUSED = Fault("REBALANCE_IN_PROGRESS", ErrorKind.RETRYABLE, "simulated")
_TOO_LARGE = Fault("OFFSET_METADATA_TOO_LARGE", ErrorKind.PERMANENT, "simulated")


@dataclass(eq=False, slots=True)
class Member:
    """A member as the coordinator sees it."""

    process: str
    incarnation: int = 0
    """Which joining: a request of an earlier one is refused."""
    is_counted: bool = True
    told: set[int] = field(default_factory=set)
    """Partitions that it knows to be its own."""
    granted: set[int] = field(default_factory=set)
    """Partitions that it will be told of."""
    leaving: set[int] = field(default_factory=set)
    """Partitions that it will be asked to let go."""


@dataclass(frozen=True, slots=True)
class Request:
    """A commit on its way."""

    member: Member
    incarnation: int
    positions: Mapping[int, Position]
    epochs: Mapping[int, Epoch]
    """Of the process, when it sent this."""
    written_at: int


class Group:
    """Moves partitions cooperatively: one is granted only when it is nobody's."""

    def __init__(self, partitions: int, rng: random.Random, checks: Checks, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._rng = rng
        self._checks = checks
        self._partitions = range(partitions)
        self._members: list[Member] = []
        self._owners: dict[int, Member] = {}
        self.positions: dict[int, Position] = {}
        self.refuses = 0.0
        self.unheard = 0.0
        self.most_characters: int | None = None

    def join(self, member: Member) -> None:
        """Count a member in, also one that was put out."""
        member.incarnation += 1
        member.is_counted = True
        member.told, member.granted, member.leaving = set(), set(), set()
        if member not in self._members:
            self._members.append(member)
        self.rebalance()

    def leave(self, member: Member) -> None:
        """Put a member out: what it owned is free at once, whether it knows or not."""
        if not member.is_counted:
            return
        member.is_counted = False
        self._owners = {number: owner for number, owner in self._owners.items() if owner is not member}
        member.granted, member.leaving = set(), set()
        self.rebalance()

    def released(self, member: Member, number: int) -> None:
        """Note that a member has let a partition go in order."""
        if self._owners.get(number) is member:
            del self._owners[number]
        self.rebalance()

    def rebalance(self, *, shuffled: bool = False) -> None:
        """Share the partitions out: those that have an owner stay, unless that one has too many, or by chance."""
        members = [member for member in self._members if member.is_counted]
        if not members:
            return
        for member in members:
            member.leaving.clear()
        most = -(-len(self._partitions) // len(members))
        counts: Counter[str] = Counter()
        homeless = []
        for number in self._partitions:
            owner = self._owners.get(number)
            if owner is None or counts[owner.process] >= most or (shuffled and self._rng.random() < 0.5):
                homeless.append(number)
            else:
                counts[owner.process] += 1
        self._changed()
        for number in homeless:
            target = min(members, key=lambda each: (counts[each.process], self._rng.random()))
            counts[target.process] += 1
            self._move(number, target)

    def _move(self, number: int, target: Member) -> None:
        owner = self._owners.get(number)
        if owner is target:
            return
        if owner is not None and number in owner.granted:
            owner.granted.discard(number)
            owner = None
        if owner is not None:
            owner.leaving.add(number)
            return
        self._owners[number] = target
        target.granted.add(number)

    def commit(self, request: Request) -> CommitError | None:
        """Take a commit, or refuse it; or take it and say that it was refused."""
        member = request.member
        if not member.is_counted or member.incarnation != request.incarnation:
            return CommitError(_NOT_A_MEMBER)
        if self._rng.random() < self.refuses:
            return CommitError(_REFUSED)
        error = None
        for number, position in request.positions.items():
            if self.most_characters is not None and len(position[1]) > self.most_characters:
                error = CommitError(_TOO_LARGE)
            else:
                self._take(request, number, position)
        return CommitError(_REFUSED) if self._rng.random() < self.unheard else error

    def _take(self, request: Request, number: int, position: Position) -> None:
        epoch = request.epochs.get(number)
        if epoch is not None:
            self._checks.committed(epoch, position, request.written_at)
        self.positions[number] = position
