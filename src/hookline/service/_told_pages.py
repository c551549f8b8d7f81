"""Which pagers have been told of the hooks that hookline holds, kept on the control topic for every process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.contract import InvalidGateError, ToldPage, decode_told_page, encode_told_page
from hookline.kafka import ProduceError
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from hookline.kafka import AcknowledgedProducer, Record

_log = get_logger(__name__)


class ToldPages:
    """The memory of a `WaitingPager`: what this process noted, and what the topic tells of the others.

    A note that cannot be written is lost, and then the page comes once more. Without a topic (None) it is kept in this
    process only. For one event loop.
    """

    def __init__(self, domain: str, topic: str | None, producer: AcknowledgedProducer) -> None:
        self._domain = domain
        self._topic = topic
        self._producer = producer
        self._told: dict[tuple[str, str], int] = {}
        self._writes: set[asyncio.Task[None]] = set()

    def take(self, record: Record) -> None:
        """Take a record of the topic; one of another kind or domain is ignored."""
        found = decode_told_page(record.key, record.value)
        if found is not None and found.domain == self._domain:
            self._told[found.hook, found.pager] = found.closed_at_ms

    def is_told(self, hook: str, pager: str, closed_at_ms: int) -> bool:
        """Tell whether a pager has accepted a page about this closing of the hook's gate."""
        return self._told.get((hook, pager)) == closed_at_ms

    def tell(self, hook: str, pager: str, closed_at_ms: int) -> None:
        """Note that it has, here at once and on the topic behind this call's back."""
        self._told[hook, pager] = closed_at_ms
        if self._topic is None:
            return
        write = asyncio.create_task(self._write(self._topic, ToldPage(self._domain, hook, pager, closed_at_ms)))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)

    async def close(self, timeout_seconds: float) -> None:
        """Let what is being written end, so long at most."""
        if not self._writes:
            return
        _, late = await asyncio.wait(self._writes, timeout=timeout_seconds)
        for write in late:
            write.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _write(self, topic: str, told: ToldPage) -> None:
        try:
            await self._producer.send(topic, *encode_told_page(told))
        except (ProduceError, InvalidGateError) as error:
            _log.warning("a page may come again: it could not be noted", hook=told.hook, error=str(error))
