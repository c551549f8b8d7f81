"""A producer that the test steers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.kafka import Acknowledgement

if TYPE_CHECKING:
    from hookline.contract import Headers
    from hookline.kafka import KafkaClientError


@dataclass(frozen=True, slots=True)
class Sent:
    """A record that was given to the producer."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


class FakeProducer:
    """Confirms every record at the next offset, but those whose key is in `failures`."""

    def __init__(self, failures: dict[bytes, KafkaClientError] | None = None) -> None:
        self.sent: list[Sent] = []
        self.started = 0
        self.closed = 0
        self._failures = failures or {}

    async def start(self) -> None:
        """Note that it was started."""
        self.started += 1

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Confirm or fail one record."""
        self.sent.append(Sent(topic, key, value, headers))
        if error := self._failures.get(key or b""):
            raise error
        return Acknowledgement(topic, 0, len(self.sent) - 1)

    async def close(self, timeout_seconds: float) -> int:
        """Note that it was closed."""
        assert timeout_seconds > 0
        self.closed += 1
        return 0
