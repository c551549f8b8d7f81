"""Moving what groups have committed when hooks change groups or names, and placing groups that are new.

All of it happens before the first poll. A move is: the target's commit, and only then the deletion of what it came from.
So a crash in between leaves both, and what both have settled is settled: it is looked at again, and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hookline.consume import EngineMeter, shorter_metadata
from hookline.hooks import Place, join_former_into_own, join_into_own, join_into_shared, write_roster
from hookline.kafka import GroupInUseError, GroupRefusedError
from hookline.service._moments import moment_of
from hookline.service._problems import Problem, SettingsError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from hookline.kafka import GroupAdmin, Moment, Position
    from hookline.service._isolation import Isolation, Seat

    Positions: TypeAlias = Mapping[int, Position]

_NO_POSITIONS: Final[Mapping[int, Position]] = {}

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Move:
    """What to commit for a group, and what goes before and after.

    Nobody may be in `sources`, or what they settle meanwhile would be forgotten; `leftovers` are deleted afterwards.
    """

    target: str
    positions: Mapping[int, Position]
    why: str
    hooks: tuple[str, ...]
    sources: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


class TakeOver:
    """Finds and carries out the moves that settings ask for. Blocks; for one thread. Safe to repeat at any point.

    Every process does it for all hooks, whichever it runs itself, since one that begins with other settings changes what
    the shared group's commits say. A broker that refuses the metadata of a move is given less of it: what is lost then is
    the knowledge of outcomes, which runs hooks again, never a record.
    """

    def __init__(self, topic: str, isolation: Isolation, meter: EngineMeter | None = None) -> None:
        self._topic = topic
        self._meter = meter or EngineMeter()
        self._isolation = isolation
        self._shared = isolation.shared_group

    def run(self, admin: GroupAdmin) -> None:
        """Look and move. Raises SettingsError for a new group without a start, GroupInUseError for one not to be touched."""
        for move in self.plan(admin):
            self._carry_out(admin, move)

    def plan(self, admin: GroupAdmin) -> list[Move]:
        """Tell what is to be moved. Raises SettingsError for new groups without a start."""
        found = self._look(admin)
        starts = _Starts(lambda moment: admin.offsets_at(self._topic, moment))
        own = [self._isolation.seats[name] for name in sorted(self._isolation.own)]
        _require_starts([seat for seat in own if self._is_new(seat, found) and seat.start is None], self._isolation)
        moves = [move for seat in own if (move := self._to_own(seat, found, starts)) is not None]
        back = self._to_shared(found, starts)
        return moves if back is None else [*moves, back]

    def _look(self, admin: GroupAdmin) -> dict[str, Positions]:
        """Look at all groups that may have to move, in an order in which what another process moves is not missed.

        A target is written before its source says or is something else, so sources come first, except that of hooks
        which share again the groups are sources, and the shared group is the target.
        """
        seats = self._isolation.seats.values()
        group_of = self._isolation.group_of
        sharing = [group_of(name) for seat in seats if not seat.is_own for name in _names(seat)]
        former = [group_of(seat.former) for seat in seats if seat.is_own and seat.former is not None]
        own = [group_of(seat.name) for seat in seats if seat.is_own]
        seen: Mapping[str, Positions] = admin.committed_if_seen(sharing, self._topic) if sharing else {}
        found = {group: seen.get(group, _NO_POSITIONS) for group in sharing}
        for groups in ([self._shared], former, own):
            found |= admin.committed(groups, self._topic) if groups else {}
        self._tell_of_unseen(seen, found)
        return found

    def _tell_of_unseen(self, seen: Mapping[str, Positions], found: Mapping[str, Positions]) -> None:
        """Say which groups may not be seen that may have something to move: those of hooks that the shared one has not run."""
        for seat in self._isolation.seats.values():
            unseen = [group for name in _names(seat) if (group := self._isolation.group_of(name)) not in seen]
            if unseen and not seat.is_own and not self._is_served(seat, found):
                _log.warning(
                    "groups may not be seen: if the hook had one of them, what waits there is not taken over",
                    hook=seat.name, groups=unseen,
                )  # fmt: skip

    def _carry_out(self, admin: GroupAdmin, move: Move) -> None:
        _require_empty(admin, move.sources)
        if move.positions:
            self._commit(admin, move)
            _require_empty(admin, move.sources)  # who came meanwhile may settle what the target does not know of
            _log.info(move.why, group=move.target, hooks=list(move.hooks), partitions=sorted(move.positions))
        for group in move.leftovers:
            admin.delete(group)

    def _commit(self, admin: GroupAdmin, move: Move) -> None:
        longest = max(len(text) for _, text in move.positions.values())
        limits = (longest, *dict.fromkeys((shorter_metadata(longest), 0)))
        for limit in limits:
            try:
                admin.commit(move.target, self._topic, _within(limit, move.positions))
            except GroupRefusedError as error:
                if not error.metadata_refused or not limit:
                    raise
                self._meter.metadata_lost("refused")
                _log.error(
                    "the broker refuses the metadata of a move: outcomes may be forgotten",
                    group=move.target, characters=limit,
                )  # fmt: skip
            else:
                return

    # A hook that has a group of its own now.

    def _is_new(self, seat: Seat, found: Mapping[str, Positions]) -> bool:
        return not (self._own_of(seat, found) or self._former_of(seat, found) or self._is_served(seat, found))

    def _own_of(self, seat: Seat, found: Mapping[str, Positions]) -> Positions:
        return found[self._isolation.group_of(seat.name)]

    def _former_of(self, seat: Seat, found: Mapping[str, Positions]) -> Positions:
        return _NO_POSITIONS if seat.former is None else found[self._isolation.group_of(seat.former)]

    def _is_served(self, seat: Seat, found: Mapping[str, Positions]) -> bool:
        """Tell whether the shared group has run a hook.

        One word of a partition is enough, since others may have lost theirs; where none says whom it runs, it ran all.
        """
        answers = {Place.read(each).runs(*_names(seat)) for each in found[self._shared].values()}
        return True in answers or answers == {None}

    def _to_own(self, seat: Seat, found: Mapping[str, Positions], starts: _Starts) -> Move | None:
        target = self._isolation.group_of(seat.name)
        own, former = self._own_of(seat, found), self._former_of(seat, found)
        leftovers = (self._isolation.group_of(seat.former),) if seat.former is not None and former else ()
        if own:
            return self._caught_up(seat, target, found, leftovers)
        if former:
            why = "hook was renamed: its group begins where that of its old name was"
            return Move(target, former, why, (seat.name,), leftovers, leftovers)
        if self._is_served(seat, found):
            why = "hook has a group of its own now: it begins where the shared group was"
            return Move(target, _handed_over(found[self._shared]), why, (seat.name,), (self._shared,))
        if seat.start is None:
            return None
        offsets = starts.at(moment_of(seat.start))
        positions = {number: Place.beginning(offset).write() for number, offset in offsets.items()}
        return Move(target, positions, "hook's group is new: it begins where its start says", (seat.name,))

    def _caught_up(
        self, seat: Seat, target: str, found: Mapping[str, Positions], leftovers: tuple[str, ...]
    ) -> Move | None:
        """Add what others have settled for a hook whose own group is there: the shared one, and that of its former name.

        The hook has moved there, or was called so, and is back; a partition may be missing where a move broke off.
        """
        own, names = self._own_of(seat, found), _names(seat)
        former = {number: Place.read(each) for number, each in self._former_of(seat, found).items()}
        shared = {number: Place.read(each) for number, each in found[self._shared].items()}
        shared = {number: place.handed_over() for number, place in shared.items() if place.runs(*names)}
        positions: dict[int, Position] = {}
        for number in sorted({*own, *former, *shared}):
            before = Place.read(own[number]) if number in own else None
            place = _joined_own(before, former.get(number), shared.get(number), names)
            if place is not None:
                positions[number] = place.write()
        if not positions and not leftovers:
            return None
        sources = (self._shared, *leftovers) if positions else leftovers
        return Move(target, positions, "hook is back in its own group", (seat.name,), sources, leftovers)

    # Hooks that the shared group runs again.

    def _to_shared(self, found: Mapping[str, Positions], starts: _Starts) -> Move | None:
        own: dict[str, Positions] = {}
        leftovers: list[str] = []
        for name in sorted(self._isolation.shared_names()):
            names = _names(self._isolation.seats[name])
            groups = [group for each in names if found[group := self._isolation.group_of(each)]]
            if groups:
                own[name] = _both(*(found[group] for group in groups), names=names)
                leftovers += groups
        if not own:
            return None
        positions = self._joined(found[self._shared], own, starts)
        why = "hooks have no group of their own any more: the shared group goes on where the last of them was"
        return Move(self._shared, positions, why, tuple(own), (self._shared, *leftovers), tuple(leftovers))

    def _joined(self, shared: Positions, own: Mapping[str, Positions], starts: _Starts) -> dict[int, Position]:
        """Join partition by partition; where a group has committed nothing it would have begun with the first record."""
        note = write_roster(self._isolation.shared_names())
        former = {new: old for old, new in self._isolation.renamed.items()}
        earliest = starts.at("earliest")
        joined: dict[int, Position] = {}
        for number, first in earliest.items():
            places = {name: _place(positions, number, first) for name, positions in own.items()}
            joined[number] = join_into_shared(_place(shared, number, first), places, note, former).write()
        return joined


def _require_empty(admin: GroupAdmin, groups: Iterable[str]) -> None:
    for group in groups:
        if admin.has_members(group):
            raise GroupInUseError(group, f"group {group} has members", "NON_EMPTY_GROUP")


class _Starts:
    """Offsets of the topic at moments, each asked for once."""

    def __init__(self, ask: Callable[[Moment], Mapping[int, int]]) -> None:
        self._ask = ask
        self._known: dict[Moment, Mapping[int, int]] = {}

    def at(self, moment: Moment) -> Mapping[int, int]:
        """Tell the offsets of a moment by partition."""
        if moment not in self._known:
            self._known[moment] = self._ask(moment)
        return self._known[moment]


def _place(positions: Positions, number: int, first: int) -> Place:
    return Place.read(positions[number]) if number in positions else Place.at(first)


def _handed_over(positions: Positions) -> Positions:
    places = {number: Place.read(each) for number, each in positions.items()}
    handed_over = {number: place.handed_over() for number, place in places.items()}
    return {
        number: each if handed_over[number] == places[number] else handed_over[number].write()
        for number, each in positions.items()
    }


def _joined_own(own: Place | None, former: Place | None, shared: Place | None, names: tuple[str, ...]) -> Place | None:
    """Join what others have settled into a hook's own place, which may be missing; None when that adds nothing."""
    place = own
    if former is not None:
        place = former if place is None else join_former_into_own(place, former, *names) or place
    if shared is not None:
        place = shared if place is None else join_into_own(place, shared, *names) or place
    return None if place is own else place


def _both(own: Positions, former: Positions = _NO_POSITIONS, *, names: tuple[str, ...]) -> Positions:
    """Put together what a hook has settled under two names."""
    joined = dict(own)
    for number, each in former.items():
        before = Place.read(own[number]) if number in own else None
        place = _joined_own(before, Place.read(each), None, names)
        if place is not None:
            joined[number] = place.write()
    return joined


def _within(limit: int, positions: Positions) -> Positions:
    """Say no more than so many characters of each partition."""
    return {
        number: (offset, text) if len(text) <= limit else Place.read((offset, text)).write(limit)
        for number, (offset, text) in positions.items()
    }


def _names(seat: Seat) -> tuple[str, ...]:
    return (seat.name,) if seat.former is None else (seat.name, seat.former)


def _require_starts(seats: Iterable[Seat], isolation: Isolation) -> None:
    problems = [
        Problem(
            f'hook "{seat.name}": its group {isolation.group_of(seat.name)} is new, and nothing says where it begins',
            seat.where,
            'set its start, or that of the domain: "earliest" for all that the topic holds, "latest" for what comes, or a time',
        )
        for seat in seats
    ]
    if problems:
        raise SettingsError(problems)
