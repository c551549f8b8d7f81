"""A client that is broken for good, on a scripted consumer: it ends the engine, and nothing is committed any more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from hookline.consume import Engine, EngineSettings, Observers
from hookline.kafka import ConsumerFatalError, Record
from tests.support.messages import message_of
from tests.support.waiting import eventually_async

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.consume import Delivery, GiveUp
    from hookline.kafka import GroupConsumer, GroupListener, Position, UnreadRecord


@dataclass
class BreakingConsumer:
    """Assigns partition 0, gives ten records, and breaks once it is told to."""

    listener: GroupListener
    is_broken: bool = False
    told: list[str] = field(default_factory=list)
    _has_begun: bool = False

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Give the records at the first time."""
        del most, timeout_seconds
        if self.is_broken:
            self.told.append("broken")
            raise ConsumerFatalError("fenced")
        if self._has_begun:
            return []
        self._has_begun = True
        self.listener.assigned([0])
        return [message_of(Record("t", 0, offset, 0, b"k%d" % offset, b"v")) for offset in range(10)]

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position | None]:
        """Tell that nothing is."""
        del timeout_seconds
        return dict.fromkeys(partitions)

    def watermarks(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, tuple[int, int]]:
        """Tell the ends of the log."""
        del timeout_seconds
        return dict.fromkeys(partitions, (0, 10))

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Keep it, and confirm it at once."""
        self.told.append(f"commit {positions[0][0]}")
        self.listener.committed(None)

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Keep it."""
        self.told.append(f"commit {positions[0][0]}")

    def pause(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def resume(self, partitions: Sequence[int]) -> None:
        """Do nothing."""

    def lag(self, partition: int, position: int) -> None:
        """Know nothing."""

    def is_member(self) -> bool:
        """Say no: the assignment tells."""
        return False

    def close(self) -> None:
        """Keep it."""
        self.told.append("close")


class Idle:
    """A handler that is done at once."""

    def identify(self, delivery: Delivery) -> None:
        """Tell none."""

    def handle(self, delivery: Delivery) -> None:
        """Be done."""

    def decide(self, delivery: Delivery, error: BaseException) -> GiveUp:
        """Never be asked."""
        raise NotImplementedError


async def test_after_a_fatal_error_nothing_is_committed_and_the_engine_ends_by_it() -> None:
    """P5, P13: `wait` and `stop` raise it, the group is not left in order, and no commit follows, though much is settled."""
    made: list[BreakingConsumer] = []

    def open_consumer(listener: GroupListener) -> GroupConsumer:
        made.append(BreakingConsumer(listener))
        return cast("GroupConsumer", made[0])

    engine = Engine(
        open_consumer=open_consumer,
        group="g",
        handler=Idle(),
        dead_letters=None,
        settings=EngineSettings(commit_seconds=3600),
        observer=Observers(),
    )
    await engine.start()
    await eventually_async(lambda: [each.position for each in engine.standings()] == [10], what="all is settled")
    made[0].is_broken = True
    with pytest.raises(ConsumerFatalError):
        await engine.wait()
    with pytest.raises(ConsumerFatalError):
        await engine.stop(1)
    assert made[0].told[-1] == "broken"
    assert "commit 10" not in made[0].told
