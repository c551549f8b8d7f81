"""The confirmed write of a dead letter, which always fits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from hookline.contract import DeadLetter, Origin, Shrink
from hookline.kafka import RecordTooLargeError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from hookline.contract import Headers
    from hookline.kafka import Acknowledgement

    from ._delivery import Delivery
    from ._outcome import GiveUp

_log = get_logger(__name__)


class Sender(Protocol):
    """What writes a record and returns once the broker has confirmed it."""

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Write one record; raises ProduceError when it is not confirmed."""
        ...


class DeadLetterWriter:
    """Writes dead letters to one topic, confirmed."""

    def __init__(self, sender: Sender, topic: str) -> None:
        self._sender = sender
        self.topic = topic

    async def write(self, letter: DeadLetter) -> None:
        """Write a letter and return once the broker has confirmed it.

        A letter that is too large is tried again with a shorter failure document, then without the producer's headers.
        Raises ProduceError when it is not confirmed; it may be in the topic all the same.
        """
        *steps, last = Shrink
        for shrink in steps:
            try:
                await self._send(letter, shrink)
            except RecordTooLargeError:
                _log.warning(
                    "dead letter too large, shrinking it", source=str(letter.source), tried=shrink.name.lower()
                )
            else:
                return
        await self._send(letter, last)

    async def _send(self, letter: DeadLetter, shrink: Shrink) -> None:
        await self._sender.send(self.topic, letter.key, letter.value, letter.record_headers(shrink))


def dead_letter_of(delivery: Delivery, give_up: GiveUp, group: str) -> DeadLetter:
    """Build the letter for a record that is given up: the record as it came, and why."""
    record, first_failed_at = delivery.record, delivery.first_failed_at
    return DeadLetter.of_record(
        record.key,
        record.value,
        record.headers,
        source=Origin(record.topic, record.partition, record.offset),
        group=group,
        delivery_count=delivery.attempt,
        letter_class=give_up.letter_class,
        code=give_up.code,
        message=give_up.message,
        failed_at_ms=time.time_ns() // 1_000_000,
        first_failed_at_ms=None if first_failed_at is None else int(first_failed_at * 1000),
        failures=give_up.failures,
    )
