from __future__ import annotations

import inspect
import pickle

import pytest
from confluent_kafka import KafkaError

from hookline import kafka
from hookline.kafka import (
    ERROR_KINDS,
    BrokerError,
    BrokerUnreachableError,
    CommitError,
    DeliveryTimeoutError,
    EmbeddedBrokerError,
    ErrorKind,
    FatalProducerError,
    Fault,
    GroupInUseError,
    InvalidRecordError,
    KafkaClientError,
    NotAuthorizedError,
    PositionsUnknownError,
    ProduceError,
    QueueFullError,
    RecordTooLargeError,
    RefusedKeyError,
    TopicMissingError,
    UnknownTopicError,
    classify_kafka_error,
)
from hookline.kafka import _errors as tree
from hookline.kafka._errors import produce_error


def _codes() -> dict[str, int]:
    names = (name for name in dir(KafkaError) if name.isupper() and name != "NO_ERROR")
    return {name: code for name in names if isinstance(code := getattr(KafkaError, name), int)}


def test_every_code_of_the_client_has_a_kind() -> None:
    """A code that a new client brings must be placed, and one that is gone taken out."""
    assert set(ERROR_KINDS) == set(_codes())


def test_the_table_places_each_code_once() -> None:
    """No code stands under two kinds, where the later would win unseen."""
    placed = " ".join(tree._NAMES.values()).split()
    assert len(placed) == len(set(placed))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._TRANSPORT, ErrorKind.DEPENDENCY),
        (KafkaError._MSG_TIMED_OUT, ErrorKind.DEPENDENCY),
        (KafkaError.NOT_ENOUGH_REPLICAS, ErrorKind.DEPENDENCY),
        (KafkaError.NOT_LEADER_FOR_PARTITION, ErrorKind.RETRYABLE),
        (KafkaError.REBALANCE_IN_PROGRESS, ErrorKind.RETRYABLE),
        (KafkaError.MSG_SIZE_TOO_LARGE, ErrorKind.PERMANENT),
        (KafkaError.INVALID_RECORD, ErrorKind.PERMANENT),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, ErrorKind.CONFIGURATION),
        (KafkaError._AUTHENTICATION, ErrorKind.CONFIGURATION),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, ErrorKind.CONFIGURATION),
        (KafkaError._FATAL, ErrorKind.FATAL),
        (KafkaError.PRODUCER_FENCED, ErrorKind.FATAL),
    ],
)
def test_a_code_has_its_kind(code: int, kind: ErrorKind) -> None:
    """The kind comes from our table, since the client calls none of these retriable."""
    error = KafkaError(code)
    assert not error.retriable()
    assert classify_kafka_error(error) is kind


def test_a_fatal_error_is_fatal_whatever_its_code() -> None:
    """The client's fatal flag outweighs the table."""
    assert classify_kafka_error(KafkaError(KafkaError._TRANSPORT, "gone", True)) is ErrorKind.FATAL


def test_an_unknown_code_is_permanent() -> None:
    """What nobody has placed is never retried."""
    assert classify_kafka_error(KafkaError(32_000)) is ErrorKind.PERMANENT


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLargeError),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopicError),
        (KafkaError._UNKNOWN_PARTITION, UnknownTopicError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorizedError),
        (KafkaError._MSG_TIMED_OUT, DeliveryTimeoutError),
        (KafkaError._QUEUE_FULL, QueueFullError),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, FatalProducerError),
        (KafkaError.INVALID_RECORD, InvalidRecordError),
        (KafkaError.NOT_ENOUGH_REPLICAS, BrokerError),
    ],
)
def test_a_failed_record_has_a_typed_error(code: int, expected: type[ProduceError]) -> None:
    """Each family of codes is an exception of its own, that carries code and kind."""
    error = produce_error(Fault.of(KafkaError(code)), "orders")
    assert type(error) is expected
    assert error.code == KafkaError(code).name()
    assert error.kind is ERROR_KINDS[error.code]


def test_only_what_is_permanent_is_not_retryable() -> None:
    """A record that may yet be published, also once a person has mended something, is retryable."""
    retryable = {kind for kind in ErrorKind if ProduceError("", "", kind).retryable}
    assert retryable == set(ErrorKind) - {ErrorKind.PERMANENT}


@pytest.mark.parametrize(
    "error",
    [
        RecordTooLargeError("too large", "MSG_SIZE_TOO_LARGE"),
        RefusedKeyError("acks", "producer", "owned"),
        TopicMissingError("orders", "missing"),
        BrokerUnreachableError("h:1", "reading", Fault("_TRANSPORT", ErrorKind.DEPENDENCY, "refused"), "hookline.toml"),
        EmbeddedBrokerError("h:1"),
        PositionsUnknownError("orders", "what was committed", Fault("_TIMED_OUT", ErrorKind.DEPENDENCY, "late")),
        GroupInUseError("orders-hook", "group orders-hook has members", "NON_EMPTY_GROUP", ErrorKind.RETRYABLE),
        CommitError(Fault("OFFSET_METADATA_TOO_LARGE", ErrorKind.PERMANENT, "too large")),
    ],
)
def test_errors_survive_pickling(error: KafkaClientError) -> None:
    """An error that crosses a process comes out as it went in."""
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made on the line itself
    assert (type(copy), copy.args, str(copy)) == (type(error), error.args, str(error))


def test_refused_metadata_is_told_apart() -> None:
    """A commit that passes with a shorter metadata string is not one that fails for ever."""
    assert CommitError(Fault.of(KafkaError(KafkaError.OFFSET_METADATA_TOO_LARGE))).metadata_refused
    assert not CommitError(Fault.of(KafkaError(KafkaError.INVALID_COMMIT_OFFSET_SIZE))).metadata_refused


def test_the_front_door_has_every_error() -> None:
    """Whoever may catch an error can import it from the room."""
    errors = {name for name, thing in inspect.getmembers(tree, inspect.isclass) if issubclass(thing, KafkaClientError)}
    assert errors <= set(kafka.__all__)


def test_the_front_door_lists_what_exists() -> None:
    """Every exported name is there, once, in order."""
    assert all(hasattr(kafka, name) for name in kafka.__all__)
    assert len(kafka.__all__) == len(set(kafka.__all__))
