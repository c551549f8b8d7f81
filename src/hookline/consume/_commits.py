"""Commits what is settled, and what an offset cannot say: on a tick, only what has changed, one at a time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from hookline.telemetry import get_logger

from ._marks import RetryState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, ValuesView

    from hookline.kafka import CommitError, Position

    from ._delivery import Delivery, Memory
    from ._metered import EngineMeter
    from ._partition import Partition

MOST_CHARACTERS: Final = 4_000
"""Of metadata; a broker takes 4,095 unless it was told otherwise."""
_LEAST_CHARACTERS: Final = 16
_COST_SHARE: Final = 10
"""Writing the metadata may take one part in so many of the time between two commits."""
_AGAIN_SECONDS: Final = 0.5

_log = get_logger(__name__)


class Commits:
    """Keeps the positions of an engine's partitions committed.

    A broker that refuses the metadata is given the offset alone, and shorter metadata from then on: what is lost then
    is the knowledge of attempts, never a record.
    """

    def __init__(
        self,
        partitions: ValuesView[Partition],
        memory: Memory | None,
        commit: Callable[[Mapping[Partition, Position]], None],
        every_seconds: float,
        meter: EngineMeter,
        note_of: Callable[[int], bytes] | None = None,
    ) -> None:
        self._note_of = note_of
        self._partitions = partitions
        self._memory = memory
        self._commit = commit
        self._every_seconds = every_seconds
        self._meter = meter
        self._most_characters = MOST_CHARACTERS
        self._in_flight: asyncio.Future[CommitError | None] | None = None

    async def run(self) -> None:
        """Commit for ever."""
        pause_seconds = self._every_seconds
        while True:
            await asyncio.sleep(pause_seconds)
            began = time.perf_counter()
            if self._in_flight is None:
                self._begin(self._changes())
            pause_seconds = max(self._every_seconds, (time.perf_counter() - began) * _COST_SHARE)

    async def confirm(self) -> None:
        """Return once the broker has confirmed how things stand now."""
        while True:
            while self._in_flight is not None:
                await asyncio.wait((self._in_flight,))
            changes = self._changes()
            if not changes:
                return
            error = await self._begin(changes)
            if error is None:
                return
            await asyncio.sleep(_AGAIN_SECONDS)

    def ended(self, positions: Mapping[Partition, Position], error: CommitError | None) -> None:
        """Note how a commit ended; what was refused is part of the next one."""
        in_flight, self._in_flight = self._in_flight, None
        if error is None:
            for partition, position in positions.items():
                partition.committed = position
        elif error.metadata_refused and any(text for _, text in positions.values()):
            self._shorten(positions)
        if in_flight is not None and not in_flight.done():
            in_flight.set_result(error)

    def seal(self, partitions: Iterable[Partition]) -> None:
        """Write down what to commit for partitions that are let go in order; nothing of them may run any more."""
        for partition in partitions:
            partition.final = self._position_of(partition, clean=True)

    def opening(self, partition: Partition) -> Position | None:
        """Tell what to commit before a partition's first record begins: that it is open."""
        return self._position_of(partition, clean=False)

    def _begin(self, positions: Mapping[Partition, Position]) -> asyncio.Future[CommitError | None]:
        ended = asyncio.get_running_loop().create_future()
        if positions:
            self._in_flight = ended
            self._commit(positions)
        return ended

    def _changes(self) -> dict[Partition, Position]:
        positions = {each: position for each in self._partitions if (position := self._position_if_moved(each))}
        return {each: position for each, position in positions.items() if position != each.committed}

    def _position_if_moved(self, partition: Partition) -> Position | None:
        committed, tracker = partition.committed, partition.tracker
        is_still = committed is not None and committed[0] == tracker.position
        if partition.closing or (is_still and not (partition.active or partition.suspects or tracker.span)):
            return None
        return self._position_of(partition, clean=False)

    def _position_of(self, partition: Partition, *, clean: bool) -> Position | None:
        note = partition.note if self._note_of is None else self._note_of(partition.number)
        encoded = partition.encode(self._most_characters, self._state_of, clean=clean, note=note)
        if encoded is None or partition.position is None:
            return None
        if not encoded.whole:
            self._meter.metadata_lost("overflow")
        return partition.position, encoded.text

    def _state_of(self, delivery: Delivery) -> RetryState | None:
        saved = b"" if self._memory is None else self._memory.save(delivery)
        if not saved and delivery.attempt == 1:
            return None
        failed_at = delivery.first_failed_at
        return RetryState(delivery.attempt, None if failed_at is None else int(failed_at // 60), saved)

    def _shorten(self, positions: Mapping[Partition, Position]) -> None:
        """Say it again without metadata, and say less from now on."""
        longest = max(len(text) for _, text in positions.values())
        self._most_characters = shorter_metadata(longest)
        self._meter.metadata_lost("refused")
        _log.error(
            "the broker refuses the metadata of a commit: attempts may be forgotten at a restart",
            characters=longest, at_most_from_now_on=self._most_characters,
        )  # fmt: skip
        self._begin({partition: (offset, "") for partition, (offset, _) in positions.items() if not partition.closing})


def shorter_metadata(refused: int) -> int:
    """Tell how many characters to try when a broker refused so many: half, or none at all when that says nothing."""
    half = refused // 2
    return half if half >= _LEAST_CHARACTERS else 0
