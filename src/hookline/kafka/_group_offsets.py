"""What consumer groups have committed, read and changed from outside of them; and where a topic stood at a time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # exported, but not as strict asks for

from ._errors import (
    ErrorKind,
    Fault,
    GroupInUseError,
    GroupRefusedError,
    InvalidClientConfigError,
    TopicMissingError,
)
from ._topics import TopicAdmin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import ListConsumerGroupsResult  # type: ignore[attr-defined] # the same

    from ._consumer import Position
    from ._settings import ClientConfig

_T = TypeVar("_T")
_AGAIN_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 1.0
_AT_ONCE: Final = 8
_AWAY: Final = frozenset({"_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "SASL_AUTHENTICATION_FAILED"})
_IN_USE: Final = frozenset(
    {
        "GROUP_SUBSCRIBED_TO_TOPIC", "ILLEGAL_GENERATION", "NON_EMPTY_GROUP", "REBALANCE_IN_PROGRESS",
        "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID",
    }
)  # fmt: skip
_NO_SUCH_GROUP: Final = "GROUP_ID_NOT_FOUND"
_WITHOUT_MEMBERS: Final = {ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD}

Moment: TypeAlias = 'Literal["earliest", "latest"] | int'
"""A place in a topic: its first record, its end, or the first record of a time (unix ms) or later."""


class GroupAdmin(TopicAdmin):
    """Reads and changes the offsets of groups that it is no member of, besides what a `TopicAdmin` does.

    Blocks; for one thread; a context manager. `timeout_seconds` bounds each method. Raises BrokerUnreachableError,
    TopicMissingError, GroupInUseError where a group has members and must not, and GroupRefusedError. An embedded broker
    answers `committed`, `commit` and `offsets_at` (of a time always with the end), and nothing else.
    """

    def __init__(self, config: ClientConfig, timeout_seconds: float = 10.0) -> None:
        super().__init__(config, timeout_seconds)
        self._config = config

    def committed(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell by group and partition what was committed, metadata included; a partition without a commit is missing.

        All are asked at once, in no order.
        """
        return self._for_each(groups, partial(self._committed, topic=topic, partitions=self._partitions(topic)))

    def committed_if_seen(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell the same; a group that the client may not see is missing."""
        ask = partial(self._committed_if_seen, topic=topic, partitions=self._partitions(topic))
        return {group: found for group, found in self._for_each(groups, ask).items() if found is not None}

    def has_members(self, group: str) -> bool:
        """Tell whether somebody is in the group, in either group protocol; raises when a broker could not be asked."""

        # Only the list knows groups of both protocols.
        def ask() -> bool:
            found: ListConsumerGroupsResult = self._waited(
                self._client.list_consumer_groups(request_timeout=self._seconds)
            )
            listed = found.valid or ()
            if any(each.group_id == group and each.state not in _WITHOUT_MEMBERS for each in listed):
                return True
            for error in found.errors or ():  # of a broker whose groups are missing in the list
                raise error if isinstance(error, KafkaException) else KafkaException(error)
            return False

        return self._asked(group, "looking for members", ask)

    def commit(self, group: str, topic: str, positions: Mapping[int, Position]) -> None:
        """Commit for a group without members, metadata included. Raises GroupInUseError when it has any."""
        if not positions:
            return
        places = [
            TopicPartition(topic, number, offset, metadata) for number, (offset, metadata) in sorted(positions.items())
        ]
        request = ConsumerGroupTopicPartitions(group, places)

        def ask() -> None:
            futures = self._client.alter_consumer_group_offsets([request], request_timeout=self._seconds)
            _require_all(self._waited(futures[group]).topic_partitions or ())

        self._asked(group, "committing", ask)

    def delete(self, group: str) -> None:
        """Delete a group and what it has committed; one that does not exist is well. Raises GroupInUseError."""

        def ask() -> None:
            self._waited(self._client.delete_consumer_groups([group], request_timeout=self._seconds)[group])

        try:
            self._asked(group, "deleting", ask)
        except GroupRefusedError as error:
            if error.code != _NO_SUCH_GROUP:
                raise

    def offsets_at(self, topic: str, moment: Moment) -> dict[int, int]:
        """Tell by partition where a consumer of committed records would begin: the end, when no record is so young."""
        spec = _spec_of(moment)
        ends = self.end_offsets(topic)
        asked = {TopicPartition(topic, number): spec for number in ends}
        futures = self._client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._seconds
        )
        doing = "looking for a time in topic"
        found = {place.partition: self._result(future, topic, doing).offset for place, future in futures.items()}
        return {number: offset if offset >= 0 else ends[number] for number, offset in found.items()}

    def _for_each(self, groups: Iterable[str], ask: Callable[[str], _T]) -> dict[str, _T]:
        # Each group needs a client of its own, which costs a tenth of a second.
        names = list(dict.fromkeys(groups))
        with ThreadPoolExecutor(_AT_ONCE, "kafka-group") as pool:
            return dict(zip(names, pool.map(ask, names), strict=True))

    @property
    def _seconds(self) -> float:
        return self._timeout_seconds

    def _partitions(self, topic: str) -> list[int]:
        found = self.describe([topic])
        if topic not in found:
            raise TopicMissingError(topic, f"topic {topic} does not exist at {self._bootstrap}, or may not be seen")
        return list(range(found[topic].partitions))

    def _committed_if_seen(self, group: str, topic: str, partitions: Iterable[int]) -> dict[int, Position] | None:
        try:
            return self._committed(group, topic, partitions)
        except GroupRefusedError as error:
            if error.code != "GROUP_AUTHORIZATION_FAILED":
                raise
            return None

    def _committed(self, group: str, topic: str, partitions: Iterable[int]) -> dict[int, Position]:
        # The admin client's own question for offsets takes the process down while a coordinator is loading them.
        asked = [TopicPartition(topic, number) for number in partitions]
        consumer = self._consumer(group)

        try:
            places = self._asked(group, "looking for what was committed", lambda: self._ask_committed(consumer, asked))
        except GroupRefusedError as error:
            if error.code != _NO_SUCH_GROUP:
                raise
            return {}
        finally:
            consumer.close()
        return {place.partition: (place.offset, place.metadata or "") for place in places if place.offset >= 0}

    def _ask_committed(self, consumer: Consumer, asked: list[TopicPartition]) -> list[TopicPartition]:
        give_up = time.monotonic() + self._seconds
        while True:
            try:
                return _require_all(consumer.committed(asked, _PATIENCE_SECONDS))
            except KafkaException as error:
                # Whoever may not see the group waits for its coordinator for ever, and is told why only beside it.
                told = consumer.poll(0)
                said = None if told is None else told.error()
                if said is not None:
                    raise KafkaException(said) from error
                if error.args[0].name() not in _AWAY or time.monotonic() >= give_up:
                    raise

    def _consumer(self, group: str) -> Consumer:
        """Make a client of a group that joins nothing: it is never subscribed."""
        try:
            return Consumer(self._config.consumer(group, self._note))
        except KafkaException as error:
            raise InvalidClientConfigError(f"no consumer can be made: {error.args[0].str()}") from error

    def _asked(self, group: str, doing: str, ask: Callable[[], _T]) -> _T:
        """Ask, and again while a coordinator moves."""
        give_up = time.monotonic() + self._seconds
        while True:
            try:
                return ask()
            except TimeoutError as error:
                raise self._unreachable(None, f"{doing} of group {group}") from error
            except KafkaException as error:
                refused = self._refused(group, doing, Fault.of(error.args[0]))
                if not _passes(refused) or time.monotonic() >= give_up:
                    raise refused from error
            time.sleep(_AGAIN_SECONDS)

    def _waited(self, future: Future[_T]) -> _T:
        return future.result(self._seconds + _AGAIN_SECONDS)

    def _refused(self, group: str, doing: str, fault: Fault) -> Exception:
        if fault.code in _IN_USE:
            return GroupInUseError(group, f"group {group} has members", fault.code, ErrorKind.RETRYABLE)
        if fault.code in _AWAY:
            return self._unreachable(fault, f"{doing} of group {group}")
        return GroupRefusedError(group, f"{doing} of group {group}: {fault}", fault.code, fault.kind)


def _require_all(places: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Give an answer none of whose parts is an error; raise KafkaException otherwise."""
    answered = list(places)
    for place in answered:
        if place.error is not None:
            raise KafkaException(place.error)
    return answered


def _passes(error: Exception) -> bool:
    is_moving = {ErrorKind.RETRYABLE, ErrorKind.DEPENDENCY}
    return isinstance(error, GroupRefusedError) and not isinstance(error, GroupInUseError) and error.kind in is_moving


def _spec_of(moment: Moment) -> OffsetSpec:
    if isinstance(moment, int):
        spec: OffsetSpec = OffsetSpec.for_timestamp(moment)
    elif moment == "earliest":
        spec = OffsetSpec.earliest()  # type: ignore[no-untyped-call] # not annotated there
    else:
        spec = OffsetSpec.latest()  # type: ignore[no-untyped-call] # the same
    return spec
