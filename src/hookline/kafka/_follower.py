"""Following a small topic for as long as the process lives, without a consumer group."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from concurrent.futures import Future
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ._errors import ErrorKind, Fault, InvalidClientConfigError, is_authorization
from ._record import Record
from ._watermarks import ask_watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confluent_kafka import Message

    from ._settings import ClientConfig

_POLL_SECONDS: Final = 0.25
_BATCH: Final = 500
_ANSWER_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 2.0
_WHILE_AWAY_SECONDS: Final = 5.0
# Far below the day for which a compacted topic keeps its tombstones (delete.retention.ms).
_STALE_SECONDS: Final = 600.0
_GROUP_PREFIX: Final = "hookline-follower"
_END_OF_PARTITION: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - a public code whose name begins with _
_MISSING: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})
_PASSING: Final = frozenset({ErrorKind.RETRYABLE, ErrorKind.DEPENDENCY, ErrorKind.FATAL})

_logger: Final = logging.getLogger("hookline.kafka")

Connect: TypeAlias = "Callable[[dict[str, object]], Consumer]"


class FollowState(StrEnum):
    """How far a follower has come."""

    STARTING = "starting"
    """Nothing is known yet."""
    READING = "reading"
    """A reading from the beginning has begun: what records said before counts until it has caught up."""
    FOLLOWING = "following"
    """Everything is read that was there when the reading began; what comes is told as it comes."""
    MISSING = "missing"
    """The topic does not exist, or may not be seen; it is looked for again."""
    UNREACHABLE = "unreachable"
    """No broker answers, or the topic has no leader; it is tried again."""
    REFUSED = "refused"
    """Credentials, rights or settings are wrong; it is tried again."""


class FollowListener(Protocol):
    """What is told of a topic, on the event loop, in order."""

    def received(self, records: Sequence[Record]) -> None:
        """Take the next records; those of a partition come in order."""
        ...

    def changed(self, state: FollowState, reason: str) -> None:
        """Note how the follower stands from now on, and why, in words for people."""
        ...


class TopicFollower:
    """Reads all partitions of a topic from the beginning, and on for as long as it is open.

    It joins no group and commits nothing, so that every process sees every record. A broker that is away, a missing
    right or a missing topic is a state that it tells, never an exception, and passes by itself. After an interruption, and
    when the topic was made anew or has got more partitions, it reads from the beginning once more, because a compacted
    topic may have dropped meanwhile what it had not seen: `READING` says so, `FOLLOWING` that this is done.

    It reads on a thread of its own and hands over on the loop that called `start`, one batch at a time. Not for reuse.
    """

    def __init__(
        self, config: ClientConfig, topic: str, listener: FollowListener, *, connect: Connect = Consumer
    ) -> None:
        self._config = config
        self._topic = topic
        self._listener = listener
        self._connect = connect
        self._closing = threading.Event()
        self._taken = threading.Event()
        self._ended: Future[None] | None = None
        self._told = (FollowState.STARTING, "")

    def start(self) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._ended = Future()
        # Running from the start: whoever is cancelled while waiting for it must not cancel it under the thread.
        self._ended.set_running_or_notify_cancel()
        threading.Thread(target=self._run, args=(self._ended,), name="hookline-follower", daemon=True).start()

    async def close(self, timeout_seconds: float = 2.0) -> bool:
        """Stop, and tell whether the thread has ended in that time; it ends by itself soon after. Safe to repeat.

        Nothing is told from the moment of the call on.
        """
        self._closing.set()
        self._taken.set()
        if self._ended is None:
            return True
        ended = asyncio.wrap_future(self._ended)
        await asyncio.wait([ended], timeout=timeout_seconds)
        # Not to be told of the end when the loop is closed by then.
        return not ended.cancel()

    def _run(self, ended: Future[None]) -> None:
        try:
            while not self._closing.is_set():
                self._read_once()
        finally:
            ended.set_result(None)

    def _read_once(self) -> None:
        """Follow with one client, until something has to be read anew."""
        reading = _Reading(self._config, self._topic, self._connect)
        try:
            reading.open()
            self._follow(reading)
        except _BrokenOffError as error:
            self._tell(error.state, error.reason)
            self._closing.wait(_AGAIN_SECONDS)
        except Exception as error:
            # This thread alone tells what is closed, so it goes on, whatever a client or a callback of it does.
            _logger.exception("following topic %s broke off", self._topic)
            self._tell(FollowState.UNREACHABLE, f"broke off by {type(error).__name__}")
            self._closing.wait(_AGAIN_SECONDS)
        finally:
            reading.close()

    def _follow(self, reading: _Reading) -> None:
        while not self._closing.is_set():
            away = reading.begin()
            if away is None:
                break
            self._tell(*away)
            reading.rest(_WHILE_AWAY_SECONDS, self._closing)
        self._tell(FollowState.READING, "")
        while not self._closing.is_set():
            if reading.is_caught_up:
                self._tell(FollowState.FOLLOWING, "")
            records = reading.turn()
            if reading.is_to_begin_anew:
                return
            if records:
                self._hand_over(self._listener.received, records)

    def _tell(self, state: FollowState, reason: str) -> None:
        if self._told != (state, reason):
            self._told = (state, reason)
            self._hand_over(self._listener.changed, state, reason)

    def _hand_over(self, call: Callable[..., None], *arguments: object) -> None:
        # One at a time: a topic that is large by mistake must not pile up before a busy loop.
        self._taken.clear()
        try:
            self._loop.call_soon_threadsafe(self._take, call, arguments)
        except RuntimeError:  # the loop is closed
            self._closing.set()
        while not self._closing.is_set() and not self._taken.wait(_POLL_SECONDS):
            pass

    def _take(self, call: Callable[..., None], arguments: Sequence[object]) -> None:
        try:
            if not self._closing.is_set():
                call(*arguments)
        finally:
            self._taken.set()


class _BrokenOffError(Exception):
    """The client is of no use any more: what state that is, and why."""

    def __init__(self, state: FollowState, reason: str) -> None:
        super().__init__(state, reason)
        self.state = state
        self.reason = reason


class _Reading:
    """One client and its way through the topic; for one thread."""

    def __init__(self, config: ClientConfig, topic: str, connect: Connect) -> None:
        self._config = config
        self._topic = topic
        self._connect = connect
        self._consumer: Consumer | None = None
        self._faults: dict[bool, Fault] = {}
        self._ends: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._looked_at = 0.0
        self.is_to_begin_anew = False
        """Whether what was read no longer tells what stands in the topic."""

    @property
    def is_caught_up(self) -> bool:
        """Whether everything is read that stood in the topic at the beginning."""
        return not self._ends

    def open(self) -> None:
        """Make the client. Raises _BrokenOffError."""
        options = {
            **self._config.consumer(f"{_GROUP_PREFIX}-{uuid.uuid4().hex}", self._note),
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
        }
        try:
            self._consumer = self._connect(options)
        except (KafkaException, InvalidClientConfigError) as error:
            raise _BrokenOffError(FollowState.REFUSED, f"no consumer can be made: {error}") from error

    def close(self) -> None:
        """End the client."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def begin(self) -> tuple[FollowState, str] | None:
        """Assign all partitions from their first record on; return why not when that can be tried with this client again.

        Raises _BrokenOffError.
        """
        try:
            bounds = ask_watermarks(self._own_consumer(), self._topic, self._look(), _ANSWER_SECONDS)
        except KafkaException as error:
            state, reason = self._meaning_of(Fault.of(error.args[0]))
            if state is FollowState.UNREACHABLE:
                # One that was not answered would wait before it connects once more.
                raise _BrokenOffError(state, reason) from error
            return state, reason
        self._next = {number: low for number, (low, _) in bounds.items()}
        self._ends = {number: high for number, (low, high) in bounds.items() if low < high}
        self._own_consumer().assign([TopicPartition(self._topic, *place) for place in self._next.items()])
        return None

    def rest(self, seconds: float, closing: threading.Event) -> None:
        """Let time pass while the client's callbacks are served, for one of them may be what mends it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not closing.is_set():
            self._own_consumer().poll(_POLL_SECONDS)

    def turn(self) -> list[Record]:
        """Look after the topic when it is time, and give the next records. Raises _BrokenOffError."""
        try:
            self._look_again()
        except KafkaException as error:
            raise _BrokenOffError(*self._meaning_of(Fault.of(error.args[0]))) from error
        return [record for message in self._poll() if (record := self._take(message)) is not None]

    def _poll(self) -> list[Message]:
        # consume(n, t) waits the whole of t when fewer than n are there; poll returns with the first.
        consumer = self._own_consumer()
        first = consumer.poll(_POLL_SECONDS)
        return [] if first is None else [first, *consumer.consume(_BATCH - 1, 0)]

    def _take(self, message: Message) -> Record | None:
        error = message.error()
        if error is not None:
            self._take_error(error, message.partition())
            return None
        record = Record.from_message(message)
        if record.offset < self._next.get(record.partition, 0):
            self.is_to_begin_anew = True
            return None
        self._next[record.partition] = record.offset + 1
        if record.offset >= self._ends.get(record.partition, 0) - 1:
            self._ends.pop(record.partition, None)
        return record

    def _take_error(self, error: KafkaError, partition: int | None) -> None:
        fault = Fault.of(error)
        if error.code() == _END_OF_PARTITION:
            # Also the way to an end that no record has: it may lie behind compaction or a transaction's marker.
            self._ends.pop(-1 if partition is None else partition, None)
        elif fault.kind in {ErrorKind.RETRYABLE, ErrorKind.DEPENDENCY}:
            self._note(fault)
        else:
            raise _BrokenOffError(*self._meaning_of(fault))

    def _look_again(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        was_frozen = now - self._looked_at > _STALE_SECONDS
        numbers = self._look()
        self.is_to_begin_anew |= was_frozen or set(numbers) != self._next.keys() or self._is_cut()

    def _look(self) -> list[int]:
        """Ask for the partitions. Raises KafkaException, also when one of them has no leader."""
        found = self._own_consumer().list_topics(self._topic, timeout=_ANSWER_SECONDS).topics[self._topic]
        error = found.error or next((each.error for each in found.partitions.values() if each.error is not None), None)
        if error is not None:
            raise KafkaException(error)
        self._looked_at = time.monotonic()
        return sorted(found.partitions)

    def _is_cut(self) -> bool:
        """Tell whether a partition ends before what was read of it: the topic was deleted, and made again."""
        consumer = self._own_consumer()
        for number, following in self._next.items():
            _, high = consumer.get_watermark_offsets(TopicPartition(self._topic, number), cached=True)
            if 0 <= high < following:
                return True
        return False

    def _own_consumer(self) -> Consumer:
        if self._consumer is None:
            raise RuntimeError("the reading is not open")
        return self._consumer

    def _note(self, fault: Fault) -> None:
        self._faults[is_authorization(fault.code)] = fault

    def _meaning_of(self, fault: Fault) -> tuple[FollowState, str]:
        where = f"topic {self._topic} at {self._config.bootstrap}"
        if fault.code in _MISSING:
            return FollowState.MISSING, f"{where} does not exist, or may not be seen"
        if fault.kind not in _PASSING:
            return FollowState.REFUSED, f"{where}: {fault}"
        # Refused credentials come as one fault among many that only say the broker is away.
        refused = self._faults.get(True)
        if refused is not None:
            return FollowState.REFUSED, f"{where}: {refused}"
        return FollowState.UNREACHABLE, f"{where}: {self._faults.get(False) or fault}"
