"""Tells a hook that is broken, as by a bad deploy, from events that are bad."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._policy import GuardPolicy

_WINDOWS = 4


class Guard:
    """Watches one hook for a flood of dead letters. Pure: the caller tells what happened."""

    def __init__(self, policy: GuardPolicy) -> None:
        self._policy = policy
        self._failures: deque[tuple[int, str]] = deque(maxlen=policy.outcomes * _WINDOWS)
        """The number of the outcome, and the subject, of what failed for good lately."""

    def failed(self, subject: str, outcomes: int) -> bool:
        """Note an event that the hook failed for good with; tells whether the hook has to be held.

        `outcomes` counts what the hook was done with so far, well or not, this event included. Looked at are the latest
        outcomes that are enough to judge by: as many as the policy asks for, with failures of as many subjects.
        """
        if not self._policy.enabled:
            return False
        self._failures.append((outcomes, subject))
        subjects = set[str]()
        for failed, (number, other) in enumerate(reversed(self._failures), 1):
            subjects.add(other)
            seen = outcomes - number + 1
            if seen >= self._policy.outcomes and len(subjects) >= self._policy.subjects:
                return failed > self._policy.share * seen
        return False

    def reset(self) -> None:
        """Forget what was, as once somebody has mended the hook."""
        self._failures.clear()
