"""Which events of B3 fail: one in a hundred twice, and one subject for ever."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.events import SEED, subject_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Faults", "plan_faults"]

_SHARE = 0.01
_FOR_EVER_RANK = 10


@dataclass(frozen=True, slots=True)
class Faults:
    """The events that fail twice, as (subject, version); the subject that fails for ever; those where nothing fails."""

    twice: frozenset[tuple[str, int]]
    for_ever: str
    spared: frozenset[str]


def plan_faults(subjects: Sequence[int]) -> Faults:
    """Choose them, always the same ones of the same subjects."""
    chance = random.Random(SEED + 1)  # noqa: S311 - repeatable, and not the numbers that chose the subjects
    versions: Counter[int] = Counter()
    twice = set[tuple[str, int]]()
    for subject in subjects:
        versions[subject] += 1
        if chance.random() < _SHARE and subject != _FOR_EVER_RANK:
            twice.add((subject_name(subject), versions[subject]))
    for_ever = subject_name(_FOR_EVER_RANK)
    failing = {subject for subject, _ in twice} | {for_ever}
    return Faults(frozenset(twice), for_ever, frozenset(map(subject_name, versions)) - failing)
