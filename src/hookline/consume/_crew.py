"""What the consumer's thread tells the event loop, and what it finds of a partition for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.kafka import CommitError, Fault, Position, Record

    from ._partition import Partition


class Crew(Protocol):
    """What the poller tells the event loop. All but `open_epochs` run there."""

    def open_epochs(self, found: Sequence[Found]) -> list[Partition]:
        """Make the partitions of a new assignment. Runs on the consumer's thread, and touches nothing else."""
        ...

    def receive(self, batches: list[tuple[Partition, list[Record]]]) -> None:
        """Take records that were fetched."""
        ...

    async def drain(self, partitions: Sequence[Partition], seconds: float) -> None:
        """Let what runs end, at most so long; then nothing of these partitions counts any more."""
        ...

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Drop partitions that are somebody else's already; the group is to be joined again."""
        ...

    def forget(self, partitions: Sequence[Partition]) -> None:
        """Drop an epoch of partitions that are kept."""
        ...

    def joined(self, partitions: Sequence[Partition]) -> None:
        """Take partitions over."""
        ...

    def commit_ended(self, positions: Mapping[Partition, Position], error: CommitError | None) -> None:
        """Learn how a commit ended."""
        ...

    def faulted(self, fault: Fault) -> None:
        """Learn of an error of the client."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a partition at its assignment.

    `committed` is None when the group has never committed there, `low` and `high` are the ends of the log. Without an
    answer of the broker all three are None.
    """

    number: int
    committed: Position | None = None
    low: int | None = None
    high: int | None = None
