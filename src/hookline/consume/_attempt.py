"""A record that is being run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._delivery import holds_no_slot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._partition import Lane


class Attempt:
    """The first record of a lane, while it is run and has not ended yet, and the slot that it holds."""

    __slots__ = ("_slot_freed", "delivery", "has_slot", "lane", "rest")

    def __init__(self, lane: Lane, rest: Awaitable[None], slot_freed: Callable[[], None]) -> None:
        self._slot_freed = slot_freed
        self.lane = lane
        self.delivery = lane.queue[0]
        self.rest = rest
        """What is left to be awaited."""
        self.has_slot = True
        self.delivery.release_slot = self.release_slot

    def is_cut_off(self) -> bool:
        """Tell whether its end counts for nothing."""
        return self.delivery.cut_off or self.lane.partition.closed

    def end(self) -> bool:
        """Let go of what it ran; tells whether it still holds its slot, which is the caller's now."""
        self.delivery.release_slot = holds_no_slot  # the two held each other, which only the garbage collector ends
        has_slot, self.has_slot = self.has_slot, False
        return has_slot

    def release_slot(self) -> None:
        """Give the slot to others, though it runs on."""
        if self.has_slot:
            self.has_slot = False
            self.lane.partition.note_stuck(self.delivery)
            self._slot_freed()
