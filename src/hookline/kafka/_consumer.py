"""One member of a consumer group, owned by one thread."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ._errors import (
    METADATA_REFUSED,
    ErrorKind,
    Fault,
    InvalidClientConfigError,
    KafkaClientError,
    PositionsUnknownError,
)
from ._watermarks import ask_watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._record import UnreadRecord
    from ._settings import ClientConfig

_ALREADY_COMMITTED = KafkaError._NO_OFFSET  # noqa: SLF001 - librdkafka's local codes are public, their names begin with _
_GROUP_METADATA = b"CGMDv2:"  # librdkafka's form of it; then the member's epoch, -1 before it has joined

_LEADER_AWAY: Final = "_UNKNOWN_PARTITION"  # so the client says it; that the partition exists its assignment tells
_AGAIN_SECONDS: Final = 0.05
_LEAST_SECONDS: Final = 0.01
_T = TypeVar("_T")

Position: TypeAlias = tuple[int, str]
"""(offset to commit, metadata string)."""


class ConsumerFatalError(KafkaClientError):
    """The client cannot go on: fenced, or broken beyond what reconnecting mends. Nothing may be committed after it."""


class CommitError(KafkaClientError):
    """A commit was refused: of one of its partitions at least, what was committed before is unchanged.

    `fault` says what it means. The client does not tell which partitions; the others are committed.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    @property
    def metadata_refused(self) -> bool:
        """Tell whether the metadata string is longer than the broker takes: with a shorter one the commit passes."""
        return self.fault.code == METADATA_REFUSED

    def __str__(self) -> str:
        return f"commit refused: {self.fault}"


class GroupListener(Protocol):
    """What a group member is told. Every method runs on the owning thread, inside `poll` or `close`."""

    def assigned(self, partitions: Sequence[int]) -> None:
        """Tell partitions that are this member's from now on."""
        ...

    def revoked(self, partitions: Sequence[int]) -> None:
        """Tell partitions that move away when this returns; commits still count."""
        ...

    def lost(self, partitions: Sequence[int]) -> None:
        """Tell partitions that are somebody else's already; commits no longer count."""
        ...

    def committed(self, error: CommitError | None) -> None:
        """Tell how a commit that `commit` began has ended."""
        ...

    def faulted(self, fault: Fault) -> None:
        """Tell of an error that is neither a record nor fatal."""
        ...


class GroupConsumer:
    """A subscribed consumer of one topic.

    Not safe across threads: the thread that polls makes every call. Offsets move by `commit` and `commit_now` only.
    """

    def __init__(self, config: ClientConfig, group: str, topic: str, listener: GroupListener) -> None:
        self._topic = topic
        self._listener = listener
        self._broken: Fault | None = None
        options = config.consumer(group, on_fault=self._note)
        self._is_new_protocol = options.get("group.protocol") == "consumer"
        self._consumer = _open({**options, "on_commit": self._committed})
        self._consumer.subscribe([topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)

    def poll(self, most: int, timeout_seconds: float) -> list[UnreadRecord]:
        """Wait for a record, then take what else is already here, `most` in all: to be read by `Record.from_message`.

        Raises ConsumerFatalError when the client is broken.
        """
        message = self._consumer.poll(timeout_seconds)
        messages = [] if message is None else [message]
        if messages and most > 1:
            messages += self._consumer.consume(most - 1, 0)
        errors = [error for each in messages if (error := each.error()) is not None]
        for error in errors:
            if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public code
                self._note(Fault.of(error))
        if self._broken is not None:
            raise ConsumerFatalError(str(self._broken))
        return [each for each in messages if each.error() is None] if errors else messages

    def pause(self, partitions: Sequence[int]) -> None:
        """Stop fetching partitions; what was fetched ahead is thrown away and fetched again later."""
        self._consumer.pause(self._places(partitions))

    def resume(self, partitions: Sequence[int]) -> None:
        """Fetch partitions again."""
        self._consumer.resume(self._places(partitions))

    def seek(self, partition: int, offset: int) -> None:
        """Fetch a partition from an offset on."""
        self._consumer.seek(TopicPartition(self._topic, partition, offset))

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Begin a commit; its end is told to the listener. Raises CommitError when it cannot even begin."""
        try:
            self._consumer.commit(offsets=self._offsets(positions), asynchronous=True)
        except KafkaException as error:
            raise CommitError(Fault.of(error.args[0])) from error

    def commit_now(self, positions: Mapping[int, Position]) -> None:
        """Commit and wait for the broker; also inside `assigned`, before the first record.

        Raises CommitError, also when only one partition was refused.
        """
        try:
            placed = self._consumer.commit(offsets=self._offsets(positions), asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() == _ALREADY_COMMITTED:
                return
            raise CommitError(Fault.of(error.args[0])) from error
        if refused := _refusal(placed or []):
            raise CommitError(Fault.of(refused))

    def committed(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, Position | None]:
        """Ask the broker what the group has committed; None where nothing was.

        Blocks, also inside `assigned`. Raises PositionsUnknownError.
        """
        found = self._asked(
            "what was committed", lambda seconds: self._ask_committed(partitions, seconds), timeout_seconds
        )
        return {place.partition: _position(place) for place in found}

    def watermarks(self, partitions: Sequence[int], timeout_seconds: float) -> dict[int, tuple[int, int]]:
        """Ask the broker for (first offset, offset after the last committed record) of partitions, in two requests.

        Blocks, also inside `assigned`. Raises PositionsUnknownError.
        """

        def ask(seconds: float) -> dict[int, tuple[int, int]]:
            return ask_watermarks(self._consumer, self._topic, partitions, seconds)

        return self._asked("where partitions begin and end", ask, timeout_seconds)

    def is_member(self) -> bool:
        """Tell whether the group counts in a member that was told of no assignment.

        Only in the new group protocol: there an empty assignment is not announced. In the classic one it is, and a
        member that waits for its assignment looks from here like one that has it.
        """
        if not self._is_new_protocol or not self._consumer.memberid():
            return False
        metadata: object = self._consumer.consumer_group_metadata()
        if not isinstance(metadata, bytes) or not metadata.startswith(_GROUP_METADATA):
            return False
        (epoch,) = struct.unpack_from("=i", metadata, len(_GROUP_METADATA))
        return int(epoch) > 0

    def lag(self, partition: int, position: int) -> int | None:
        """Tell how many records the broker is known to hold from `position` on; None before the first fetch."""
        _, high = self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), cached=True)
        return max(high - position, 0) if high >= 0 else None

    def close(self) -> None:
        """Leave the group; the listener is told of the partitions that move away."""
        self._consumer.close()

    def _ask_committed(self, partitions: Sequence[int], seconds: float) -> list[TopicPartition]:
        found = self._consumer.committed(self._places(partitions), seconds) if partitions else []
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return found

    def _asked(self, what: str, ask: Callable[[float], _T], timeout_seconds: float) -> _T:
        # A coordinator or a leader that just moved refuses for a moment. No poll here: this runs inside one.
        give_up = time.monotonic() + timeout_seconds
        while True:
            try:
                return ask(max(give_up - time.monotonic(), _LEAST_SECONDS))
            except KafkaException as error:
                fault = _passing(Fault.of(error.args[0]))
                if fault.kind is not ErrorKind.RETRYABLE or time.monotonic() + _AGAIN_SECONDS >= give_up:
                    raise PositionsUnknownError(self._topic, what, fault) from error
            time.sleep(_AGAIN_SECONDS)

    def _note(self, fault: Fault) -> None:
        if fault.kind is ErrorKind.FATAL:
            self._broken = fault
        self._listener.faulted(fault)

    def _committed(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        refused = error or _refusal(places)
        if refused is None or refused.code() == _ALREADY_COMMITTED:
            self._listener.committed(None)
        else:
            self._listener.committed(CommitError(Fault.of(refused)))

    def _assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._listener.assigned([place.partition for place in places])

    def _revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._listener.revoked([place.partition for place in places])

    def _lose(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._listener.lost([place.partition for place in places])

    def _places(self, partitions: Sequence[int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition) for partition in partitions]

    def _offsets(self, positions: Mapping[int, Position]) -> list[TopicPartition]:
        return [
            TopicPartition(self._topic, partition, offset, metadata)
            for partition, (offset, metadata) in positions.items()
        ]


def _passing(fault: Fault) -> Fault:
    return Fault(fault.code, ErrorKind.RETRYABLE, fault.reason) if fault.code == _LEADER_AWAY else fault


def _position(place: TopicPartition) -> Position | None:
    return None if place.offset < 0 else (place.offset, place.metadata or "")


def _refusal(places: Iterable[TopicPartition]) -> KafkaError | None:
    return next((place.error for place in places if place.error is not None), None)


def _open(options: dict[str, object]) -> Consumer:
    try:
        return Consumer(options)
    except KafkaException as error:
        raise InvalidClientConfigError(f"no consumer can be made: {error.args[0].str()}") from error
