"""The confirmed write of a dead letter, which always fits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from hookline.contract import DeadLetter, Origin, Redrive, Shrink
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
    record = delivery.record
    source = Origin(record.topic, record.partition, record.offset)
    redrive = Redrive.from_headers(record.headers)
    now_ms = time.time_ns() // 1_000_000
    return DeadLetter(
        key=record.key,
        value=record.value,
        headers=record.headers,
        source=source,
        group=group,
        delivery_count=delivery.attempt,
        message=give_up.message,
        code=give_up.code,
        letter_class=give_up.letter_class,
        failed_at_ms=now_ms,
        first_failed_at_ms=_first_failed_at_ms(delivery, now_ms),
        origin=_origin(redrive) or source,
        redrives=redrive.redrives if redrive else 0,
        failures=give_up.failures,
    )


def _first_failed_at_ms(delivery: Delivery, now_ms: int) -> int:
    return now_ms if delivery.first_failed_at is None else int(delivery.first_failed_at * 1000)


def _origin(redrive: Redrive | None) -> Origin | None:
    return redrive.origin if redrive else None
