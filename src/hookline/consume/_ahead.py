"""What the consumer's thread has fetched of one partition and not handed over yet."""

from __future__ import annotations

from collections import deque
from itertools import accumulate, islice, takewhile
from operator import methodcaller
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.kafka import UnreadRecord

_OFFSET_OF = methodcaller("offset")


class FetchedAhead:
    """Messages that wait for room in their partition, unread, in the order in which they came.

    The client has one queue for all partitions: without this a partition that is full would keep back what lies behind
    its messages for others, and one that has room again would wait for the next fetch. Of the consumer's thread alone.
    """

    __slots__ = ("_messages", "last_offset", "size_bytes")

    def __init__(self, last_offset: int) -> None:
        self.last_offset = last_offset
        """That of the last message that came, or before the first one."""
        self._messages: deque[UnreadRecord] = deque()
        self.size_bytes = 0
        """Bytes of their values."""

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, messages: Sequence[UnreadRecord]) -> int:
        """Keep messages that came after all others; tells how many: none from the first whose offset goes back."""
        offsets = [self.last_offset, *map(_OFFSET_OF, messages)]
        kept = len(messages)
        if offsets != sorted(set(offsets)):
            kept = next(index for index in range(kept) if offsets[index] >= offsets[index + 1])
            messages = messages[:kept]
        self._messages.extend(messages)
        self.size_bytes += sum(map(len, messages))
        self.last_offset = offsets[kept]
        return kept

    def clear(self) -> None:
        """Drop what waits."""
        self._messages.clear()
        self.size_bytes = 0

    def take(self, most_messages: int, most_bytes: int) -> list[UnreadRecord]:
        """Take the first messages out, with at most so many bytes: but one if there is one, however large it is."""
        sizes = accumulate(map(len, islice(self._messages, most_messages)))
        count = sum(1 for _ in takewhile(most_bytes.__ge__, sizes))
        taken = [self._messages.popleft() for _ in range(max(count, min(len(self._messages), 1)))]
        self.size_bytes -= sum(map(len, taken))
        return taken
