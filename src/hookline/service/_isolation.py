"""Which hooks have a consumer group of their own, where a new one begins, and what hooks were called before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.hooks import hooks_of
from hookline.service._moments import START, moment_of
from hookline.service._problems import Problem, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.hooks import Hook, Resolver
    from hookline.service._settings import Settings
    from hookline.service._tables import HookTable


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one hook is run.

    `is_own` says in a group of its own, `start` where that begins when it is new, `former` how the hook was called
    before, `where` the place at which a person sets all that.
    """

    name: str
    is_own: bool
    start: str | None
    former: str | None
    where: str


class Isolation:
    """The seats of a domain's hooks. Raises SettingsError for what contradicts itself.

    Only hooks that the resolver lists can have a group of their own; others are run by the shared group.
    """

    def __init__(self, settings: Settings, resolver: Resolver) -> None:
        self._settings = settings
        tables = {table.name: (index, table) for index, table in enumerate(settings.hooks)}
        seats = [_seat(settings, hook, tables) for hook in hooks_of(resolver)]
        self.seats: Mapping[str, Seat] = {seat.name: seat for seat in seats}
        self.own = frozenset(seat.name for seat in seats if seat.is_own)
        """The hooks with a group of their own."""
        self.renamed: Mapping[str, str] = {seat.former: seat.name for seat in seats if seat.former is not None}
        """Former names of hooks, and those of today."""
        problems = [*self._problems(), *_twice(seats)]
        if problems:
            raise SettingsError(problems)

    @property
    def shared_group(self) -> str:
        """Name the group that runs all other hooks and dead-letters what is malformed."""
        return self._settings.hook_group()

    def group_of(self, hook: str) -> str:
        """Name the group that a hook has when it has one of its own."""
        return f"{self.shared_group}.{hook}"

    def is_shared(self, hook: str) -> bool:
        """Tell whether the shared group runs a hook, or answers for it: also one that nobody knows."""
        return hook not in self.own

    def shared_names(self) -> frozenset[str]:
        """Name the hooks that are known to be run by the shared group."""
        return frozenset(self.seats) - self.own

    def require_own(self, names: Iterable[str], option: str) -> None:
        """Raise SettingsError unless each of these hooks has a group of its own."""
        own = f"those that have: {', '.join(sorted(self.own))}" if self.own else 'set isolation = "per-hook"'
        wrong = [name for name in names if name not in self.own]
        if wrong:
            raise SettingsError(Problem(f'hook "{name}" has no group of its own', option, own) for name in wrong)

    def _problems(self) -> Iterable[Problem]:
        if self._settings.isolation == "per-hook" and not self.seats:
            what = 'isolation = "per-hook": no hook is listed, so none can have a group of its own'
            yield Problem(
                what, self._settings.place("isolation"), "give the resolver an attribute hooks that lists them"
            )
        groups = {self.group_of(name) for name in self.seats}
        if self._settings.dead_letter_group() in groups:
            group = self._settings.dead_letter_group()
            what = f'reconciler and a hook have the same consumer group, "{group}": each needs its own'
            yield Problem(what, self._settings.place("groups", "dead_letters"), "rename the hook or the group")
        for seat in self.seats.values():
            if seat.former in self.seats:
                what = f'hook "{seat.name}": renamed_from names "{seat.former}", which is a hook still'
                yield Problem(what, seat.where, "remove one of the two")


def _seat(settings: Settings, hook: Hook, tables: Mapping[str, tuple[int, HookTable]]) -> Seat:
    index, table = tables.get(hook.name, (None, None))
    where = settings.place("app") if index is None else settings.place("hooks", index)
    isolation = (table.isolation if table else None) or _text(hook, "isolation", where)
    if isolation not in {None, "own"}:
        raise SettingsError([Problem(f'hook "{hook.name}": isolation must be "own"', where)])
    start = (table.start if table else None) or _start(hook, where) or settings.start
    former = (table.renamed_from if table else None) or _text(hook, "renamed_from", where)
    is_own = settings.isolation == "per-hook" or isolation == "own"
    return Seat(hook.name, is_own, start, former, where)


def _text(hook: Hook, attribute: str, where: str) -> str | None:
    found = getattr(hook, attribute, None)
    if found is None or isinstance(found, str):
        return found
    raise SettingsError([Problem(f'hook "{hook.name}": its attribute {attribute} must be a text', where)])


def _start(hook: Hook, where: str) -> str | None:
    start = _text(hook, "start", where)
    try:
        _ = start is not None and moment_of(start)
    except ValueError as error:
        raise SettingsError([Problem(f'hook "{hook.name}": start must be {START}', where)]) from error
    return start


def _twice(seats: Iterable[Seat]) -> Iterable[Problem]:
    seen: dict[str, str] = {}
    for seat in seats:
        if seat.former is None:
            continue
        if seat.former in seen:
            what = f'hooks "{seen[seat.former]}" and "{seat.name}" were both renamed_from "{seat.former}"'
            yield Problem(what, seat.where, "the name was that of one of them")
        seen[seat.former] = seat.name
