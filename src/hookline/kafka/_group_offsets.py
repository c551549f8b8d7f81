"""What consumer groups have committed, read and changed from outside of them; and where a topic stood at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # exported, but not as strict asks for

from ._errors import ErrorKind, Fault, GroupInUseError, GroupRefusedError, TopicMissingError
from ._topics import TopicAdmin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from ._consumer import Position

_T = TypeVar("_T")
_AGAIN_SECONDS: Final = 0.1
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

    def committed(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell by group and partition what was committed, metadata included; a partition without a commit is missing.

        They are asked one after another, in this order.
        """
        partitions = self._partitions(topic)
        return {group: self._committed(group, topic, partitions) for group in groups}

    def committed_if_seen(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell the same; a group that the client may not see has committed nothing."""
        partitions = self._partitions(topic)
        return {group: self._committed_if_seen(group, topic, partitions) for group in groups}

    def has_members(self, group: str) -> bool:
        """Tell whether somebody is in the group, in either group protocol."""
        # Only the list knows groups of both protocols.
        found = self._asked(
            group, "looking for members", lambda: self._client.list_consumer_groups(request_timeout=self._seconds)
        )
        return any(each.group_id == group and each.state not in _WITHOUT_MEMBERS for each in found.valid)

    def commit(self, group: str, topic: str, positions: Mapping[int, Position]) -> None:
        """Commit for a group without members, metadata included. Raises GroupInUseError when it has any."""
        if not positions:
            return
        places = [
            TopicPartition(topic, number, offset, metadata) for number, (offset, metadata) in sorted(positions.items())
        ]
        request = ConsumerGroupTopicPartitions(group, places)

        def ask() -> Future[ConsumerGroupTopicPartitions]:
            return self._client.alter_consumer_group_offsets([request], request_timeout=self._seconds)[group]

        self._asked(group, "committing", ask, _fault_of)

    def delete(self, group: str) -> None:
        """Delete a group and what it has committed; one that does not exist is well. Raises GroupInUseError."""

        def ask() -> Future[None]:
            return self._client.delete_consumer_groups([group], request_timeout=self._seconds)[group]

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

    @property
    def _seconds(self) -> float:
        return self._timeout_seconds

    def _partitions(self, topic: str) -> list[int]:
        found = self.describe([topic])
        if topic not in found:
            raise TopicMissingError(topic, f"topic {topic} does not exist at {self._bootstrap}, or may not be seen")
        return list(range(found[topic].partitions))

    def _committed_if_seen(self, group: str, topic: str, partitions: Iterable[int]) -> dict[int, Position]:
        try:
            return self._committed(group, topic, partitions)
        except GroupRefusedError as error:
            if error.code != "GROUP_AUTHORIZATION_FAILED":
                raise
            return {}

    def _committed(self, group: str, topic: str, partitions: Iterable[int]) -> dict[int, Position]:
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, number) for number in partitions])

        def ask() -> Future[ConsumerGroupTopicPartitions]:
            return self._client.list_consumer_group_offsets([request], request_timeout=self._seconds)[group]

        doing = "looking for what was committed"
        try:
            answer = self._asked(group, doing, ask, _fault_of)
        except GroupRefusedError as error:
            if error.code != _NO_SUCH_GROUP:
                raise
            return {}
        places = answer.topic_partitions or ()
        return {place.partition: (place.offset, place.metadata or "") for place in places if place.offset >= 0}

    def _asked(
        self,
        group: str,
        doing: str,
        ask: Callable[[], Future[_T]],
        fault_of: Callable[[_T], Fault | None] = lambda _: None,
    ) -> _T:
        """Ask, and again while a coordinator moves; `fault_of` finds the error of an answer that is none as a whole."""
        give_up = time.monotonic() + self._seconds
        while True:
            try:
                answer = ask().result(self._seconds + _AGAIN_SECONDS)
            except TimeoutError as error:
                raise self._unreachable(None, f"{doing} of group {group}") from error
            except KafkaException as error:
                fault = Fault.of(error.args[0])
            else:
                found = fault_of(answer)
                if found is None:
                    return answer
                fault = found
            refused = self._refused(group, doing, fault)
            if not _passes(refused) or time.monotonic() >= give_up:
                raise refused
            time.sleep(_AGAIN_SECONDS)

    def _refused(self, group: str, doing: str, fault: Fault) -> Exception:
        if fault.code in _IN_USE:
            return GroupInUseError(group, f"group {group} has members", fault.code, ErrorKind.RETRYABLE)
        if fault.code in _AWAY:
            return self._unreachable(fault, f"{doing} of group {group}")
        return GroupRefusedError(group, f"{doing} of group {group}: {fault}", fault.code, fault.kind)


def _fault_of(answer: ConsumerGroupTopicPartitions) -> Fault | None:
    errors = (place.error for place in answer.topic_partitions or ())
    return next((Fault.of(error) for error in errors if error is not None), None)


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
