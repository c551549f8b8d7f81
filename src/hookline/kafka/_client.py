"""One librdkafka producer and the thread that owns it."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from confluent_kafka import KafkaException, Producer

from ._errors import (
    ErrorKind,
    Fault,
    ForkedClientError,
    InvalidClientConfigError,
    InvalidRecordError,
    ProducerClosedError,
    is_authorization,
    produce_error,
)
from ._mailbox import Acknowledgement

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from confluent_kafka import KafkaError, Message

    from ._errors import ProduceError
    from ._mailbox import Mailbox

WrittenHeaders: TypeAlias = "list[tuple[str, str | bytes | None]]"

_POLL_SECONDS: Final = 0.1
_PURGE_SECONDS: Final = 1.0
_logger: Final = logging.getLogger("hookline.kafka")


class ProducerLike(Protocol):
    """The part of `confluent_kafka.Producer` that is used."""

    def produce(
        self,
        topic: str,
        value: bytes | None = ...,
        key: bytes | None = ...,
        partition: int = ...,
        *,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = ...,
        headers: WrittenHeaders | None = ...,
    ) -> None:
        """Queue a record."""
        ...

    def poll(self, timeout: float) -> int:
        """Call callbacks."""
        ...

    def flush(self, timeout: float) -> int:
        """Wait for reports; tell how many are outstanding."""
        ...

    def purge(self, *, in_queue: bool = ..., in_flight: bool = ..., blocking: bool = ...) -> None:
        """Give up what is outstanding."""
        ...

    def __len__(self) -> int: ...


Connect: TypeAlias = "Callable[[dict[str, object]], ProducerLike]"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record on its way out. `partition` -1 leaves the choice to the partitioner."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: WrittenHeaders
    partition: int


class ProducerClient:
    """A producer that lives until it breaks or is stopped.

    Its thread makes it (that may block, for an OAuth token), polls it, empties it and drops it. Every other method is
    safe on any thread of the process that made it.
    """

    def __init__(self, config: Mapping[str, object], connect: Connect) -> None:
        self.ready: Future[None] = Future()
        self.finished: Future[int] = Future()
        # Running from the start: a caller that is cancelled must not cancel them under the thread.
        self.ready.set_running_or_notify_cancel()
        self.finished.set_running_or_notify_cancel()
        self._pid = os.getpid()
        self._config = config
        self._connect = connect
        self._producer: ProducerLike | None = None
        self._lock = threading.Lock()
        self._broken: Fault | None = None
        self._last_fault: Fault | None = None
        self._stopping = False
        self._flush_seconds = 0.0
        _alive.add(self)
        threading.Thread(target=self._run, name="hookline-producer", daemon=True).start()

    @property
    def usable(self) -> bool:
        """Tell whether records may still be given to it."""
        return self._broken is None and not self._stopping

    @property
    def takes_records(self) -> bool:
        """Tell whether `produce` may be called now: it is made, and usable."""
        return self._producer is not None and self._broken is None and not self._stopping

    @property
    def outstanding(self) -> int:
        """Tell how many records wait for their report."""
        producer = self._producer
        return 0 if producer is None else len(producer)

    def require_own_process(self) -> None:
        """Raise ForkedClientError in a child of the process that made this client."""
        if self._pid != os.getpid():
            raise ForkedClientError("this producer belongs to the parent process; make one after the fork")

    def produce(self, outgoing: Outgoing, mailbox: Mailbox) -> asyncio.Future[Acknowledgement]:
        """Queue a record and return the future of its report.

        Raises BufferError while the queue is full, ProduceError when the client refuses the record.
        """
        self.require_own_process()
        future: asyncio.Future[Acknowledgement] = mailbox.loop.create_future()
        report = partial(self._report, outgoing.topic, mailbox, future)
        # Held so that nothing is queued behind the last flush: its report would never come.
        with self._lock:
            producer = self._accepting_producer(outgoing.topic)
            try:
                producer.produce(
                    outgoing.topic,
                    outgoing.value,
                    outgoing.key,
                    outgoing.partition,
                    on_delivery=report,
                    headers=outgoing.headers,
                )
            except KafkaException as error:
                raise self._error(error.args[0], outgoing.topic) from error
            except (TypeError, ValueError) as error:
                raise InvalidRecordError(f"topic {outgoing.topic}: {error}", "_INVALID_ARG") from error
        return future

    def stop(self, flush_seconds: float) -> None:
        """Ask the thread to end; `finished` tells how many records stayed unconfirmed after `flush_seconds`."""
        self._flush_seconds = flush_seconds
        self._stopping = True

    def _accepting_producer(self, topic: str) -> ProducerLike:
        if self._broken is not None:
            raise produce_error(self._broken, topic)
        if self._producer is None or self._stopping:
            raise ProducerClosedError(f"topic {topic}: the producer is closed", "_DESTROY", ErrorKind.RETRYABLE)
        return self._producer

    def _run(self) -> None:
        try:
            self._producer = _made(self._connect, {**self._config, "error_cb": self._on_error})
        except InvalidClientConfigError as error:
            self._broken = Fault("_INVALID_ARG", ErrorKind.CONFIGURATION, str(error))
            self.finished.set_result(0)
            self.ready.set_exception(error)
            return
        self.ready.set_result(None)
        while self.usable:
            self._serve(self._producer)
        self.finished.set_result(self._empty(self._producer))

    def _serve(self, producer: ProducerLike) -> None:
        try:
            producer.poll(_POLL_SECONDS)
        except Exception:
            # What a callback raised surfaces here; this thread tells every delivery, so it goes on.
            _logger.exception("a callback of the Kafka producer failed")

    def _empty(self, producer: ProducerLike) -> int:
        with self._lock:
            self._stopping = True
            self._producer = None
        unconfirmed = len(producer) if self._broken else producer.flush(self._flush_seconds)
        producer.purge(in_queue=True, in_flight=True, blocking=True)
        producer.flush(_PURGE_SECONDS)
        return unconfirmed

    def _on_error(self, error: KafkaError) -> None:
        fault = Fault.of(error)
        self._last_fault = fault
        if fault.kind is ErrorKind.FATAL:
            self._broken = self._broken or fault
        listener = self._config.get("error_cb")
        if callable(listener):
            listener(error)

    def _report(
        self,
        topic: str,
        mailbox: Mailbox,
        future: asyncio.Future[Acknowledgement],
        error: KafkaError | None,
        message: Message,
    ) -> None:
        if error is not None:
            mailbox.deposit(future, self._error(error, topic))
            return
        self._last_fault = None
        mailbox.deposit(future, Acknowledgement.of(topic, message))

    def _error(self, error: KafkaError, topic: str) -> ProduceError:
        fault = Fault.of(error)
        if fault.kind is ErrorKind.FATAL:
            self._broken = self._broken or fault
        cause, last = self._cause(self._broken or fault), self._last_fault
        hint = f" (last heard: {last})" if last is not None and last is not cause else ""
        return produce_error(cause, f"{topic} at {self._config.get('bootstrap.servers')}", hint)

    def _cause(self, fault: Fault) -> Fault:
        # A refused password shows as a timeout; what the client said last is the truth.
        last = self._last_fault
        return last if last and is_authorization(last.code) and fault.kind is ErrorKind.DEPENDENCY else fault


def check_producer(config: Mapping[str, object]) -> None:
    """Make a producer of these options and drop it: whatever librdkafka refuses raises InvalidClientConfigError.

    Talks to nobody when the options name no broker.
    """
    _made(Producer, dict(config))


def _made(connect: Connect, options: dict[str, object]) -> ProducerLike:
    try:
        return connect(options)
    except (KafkaException, TypeError, ValueError) as error:
        said = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise InvalidClientConfigError(f"no producer can be made: {said}") from error


_alive: Final[weakref.WeakSet[ProducerClient]] = weakref.WeakSet()


def _abandon_in_child() -> None:
    # librdkafka's threads do not survive a fork: destroying a producer in the child waits for them, then crashes at
    # exit. One reference too many, and the child never destroys it.
    for client in list(_alive):
        producer = client._producer  # noqa: SLF001 - this module's own
        if producer is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(producer))


os.register_at_fork(after_in_child=_abandon_in_child)
