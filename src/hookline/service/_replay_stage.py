"""What stands between a replay and the hook: only events of the plan get through, and what comes of them is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hookline.consume import Done, Duplicate, GiveUp, Observer
from hookline.hooks import OwnLetters
from hookline.kafka import GroupConsumer
from hookline.service._replay_plan import NOTHING_HERE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.consume import Delivery, Fingerprint, Hold, Identity, Outcome, Retry
    from hookline.contract import DeadLetter
    from hookline.hooks import Stage
    from hookline.kafka import ClientConfig, GroupListener, Position, Record
    from hookline.service._replay_plan import ReplayPlan

_PASSED: Final = object()
"""What a delivery holds that is not shown to the stage."""


class Stretched:
    """A stage that is shown only the events of a plan; others are done with, unseen. It is its recollection too."""

    def __init__(self, stage: Stage, plan: ReplayPlan, is_wanted: Callable[[Record], bool]) -> None:
        self._stage = stage
        self._stretches = {each.partition: each for each in plan.stretches}
        self._is_wanted = is_wanted

    def identify(self, delivery: Delivery) -> Identity | None:
        """Decode a record of the plan."""
        is_new = delivery.progress is None or isinstance(delivery.progress, bytes)
        if is_new and not self._is_planned(delivery.record):
            delivery.progress = _PASSED
        return None if delivery.progress is _PASSED else self._stage.identify(delivery)

    def handle(self, delivery: Delivery) -> Awaitable[None] | None:
        """Run the hook."""
        return None if delivery.progress is _PASSED else self._stage.handle(delivery)

    def decide(self, delivery: Delivery, error: BaseException) -> Retry | Hold | GiveUp:
        """Decide as the stage does."""
        return self._stage.decide(delivery, error)

    def note_of(self, partition: int) -> bytes:
        """Write down where the plan ends, and began."""
        stretch = self._stretches.get(partition)
        return NOTHING_HERE if stretch is None else stretch.note()

    def recall(self, record: Record) -> tuple[Identity, Fingerprint] | None:
        """Read a record that the replay has settled, be it in a process before; others say nothing of what it has done."""
        stretch = self._stretches.get(record.partition)
        if stretch is None or record.offset < stretch.first or not self._is_wanted(record):
            return None
        return self._stage.memory.recall(record)

    def _is_planned(self, record: Record) -> bool:
        stretch = self._stretches.get(record.partition)
        return stretch is not None and stretch.contains(record.offset) and self._is_wanted(record)


class Tally(Observer):
    """Counts what became of the events of a replay."""

    def __init__(self) -> None:
        self.done = self.duplicates = self.dead_letters = 0

    def ended(self, delivery: Delivery, outcome: Outcome, error: BaseException | None) -> None:
        """Count an event that has ended."""
        del error
        if isinstance(outcome, GiveUp):
            self.dead_letters += 1
        elif isinstance(outcome, Duplicate):
            self.duplicates += 1
        elif isinstance(outcome, Done) and delivery.progress is not _PASSED:
            self.done += 1


class ReplayLetters(OwnLetters):
    """Writes the dead letters of a replay: each is republished so that it runs, for other groups may be done with the event."""

    async def write(self, letter: DeadLetter) -> None:
        """Write a letter, which names the hook."""
        await super().write(replace(letter, again=True))


class ReplayMember(GroupConsumer):
    """A member of a replay's group.

    Where the plan's commits are not there any more, another process has ended the replay, and deleted the group before
    this one joined: it stands at the end then, and `was_gone` is set. To begin with the topic's first record, as a group
    without commits does, would give the hook what nobody asked for.
    """

    def __init__(self, config: ClientConfig, plan: ReplayPlan, topic: str, listener: GroupListener) -> None:
        self._ends: dict[int, Position] = {
            each.partition: replace(each, start=each.end).opening() for each in plan.stretches
        }
        self.was_gone = False
        super().__init__(config, plan.group, topic, listener)

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position | None]:
        """Ask what is committed. Raises PositionsUnknownError."""
        found = super().committed(partitions, timeout_seconds)
        gone = {number: self._ends[number] for number, at in found.items() if at is None and number in self._ends}
        self.was_gone = self.was_gone or bool(gone)
        return {**found, **gone}
