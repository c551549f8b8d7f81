"""Which dead letters say that a group has not completed a record: those of several groups meet in one topic.

A letter that does not say who has written it counts for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.deadletters import is_replay_group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.contract import DeadLetter
    from hookline.service._isolation import Isolation


@dataclass(frozen=True, slots=True)
class LettersOfOne:
    """Letters of a group that runs one hook: its own, and those that the shared group wrote before and that concern it.

    What failed for other hooks there, this one has completed.
    """

    groups: frozenset[str]
    shared: str
    names: frozenset[str]

    @classmethod
    def of(cls, isolation: Isolation, hook: str) -> LettersOfOne:
        """Tell for a hook, under all the names that it has had."""
        names = frozenset({hook, *_former(isolation, {hook})})
        return cls(frozenset(map(isolation.group_of, names)), isolation.shared_group, names)

    def __call__(self, letter: DeadLetter) -> bool:
        """Tell whether a letter counts."""
        if letter.group != self.shared:
            return letter.group in self.groups or not letter.group
        return not letter.failures or any(failure.hook in self.names for failure in letter.failures)


@dataclass(frozen=True, slots=True)
class LettersOfShared:
    """Letters of the shared group: all but those of replays, and of hooks that are run elsewhere.

    So a hook that is shared again still has what its own group gave up.
    """

    others: frozenset[str]

    @classmethod
    def of(cls, isolation: Isolation) -> LettersOfShared:
        """Tell for a domain."""
        own = isolation.own
        return cls(frozenset(map(isolation.group_of, (*own, *_former(isolation, own)))))

    def __call__(self, letter: DeadLetter) -> bool:
        """Tell whether a letter counts."""
        return letter.group not in self.others and not is_replay_group(letter.group)


@dataclass(frozen=True, slots=True)
class LettersOfReplay:
    """Letters of a replay: its own alone."""

    group: str

    def __call__(self, letter: DeadLetter) -> bool:
        """Tell whether a letter counts."""
        return letter.group == self.group or not letter.group


def _former(isolation: Isolation, hooks: Iterable[str]) -> list[str]:
    names = frozenset(hooks)
    return [old for old, new in isolation.renamed.items() if new in names]
