"""The identities that have completed lately."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._delivery import Identity


class CompletedWindow:
    """The last `size` identities that completed on a partition.

    Only completion marks an identity: one that was dead-lettered is never here, so that its republication runs.
    """

    __slots__ = ("_identities", "_size")

    def __init__(self, size: int) -> None:
        self._identities: OrderedDict[Identity, None] = OrderedDict()
        self._size = size

    def __contains__(self, identity: Identity) -> bool:
        return identity in self._identities

    def __len__(self) -> int:
        return len(self._identities)

    def add(self, identity: Identity) -> None:
        """Mark an identity as completed; the oldest one beyond the size is forgotten."""
        self._identities[identity] = None
        self._identities.move_to_end(identity)
        if len(self._identities) > self._size:
            self._identities.popitem(last=False)
