"""Holds where an engine's partitions stand against where their topic ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.consume import Watchdog
from hookline.service._health import Check
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.consume import Stall, Standing

_log = get_logger(__name__)


class StallWatch:
    """Whether an engine gets on with its topic, for readiness. On the event loop.

    The ends come from outside its consumer: what a client that stands still remembers stands still, too.
    """

    def __init__(
        self, name: str, topic: str, standings: Callable[[], Sequence[Standing]], watchdog: Watchdog | None = None
    ) -> None:
        self._name = name
        self.topic = topic
        self.standings = standings
        self._watchdog = watchdog or Watchdog()

    @property
    def stalls(self) -> Sequence[Stall]:
        """What stands still."""
        return self._watchdog.stalls

    def check(self) -> Check:
        """Tell whether anything stands still, and where."""
        return Check(f"{self._name} progress", "; ".join(map(str, self.stalls)))

    def observe(self, standings: Sequence[Standing], ends: Mapping[int, int]) -> None:
        """Take the ends, asked after the standings were taken, and say what has stopped or goes on."""
        before = {stall.partition: stall for stall in self.stalls}
        self._watchdog.observe(standings, ends)
        now = {stall.partition: stall for stall in self.stalls}
        for number in now.keys() - before.keys():
            self._say_stopped(now[number])
        for number in before.keys() - now.keys():
            _log.info("partition goes on, or was let go", topic=self.topic, partition=number)

    def forget(self) -> None:
        """Begin anew: nobody could tell the ends."""
        self._watchdog.forget()

    def _say_stopped(self, stall: Stall) -> None:
        _log.error(
            "partition stands still: records wait, and nothing keeps them",
            topic=self.topic,
            partition=stall.partition,
            offset=stall.position,
            end=stall.end,
            waited_seconds=round(stall.seconds),
        )
