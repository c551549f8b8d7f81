"""Which offsets of a partition are settled, and how far the group may commit."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet


class OffsetTracker:
    """The contiguous watermark over the offsets that were delivered.

    Offsets need not be dense: compaction and aborted transactions leave holes. Completion comes in any order;
    `position` never passes a delivered offset that is not settled. Not safe across threads, except that `position` and
    `span` may be read from any.
    """

    __slots__ = ("_delivered", "_open", "last", "position")

    def __init__(self, position: int | None = None) -> None:
        self._delivered: deque[int] = deque()
        self._open: set[int] = set()
        self.last = -1 if position is None else position - 1
        """The last delivered offset; before one was delivered, the one before the first that may be."""
        self.position = position
        """The offset to commit; None until something was delivered, when it was not given at the start."""

    @property
    def span(self) -> int:
        """How many delivered offsets are remembered: those from the lowest unsettled one on."""
        return len(self._delivered)

    @property
    def delivered(self) -> Iterable[int]:
        """The delivered offsets from `position` on, ascending."""
        return self._delivered

    @property
    def unsettled(self) -> AbstractSet[int]:
        """The delivered offsets that are not settled."""
        return self._open

    def deliver(self, offset: int) -> bool:
        """Note an offset as delivered; False when it, or a later one, had been before."""
        if offset <= self.last:
            return False
        if not self._delivered:
            self.position = offset
        self.last = offset
        self._delivered.append(offset)
        self._open.add(offset)
        return True

    def deliver_settled(self, offset: int) -> None:
        """Note an offset as delivered and settled at once. Raises ValueError when it, or a later one, had been delivered."""
        if offset <= self.last:
            raise ValueError(f"offset {offset} was delivered before; the last was {self.last}")
        self.last = offset
        if self._delivered:
            self._delivered.append(offset)
        else:
            self.position = offset + 1

    def settle(self, offset: int) -> None:
        """Note a delivered offset as settled and move the watermark as far as it goes; a second time changes nothing.

        Raises ValueError for an offset beyond the last delivered: settling it would commit what nobody has seen.
        """
        if offset > self.last:
            raise ValueError(f"offset {offset} was never delivered; the last was {self.last}")
        self._open.discard(offset)
        delivered = self._delivered
        while delivered and delivered[0] not in self._open:
            delivered.popleft()
        self.position = delivered[0] if delivered else self.last + 1
