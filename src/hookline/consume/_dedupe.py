"""The identities that have completed lately."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from ._delivery import Fingerprint, Identity


class PartIdentity(tuple[str, str]):  # noqa: SLOT001 - a tuple has no room for slots that are not empty
    """The identity of a record that asks for some parts of its work only; equal to that of a record that asks for all.

    `parts` names them. `since` is the first offset from which on a record that asks for all is a repeat, once this one
    has completed; None when the parts that it leaves out may still be open, or were given up.
    """

    parts: frozenset[str]
    since: int | None

    def __new__(cls, identity: Identity, parts: frozenset[str], since: int | None) -> Self:
        """Name the parts of an identity."""
        made = super().__new__(cls, identity)
        made.parts, made.since = parts, since
        return made

    def covers(self, identity: Identity, offset: int) -> bool:
        """Tell whether a record of the same identity asks for nothing that has not completed."""
        if isinstance(identity, PartIdentity):
            return identity.parts <= self.parts
        return self.since is not None and self.since < offset

    def joined(self, other: PartIdentity) -> PartIdentity:
        """Give the identity of both."""
        since = min((each for each in (self.since, other.since) if each is not None), default=None)
        return PartIdentity(self, self.parts | other.parts, since)


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

    def find(self, identity: Identity, offset: int) -> Completed | None:
        """Tell which record makes one of this identity, at this offset, a repeat; None when that still has work.

        A record that asked for all does, wherever it stands; one that asked for some parts does for those parts, and for
        what comes after it. What stands before it may be open for other parts.
        """
        entry = self.by_identity.get(identity)
        if entry is None or (isinstance(entry[0], PartIdentity) and not entry[0].covers(identity, offset)):
            return None
        return Completed(*entry)

    def add(self, identity: Identity, offset: int, fingerprint: Fingerprint) -> None:
        """Mark an identity, or parts of it, as completed; the oldest entry beyond the size is forgotten."""
        entry = (identity, offset, fingerprint)
        if type(identity) is not tuple:
            entry = self._with_known_parts(entry)
        self.by_identity[identity] = entry
        self._entries.append(entry)
        if len(self._entries) > self._size:
            oldest = self._entries.popleft()
            if self.by_identity.get(oldest[0]) is oldest:
                del self.by_identity[oldest[0]]

    def _with_known_parts(self, entry: _Entry) -> _Entry:
        identity, offset, fingerprint = entry
        known = self.by_identity.get(identity)
        if known is None or not isinstance(identity, PartIdentity):
            return entry
        if not isinstance(known[0], PartIdentity):
            return known[0], known[1], known[2]
        return known[0].joined(identity), offset, fingerprint
