"""Buries records that are given up: the dead letter is written, however long that takes."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookline.errs import one_line
from hookline.kafka import KafkaClientError
from hookline.telemetry import get_logger

from ._dead_letters import dead_letter_of
from ._outcome import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.contract import DeadLetter

    from ._dead_letters import DeadLetterWriter
    from ._delivery import Delivery
    from ._metered import EngineMeter
    from ._outcome import GiveUp
    from ._partition import Lane, Partition
    from ._status import EngineStatus

_HOLD_POLICY = RetryPolicy(initial_seconds=0.5, max_seconds=15.0)

_log = get_logger(__name__)


class Undertaker:
    """Writes dead letters until they are confirmed. Without a writer nothing may be given up."""

    def __init__(
        self, dead_letters: DeadLetterWriter | None, group: str, meter: EngineMeter, status: EngineStatus
    ) -> None:
        self._dead_letters = dead_letters
        self._group = group
        self._meter = meter
        self._status = status

    async def bury(self, lane: Lane, delivery: Delivery, give_up: GiveUp) -> None:
        """Return once the dead letter is confirmed; until then the record stays and its partition's intake brakes.

        Raises CancelledError when the partition is let go before.
        """
        letter = dead_letter_of(delivery, give_up, self._group)
        error = await self._write(lane, letter)
        if error is None:
            return
        with self._holding(lane.partition):
            attempt = 1
            while error is not None:
                _log.error("dead letter not confirmed, holding it", source=str(letter.source), error=one_line(error))
                if lane.partition.closing:
                    raise asyncio.CancelledError
                await asyncio.sleep(_HOLD_POLICY.delay_seconds(attempt))
                attempt += 1
                error = await self._write(lane, letter)

    async def _write(self, lane: Lane, letter: DeadLetter) -> KafkaClientError | None:
        if self._dead_letters is None:
            raise TypeError(f"the handler of group {self._group} gave up, but it has no dead-letter topic")
        if lane.partition.closed:
            raise asyncio.CancelledError
        with lane.partition.at_work(lane):
            try:
                await self._dead_letters.write(letter)
            except KafkaClientError as error:
                self._meter.dead_letter_refused()
                return error
        return None

    @contextmanager
    def _holding(self, partition: Partition) -> Iterator[None]:
        partition.held += 1
        self._status.held_dead_letters += 1
        try:
            yield
        finally:
            partition.held -= 1
            self._status.held_dead_letters -= 1
