"""Which offsets of a partition are settled, and how far the group may commit."""

from __future__ import annotations

from collections import deque


class OffsetTracker:
    """The contiguous watermark over the offsets that were delivered.

    Offsets need not be dense: compaction and aborted transactions leave holes. Completion comes in any order;
    `position` never passes a delivered offset that is not settled. Not safe across threads, except that `position` and
    `span` may be read from any.
    """

    __slots__ = ("_delivered", "_last", "_open", "position")

    def __init__(self) -> None:
        self._delivered: deque[int] = deque()
        self._open: set[int] = set()
        self._last = -1
        self.position: int | None = None
        """The offset to commit, None until something was delivered."""

    @property
    def unsettled(self) -> int:
        """How many delivered offsets are not settled."""
        return len(self._open)

    @property
    def span(self) -> int:
        """How many delivered offsets are remembered: those from the lowest unsettled one on."""
        return len(self._delivered)

    def deliver(self, offset: int) -> bool:
        """Note an offset as delivered; False when it, or a later one, had been before."""
        if offset <= self._last:
            return False
        if not self._delivered:
            self.position = offset
        self._last = offset
        self._delivered.append(offset)
        self._open.add(offset)
        return True

    def settle(self, offset: int) -> None:
        """Note a delivered offset as settled and move the watermark as far as it goes; a second time changes nothing.

        Raises ValueError for an offset beyond the last delivered: settling it would commit what nobody has seen.
        """
        if offset > self._last:
            raise ValueError(f"offset {offset} was never delivered; the last was {self._last}")
        self._open.discard(offset)
        delivered = self._delivered
        while delivered and delivered[0] not in self._open:
            delivered.popleft()
        self.position = delivered[0] if delivered else self._last + 1
