from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from hookline.errs import Verdict
from hookline.kafka import (
    BrokerUnreachableError,
    DeliveryTimeoutError,
    ErrorKind,
    Fault,
    PositionsUnknownError,
    ProduceError,
    RecordTooLargeError,
    TopicMissingError,
    kafka_classifier,
)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (ErrorKind.RETRYABLE, Verdict.INFRA_RETRYABLE),
        (ErrorKind.FATAL, Verdict.INFRA_RETRYABLE),
        (ErrorKind.DEPENDENCY, Verdict.INFRA_DEPENDENCY_RETRYABLE),
        (ErrorKind.CONFIGURATION, Verdict.INFRA_DEPENDENCY_RETRYABLE),
        (ErrorKind.PERMANENT, Verdict.INFRA_DEPENDENCY),
    ],
)
def test_every_kind_has_its_verdict(kind: ErrorKind, verdict: Verdict) -> None:
    """An outage and a missing right are bounded by time, a refused record is not retried (P9)."""
    assert kafka_classifier(ProduceError("", "", kind)) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (KafkaException(KafkaError(KafkaError._TRANSPORT)), Verdict.INFRA_DEPENDENCY_RETRYABLE),
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)), Verdict.INFRA_DEPENDENCY),
        (BrokerUnreachableError("h:1", "reading"), Verdict.INFRA_DEPENDENCY_RETRYABLE),
        (TopicMissingError("t", "missing"), Verdict.INFRA_DEPENDENCY_RETRYABLE),
        (
            PositionsUnknownError("t", "ends", Fault("_TIMED_OUT", ErrorKind.DEPENDENCY, "")),
            Verdict.INFRA_DEPENDENCY_RETRYABLE,
        ),
    ],
)
def test_errors_of_hooks_that_use_kafka_are_claimed(error: BaseException, verdict: Verdict) -> None:
    """Our own errors and the client's both have a verdict."""
    assert kafka_classifier(error) is verdict


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), KafkaException(), BufferError()])
def test_other_errors_are_left_to_others(error: BaseException) -> None:
    """A classifier claims only what it knows."""
    assert kafka_classifier(error) is Verdict.UNKNOWN


def test_only_the_node_itself_is_looked_at() -> None:
    """The chain of causes is the processor's work."""
    error = ValueError("x")
    error.__cause__ = DeliveryTimeoutError("late", "_MSG_TIMED_OUT", ErrorKind.DEPENDENCY)
    assert kafka_classifier(error) is Verdict.UNKNOWN
    assert kafka_classifier(RecordTooLargeError("large")) is Verdict.INFRA_DEPENDENCY
