"""The identities that have completed lately."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ._delivery import Fingerprint, Identity


class Completed(NamedTuple):
    """An identity that completed: at which offset, and what the record said."""

    identity: Identity
    offset: int
    fingerprint: Fingerprint


_Entry: TypeAlias = "tuple[Identity, int, Fingerprint]"


class CompletedWindow:
    """The last `size` records of a partition that completed, by identity.

    Only completion marks an identity: one that was dead-lettered is never here, so that its republication runs.
    """

    __slots__ = ("_entries", "_size", "by_identity")

    def __init__(self, size: int) -> None:
        self.by_identity: dict[Identity, _Entry] = {}
        """To be looked at only: whether an identity has completed is asked for every record."""
        self._entries: deque[_Entry] = deque()
        self._size = size

    def __contains__(self, identity: Identity) -> bool:
        return identity in self.by_identity

    def __len__(self) -> int:
        return len(self.by_identity)

    def find(self, identity: Identity) -> Completed | None:
        """Tell which record of an identity has completed, None when none did."""
        entry = self.by_identity.get(identity)
        return None if entry is None else Completed(*entry)

    def add(self, identity: Identity, offset: int, fingerprint: Fingerprint) -> None:
        """Mark an identity as completed; the oldest entry beyond the size is forgotten."""
        entry = self.by_identity[identity] = (identity, offset, fingerprint)
        self._entries.append(entry)
        if len(self._entries) > self._size:
            oldest = self._entries.popleft()
            if self.by_identity.get(oldest[0]) is oldest:
                del self.by_identity[oldest[0]]
