"""A producer that speaks only when the broker has: every send ends with the delivery report, or raises."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer

from ._client import Outgoing, ProducerClient
from ._errors import (
    ErrorKind,
    InvalidRecordError,
    ProducerClosedError,
    QueueFullError,
    RecordTooLargeError,
)
from ._mailbox import Mailbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._client import Connect, WrittenHeaders
    from ._mailbox import Acknowledgement

_LOOK_AGAIN_SECONDS: Final = 0.1
_LIBRDKAFKA_DELIVERY_MS: Final = 300_000
_ALONE: Final[Mapping[str, object]] = {"batch.num.messages": 1, "linger.ms": 0}


class AcknowledgedProducer:
    """Publishes records and waits for the broker's confirmation.

    Made from `ClientConfig.producer()`. The client starts with the first send (or `start`), in the process that sends;
    it is made anew after a fatal error. Safe on several event loops and threads; many sends at once share batches.
    Records that one loop sends are queued in the order of the calls.
    """

    def __init__(self, config: Mapping[str, object], connect: Connect = Producer) -> None:
        self._together = _Line(config, connect)
        self._alone = _Line({**config, **_ALONE}, connect)

    async def start(self) -> None:
        """Make the client now. Raises InvalidClientConfigError; does not wait for a broker."""
        await self._together.start()

    @property
    def outstanding(self) -> int:
        """Tell how many records wait for their confirmation."""
        return self._together.outstanding + self._alone.outstanding

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        partition: int | None = None,
    ) -> Acknowledgement:
        """Publish one record; return where it lies.

        Raises ProduceError: the record is then not known to be published, and may yet turn out to be. Ends within
        twice `delivery.timeout.ms`: once for room in the local queue, once for the confirmation. Cancelling stops the
        waiting, not the record.
        """
        outgoing = Outgoing(topic, key, value, _checked(topic, headers), -1 if partition is None else partition)
        report = await self._together.enqueue(outgoing)
        try:
            return await report
        except RecordTooLargeError:
            # The broker refuses a batch for its largest record, or for their sum: the others are innocent.
            return await (await self._alone.enqueue(outgoing))

    async def close(self, timeout_seconds: float) -> int:
        """Wait for what is outstanding, end the client, and tell how many records stayed unconfirmed.

        Their senders get UnconfirmedError. Idempotent; sends after it raise ProducerClosedError.
        """
        unconfirmed = await asyncio.gather(self._together.close(timeout_seconds), self._alone.close(timeout_seconds))
        return sum(unconfirmed)


class _Line:
    """One client after another with the same settings."""

    def __init__(self, config: Mapping[str, object], connect: Connect) -> None:
        self._config = config
        self._connect = connect
        self._wait_seconds = _delivery_seconds(config)
        self._lock = threading.Lock()
        self._client: ProducerClient | None = None
        self._own = threading.local()
        self._closed = False

    @property
    def outstanding(self) -> int:
        return 0 if self._client is None else self._client.outstanding

    async def start(self) -> None:
        await asyncio.wrap_future(self._current().ready)

    async def enqueue(self, outgoing: Outgoing) -> asyncio.Future[Acknowledgement]:
        client, mailbox = self._client, self._own_mailbox()
        if client is not None and client.takes_records and not self._closed and mailbox.waiting == 0:
            try:
                return client.produce(outgoing, mailbox)
            except BufferError:
                pass
        return await self._enqueue_in_turn(outgoing, mailbox)

    async def close(self, timeout_seconds: float) -> int:
        with self._lock:
            self._closed = True
            client = self._client
        if client is None:
            return 0
        client.require_own_process()
        client.stop(timeout_seconds)
        return await asyncio.wrap_future(client.finished)

    async def _enqueue_in_turn(self, outgoing: Outgoing, mailbox: Mailbox) -> asyncio.Future[Acknowledgement]:
        # Whoever comes while another waits queues behind it: a full queue must not reorder a subject.
        mailbox.waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds), mailbox.gate:
                return await self._enqueue_when_room(outgoing, mailbox)
        except TimeoutError as error:
            message = f"topic {outgoing.topic}: no room in the local queue for {self._wait_seconds:g} s"
            raise QueueFullError(message, "_QUEUE_FULL", ErrorKind.DEPENDENCY) from error
        finally:
            mailbox.waiting -= 1

    async def _enqueue_when_room(self, outgoing: Outgoing, mailbox: Mailbox) -> asyncio.Future[Acknowledgement]:
        while True:
            client = self._current()
            await asyncio.wrap_future(client.ready)
            mailbox.room.clear()
            try:
                return client.produce(outgoing, mailbox)
            except BufferError:
                await _wait_at_most(mailbox.room, _LOOK_AGAIN_SECONDS)

    def _current(self) -> ProducerClient:
        with self._lock:
            if self._closed:
                raise ProducerClosedError("the producer is closed", "_DESTROY", ErrorKind.RETRYABLE)
            if self._client is not None:
                self._client.require_own_process()
            if self._client is None or not self._client.usable:
                self._client = ProducerClient(self._config, self._connect)
            return self._client

    def _own_mailbox(self) -> Mailbox:
        loop = asyncio.get_running_loop()
        mailbox: Mailbox | None = getattr(self._own, "mailbox", None)
        if mailbox is None or mailbox.loop is not loop:
            mailbox = self._own.mailbox = Mailbox(loop)
        return mailbox


async def _wait_at_most(event: asyncio.Event, seconds: float) -> None:
    # Bounded, because room may also be made by reports that go to another loop.
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _delivery_seconds(config: Mapping[str, object]) -> float:
    return int(str(config.get("delivery.timeout.ms", _LIBRDKAFKA_DELIVERY_MS))) / 1000


def _checked(topic: str, headers: Iterable[tuple[str, bytes | None]]) -> WrittenHeaders:
    # The client crashes the process on a lone surrogate in a name, cuts a name at NUL, and encodes other types.
    pairs: WrittenHeaders = list(headers)
    for name, value in pairs:
        if not _is_plain(name) or not (value is None or isinstance(value, bytes)):
            raise InvalidRecordError(f"topic {topic}: header {name!r} cannot be written as it is", "_INVALID_ARG")
    return pairs


def _is_plain(name: str) -> bool:
    if name.isascii():
        return "\0" not in name
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name
