"""Closing and opening the gates of a domain from outside, and telling which are closed."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from hookline.contract import Gate, InvalidGateError, decode_gate, encode_gate, encode_gate_key
from hookline.kafka import AcknowledgedProducer, TopicMissingError, TopicReader
from hookline.service._problems import Problem, SettingsError

if TYPE_CHECKING:
    from hookline.contract import GateKey
    from hookline.service._settings import Settings

_ANSWER_SECONDS: Final = 8.0
_FLUSH_SECONDS: Final = 5.0


class Gatekeeper:
    """Reads and writes the gates of the domain that settings name; joins no group.

    Every method raises TopicMissingError when there is no control topic, and KafkaClientError when Kafka does not do what
    is asked; what was then to be closed is not known to be closed.
    """

    def __init__(self, settings: Settings) -> None:
        """Raise SettingsError when the control topic is switched off, or no broker is named."""
        topic = settings.control_topic()
        if topic is None:
            what = "topics.control is empty: there is no control topic, so nothing can be closed"
            raise SettingsError([Problem(what, settings.place("topics", "control"), "remove it, or name a topic")])
        self._topic = topic
        self._client = settings.client_config()
        self._domain = settings.domain

    async def closed(self) -> list[Gate]:
        """Tell what is closed, the oldest first."""
        gates: dict[GateKey, Gate | None] = {}
        reader = TopicReader(self._client, _ANSWER_SECONDS)
        try:
            async with aclosing(reader.stream(self._topic)) as records:
                async for record in records:
                    try:
                        found = decode_gate(record.key, record.value)
                    except InvalidGateError:
                        continue
                    if found is not None and found.key.domain == self._domain:
                        gates[found.key] = found.gate
        except TopicMissingError as error:
            message = f"nothing can be closed: {error}; `hookline topics apply` makes it"
            raise TopicMissingError(self._topic, message, error.code) from error
        return sorted((gate for gate in gates.values() if gate is not None), key=lambda gate: gate.closed_at_ms)

    async def close(self, key: GateKey, reason: str, closed_by: str) -> tuple[Gate, bool]:
        """Close a gate; return it as it stands in the topic, and whether it was open before.

        One that is closed stays as it is, with its reason and the name of who closed it. Returns once that is confirmed.
        """
        gate = Gate(*key, reason=reason, closed_by=closed_by, closed_at_ms=time.time_ns() // 1_000_000)
        written = encode_gate(gate)
        closed = await self._find(key)
        if closed is not None:
            return closed, False
        await self._send(*written)
        return gate, True

    async def open(self, key: GateKey) -> Gate | None:
        """Open a gate; return it as it was closed, None when the topic has it open. Returns once that is confirmed.

        It is written in any case: a process may hold a hook that it could not write down yet.
        """
        written = encode_gate_key(key)
        closed = await self._find(key)
        await self._send(written, None)
        return closed

    async def _find(self, key: GateKey) -> Gate | None:
        return next((gate for gate in await self.closed() if gate.key == key), None)

    async def _send(self, key: bytes, value: bytes | None) -> None:
        producer = AcknowledgedProducer(self._client.producer())
        try:
            await producer.send(self._topic, key, value)
        finally:
            await producer.close(_FLUSH_SECONDS)
