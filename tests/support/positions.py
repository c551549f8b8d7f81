"""What groups have committed, metadata included: read, understood, and written as any other program could."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from hookline.consume._marks import MarksError, decode_marks
from hookline.hooks._memory import _read, hash_of
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.consume._marks import Marks
    from hookline.kafka import Position
    from tests.support.kafka import Topics

__all__ = ["Standing", "commit", "hooks_of", "marks_of", "positions"]

_SECONDS = 30.0
_OPTIONS = {"enable.auto.commit": False, "enable.auto.offset.store": False, "log_level": 0}
_MOVING = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE}
_STATES = ("pending", "done", "permanent", "exhausted")

Standing = tuple[str, int]
"""What a hook has come to (pending, done, permanent, exhausted), and how often it failed."""


def positions(topics: Topics, group: str, topic: str) -> dict[int, Position]:
    """Return (offset, metadata) by partition; a partition without a commit is missing."""
    with closing(_member_of(topics, group)) as consumer:
        partitions = consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
        asked = [TopicPartition(topic, number) for number in partitions]
        places = eventually(lambda: _told(consumer, asked), _SECONDS, what="the coordinator answers")
    return {place.partition: (place.offset, place.metadata or "") for place in places if place.offset >= 0}


def commit(topics: Topics, group: str, topic: str, wanted: Mapping[int, Position]) -> None:
    """Commit for a group that has no members."""
    places = [TopicPartition(topic, number, offset, metadata) for number, (offset, metadata) in wanted.items()]
    with closing(_member_of(topics, group)) as consumer:
        for place in consumer.commit(offsets=places, asynchronous=False) or ():
            assert place.error is None


def marks_of(topics: Topics, group: str, topic: str, partition: int = 0) -> Marks | None:
    """Read the marks of a partition; None where none are, or where they cannot be read."""
    offset, text = positions(topics, group, topic).get(partition, (0, ""))
    try:
        return decode_marks(text, offset) if text else None
    except MarksError:
        return None


def hooks_of(marks: Marks | None, offset: int, *names: str) -> list[Standing]:
    """Tell what marks say of these hooks for one record; those of which they say nothing are missing."""
    state = None if marks is None else marks.state_of(offset)
    said = {each[0]: (_STATES[each[1]], each[3]) for each in _read(state.saved)} if state else {}
    return [said[hash_of(name)] for name in names if hash_of(name) in said]


def _told(consumer: Consumer, asked: list[TopicPartition]) -> list[TopicPartition] | None:
    """Ask; None when the coordinator has just moved, as it does when a broker keeps its first offset."""
    try:
        return consumer.committed(asked, _SECONDS)
    except KafkaException as error:
        if error.args[0].code() in _MOVING:
            return None
        raise


def _member_of(topics: Topics, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": topics.bootstrap, "group.id": group, **_OPTIONS})
