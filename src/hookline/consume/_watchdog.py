"""Tells partitions that stand still for no reason: records wait on the topic, more come, and nothing keeps them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

STALLED_SECONDS: Final = 30.0
_GAP_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far one partition has come, and what may keep it."""

    partition: int
    fetched: int
    """The offset after the last record that was handed over; 0 before there is one and nothing is committed."""
    position: int
    """The lowest offset that is not settled."""
    is_braked: bool
    """Its intake rests: it is full, held, being opened or let go."""
    is_at_work: bool
    """Something runs, waits for its next attempt, or waits for its dead letter to be written."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A partition that stands still at `position`, while its topic goes on to `end`."""

    partition: int
    position: int
    end: int
    seconds: float
    """For how long."""

    def __str__(self) -> str:
        return (
            f"partition {self.partition} stands still at offset {self.position} for {self.seconds:.0f} s, "
            f"its topic ends at {self.end}"
        )


class Watchdog:
    """Judges what it is told every few seconds of the partitions of one engine; it asks nobody. Not safe across threads.

    A partition is stalled when for `stalled_seconds` nothing was fetched though its intake is not braked, or nothing
    was settled though nothing of it is at work either, while the end of its log moved away. The end alone being ahead
    proves nothing: what is left there may be marks of transactions, which no consumer is ever given.
    """

    def __init__(self, *, stalled_seconds: float = STALLED_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self._stalled_seconds = stalled_seconds
        self._now = now
        self._looked_at = now()
        self._places: dict[int, tuple[_Place, _Place]] = {}
        self.stalls: tuple[Stall, ...] = ()
        """What stands still, as of the last look; by partition, ascending."""

    def observe(self, standings: Iterable[Standing], ends: Mapping[int, int]) -> None:
        """Take a look: how partitions stood, and where they ended when asked *afterwards*.

        Ends that were asked before may lie behind what was fetched since, and their growth would prove nothing.
        """
        now = self._now()
        if now - self._looked_at > _GAP_SECONDS:
            self.forget()
        self._looked_at = now
        before, self._places = self._places, {}
        stalls = []
        for each in sorted(standings, key=lambda standing: standing.partition):
            if each.partition in ends:
                fetched, settled = before.get(each.partition) or (_Place(), _Place())
                self._places[each.partition] = fetched, settled
                stalls += self._judge(each, ends[each.partition], (fetched, settled), now)
        self.stalls = tuple(stalls)

    def forget(self) -> None:
        """Begin anew: the broker was not heard for a while, and has still to be found again by the consumer, too."""
        self._places = {}
        self.stalls = ()

    def _judge(self, each: Standing, end: int, places: tuple[_Place, _Place], now: float) -> list[Stall]:
        fetched, settled = places
        still = [
            fetched.still_seconds(each.fetched, end, now, is_excused=each.is_braked),
            settled.still_seconds(each.position, end, now, is_excused=each.is_braked or each.is_at_work),
        ]
        if max(still) < self._stalled_seconds:
            return []
        return [Stall(each.partition, each.position, end, max(still))]


class _Place:
    """An offset that should move, and since when it has not."""

    __slots__ = ("_end", "_offset", "_since")

    def __init__(self) -> None:
        self._offset = -1
        self._end = 0
        self._since = 0.0

    def still_seconds(self, offset: int, end: int, now: float, *, is_excused: bool) -> float:
        """Tell for how long it has stood still while the end moved away; 0 when it has not."""
        if is_excused or offset != self._offset or offset >= end:
            self._offset, self._end, self._since = offset, end, now
        return now - self._since if end > self._end else 0.0
