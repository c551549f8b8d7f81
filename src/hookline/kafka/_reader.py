"""Reading a topic from end to end without a consumer group's offsets."""

from __future__ import annotations

import asyncio
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ._embedded import is_embedded
from ._errors import (
    BrokerUnreachableError,
    ErrorKind,
    Fault,
    InvalidClientConfigError,
    TopicError,
    TopicMissingError,
    TopicRefusedError,
    is_authorization,
)
from ._record import Record
from ._watermarks import ask_watermarks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping

    from confluent_kafka import Message

    from ._settings import ClientConfig

_T = TypeVar("_T")
_POLL_SECONDS: Final = 0.25
_BATCH: Final = 500
_GROUP_PREFIX: Final = "hookline-reader"
_END_OF_PARTITION: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - a public code whose name begins with _

_Bounds: TypeAlias = "dict[int, tuple[int, int]]"
"""By partition: (first offset, offset after the last)."""


class TopicReader:
    """Reads topics without joining a group: nothing is committed, so looking changes nothing.

    The end is where the topic ended when reading began. `timeout_seconds` is how long to wait without progress before
    BrokerUnreachableError. A missing topic is TopicMissingError, a refused one TopicRefusedError. One reader serves many
    readings, each with a client of its own.
    """

    def __init__(self, config: ClientConfig, timeout_seconds: float = 10.0) -> None:
        self._config = config
        self._timeout_seconds = timeout_seconds

    def read(self, topic: str, since_ms: int | None = None) -> Iterator[Record]:
        """Read every record from the start, or from a time (record time, unix ms). Blocks.

        Each partition comes in order; partitions mix.
        """
        with self._opened(topic) as reading:
            reading.begin(since_ms)
            while (batch := reading.next_batch()) is not None:
                yield from batch

    async def stream(self, topic: str, since_ms: int | None = None) -> AsyncGenerator[Record, None]:
        """Read as `read` does, without blocking the loop. Close the generator (`contextlib.aclosing`)."""
        async with aclosing(self._streamed(topic, lambda reading: reading.begin(since_ms))) as records:
            async for record in records:
                yield record

    async def stream_ranges(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> AsyncGenerator[Record, None]:
        """Read partitions from an offset up to, and without, another one: {partition: (first, end)}.

        What lies before the partition's first offset or behind its last one is left out, as are partitions that the
        topic does not have. Otherwise as `stream`; close the generator (`contextlib.aclosing`).
        """
        async with aclosing(self._streamed(topic, lambda reading: reading.begin_ranges(ranges))) as records:
            async for record in records:
                yield record

    async def _streamed(self, topic: str, begin: Callable[[_Reading], None]) -> AsyncGenerator[Record, None]:
        reading = _Reading(self._config, topic, self._timeout_seconds)
        pool = ThreadPoolExecutor(1, "hookline-reader")
        try:
            await _call(pool, reading.open)
            await _call(pool, partial(begin, reading))
            while (batch := await _call(pool, reading.next_batch)) is not None:
                for record in batch:
                    yield record
        finally:
            try:
                await _call(pool, reading.close)
            finally:
                pool.shutdown(wait=False)

    @contextmanager
    def _opened(self, topic: str) -> Iterator[_Reading]:
        reading = _Reading(self._config, topic, self._timeout_seconds)
        try:
            reading.open()
            yield reading
        finally:
            reading.close()


async def _call(pool: ThreadPoolExecutor, function: Callable[[], _T]) -> _T:
    # The client is for one thread at a time: a cancelled caller still waits for the call, which is short.
    work = asyncio.get_running_loop().run_in_executor(pool, function)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


class _Reading:
    """One pass over a topic."""

    def __init__(self, config: ClientConfig, topic: str, timeout_seconds: float) -> None:
        self._config = config
        self._topic = topic
        self._timeout_seconds = timeout_seconds
        self._faults: dict[bool, Fault] = {}
        self._consumer: Consumer | None = None
        self._ends: dict[int, int] = {}
        self._since_ms: int | None = None

    def open(self) -> None:
        group = f"{_GROUP_PREFIX}-{uuid.uuid4().hex}"
        options = {
            **self._config.consumer(group, self._note),
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
        }
        try:
            self._consumer = Consumer(options)
        except KafkaException as error:
            raise InvalidClientConfigError(f"no consumer can be made: {error.args[0].str()}") from error

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def begin(self, since_ms: int | None) -> None:
        bounds = self._watermarks(self._partitions())
        starts = {number: low for number, (low, _) in bounds.items()}
        if since_ms is not None and self._is_embedded():
            self._since_ms = since_ms
        elif since_ms is not None:
            starts = self._offsets_since(since_ms, bounds)
        self._assign(starts, {number: high for number, (_, high) in bounds.items()})

    def begin_ranges(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        bounds = self._watermarks([number for number in self._partitions() if number in ranges])
        starts = {number: max(low, ranges[number][0]) for number, (low, _) in bounds.items()}
        self._assign(starts, {number: min(high, ranges[number][1]) for number, (_, high) in bounds.items()})

    def next_batch(self) -> list[Record] | None:
        """Give the next records; None at the end."""
        give_up = time.monotonic() + self._timeout_seconds
        while self._ends:
            messages = self._poll()
            records = [record for message in messages if (record := self._take(message)) is not None]
            if records:
                return records
            if messages:
                give_up = time.monotonic() + self._timeout_seconds
            elif time.monotonic() >= give_up:
                raise self._unreachable(f"reading topic {self._topic}")
        return None

    def _poll(self) -> list[Message]:
        # consume(n, t) waits the whole of t when fewer than n are there; poll returns with the first.
        consumer = self._own_consumer()
        first = consumer.poll(_POLL_SECONDS)
        return [] if first is None else [first, *consumer.consume(_BATCH - 1, 0)]

    def _take(self, message: Message) -> Record | None:
        error, partition = message.error(), message.partition()
        if error is not None:
            self._take_error(error, partition)
            return None
        record = Record.from_message(message)
        end = self._ends.get(record.partition)
        if end is None:
            return None
        if record.offset >= end - 1:
            self._finish(record.partition)
        return record if record.offset < end and not self._is_too_old(record) else None

    def _is_too_old(self, record: Record) -> bool:
        return self._since_ms is not None and record.timestamp_ms is not None and record.timestamp_ms < self._since_ms

    def _take_error(self, error: KafkaError, partition: int | None) -> None:
        fault = Fault.of(error)
        if error.code() == _END_OF_PARTITION:
            # Also the way to an end that no record has: it may lie behind compaction or a transaction's marker.
            self._finish(-1 if partition is None else partition)
        elif fault.kind in {ErrorKind.RETRYABLE, ErrorKind.DEPENDENCY}:
            self._note(fault)
        else:
            raise self._topic_error(fault)

    def _finish(self, partition: int) -> None:
        if self._ends.pop(partition, None) is not None:
            self._own_consumer().incremental_unassign([TopicPartition(self._topic, partition)])

    def _assign(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
        self._ends = {number: ends[number] for number, begin in starts.items() if begin < ends[number]}
        places = [TopicPartition(self._topic, number, starts[number]) for number in self._ends]
        if places:
            self._own_consumer().assign(places)

    def _partitions(self) -> list[int]:
        def ask(consumer: Consumer, seconds: float) -> list[int]:
            found = consumer.list_topics(self._topic, timeout=seconds).topics[self._topic]
            if found.error is not None:
                raise KafkaException(found.error)
            return sorted(found.partitions)

        return self._asked(f"looking for topic {self._topic}", ask)

    def _watermarks(self, numbers: list[int]) -> _Bounds:
        def ask(consumer: Consumer, seconds: float) -> _Bounds:
            return ask_watermarks(consumer, self._topic, numbers, seconds)

        return self._asked(f"looking for the ends of topic {self._topic}", ask)

    def _is_embedded(self) -> bool:
        # The embedded broker answers every question for a time with "the end", so there it is told record by record.
        def ask(consumer: Consumer, seconds: float) -> bool:
            return is_embedded(consumer.cluster_id(seconds))

        return self._asked(f"looking for a time in topic {self._topic}", ask)

    def _offsets_since(self, since_ms: int, bounds: _Bounds) -> dict[int, int]:
        asked = [TopicPartition(self._topic, number, since_ms) for number in bounds]

        def ask(consumer: Consumer, seconds: float) -> list[TopicPartition]:
            found = consumer.offsets_for_times(asked, timeout=seconds)
            for place in found:
                if place.error is not None:
                    raise KafkaException(place.error)
            return found

        found = self._asked(f"looking for a time in topic {self._topic}", ask)
        # Minus one means that no record is as young.
        return {place.partition: place.offset if place.offset >= 0 else bounds[place.partition][1] for place in found}

    def _asked(self, doing: str, ask: Callable[[Consumer, float], _T]) -> _T:
        # A topic that was just made, or whose leader moves, is refused for a moment.
        consumer = self._own_consumer()
        give_up = time.monotonic() + self._timeout_seconds
        while True:
            try:
                return ask(consumer, max(give_up - time.monotonic(), _POLL_SECONDS))
            except KafkaException as error:
                fault = Fault.of(error.args[0])
                if fault.kind is not ErrorKind.RETRYABLE or time.monotonic() >= give_up:
                    raise self._failed(fault, doing) from error
            consumer.poll(_POLL_SECONDS)

    def _own_consumer(self) -> Consumer:
        if self._consumer is None:
            raise RuntimeError("the reading is not open")
        return self._consumer

    def _note(self, fault: Fault) -> None:
        self._faults[is_authorization(fault.code)] = fault

    def _failed(self, fault: Fault, doing: str) -> BrokerUnreachableError | TopicError:
        if fault.kind is not ErrorKind.DEPENDENCY:
            return self._topic_error(fault)
        self._faults.setdefault(False, fault)
        return self._unreachable(doing)

    def _topic_error(self, fault: Fault) -> TopicError:
        if fault.code in {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}:
            message = f"topic {self._topic} does not exist at {self._config.bootstrap}, or may not be seen"
            return TopicMissingError(self._topic, message, "UNKNOWN_TOPIC_OR_PART")
        message = f"topic {self._topic} at {self._config.bootstrap}: {fault}"
        return TopicRefusedError(self._topic, message, fault.code, fault.kind)

    def _unreachable(self, doing: str) -> BrokerUnreachableError:
        self._own_consumer().poll(0)
        said = self._faults.get(True) or self._faults.get(False)
        return BrokerUnreachableError(self._config.bootstrap, doing, said, self._config.origin)
