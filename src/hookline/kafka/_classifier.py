"""What the errors of this room mean as verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException

from hookline.errs import Verdict

from ._consumer import CommitError
from ._errors import (
    BrokerUnreachableError,
    ErrorKind,
    GroupRefusedError,
    PositionsUnknownError,
    ProduceError,
    TopicError,
    classify_kafka_error,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERDICTS: Final[Mapping[ErrorKind, Verdict]] = {
    ErrorKind.RETRYABLE: Verdict.INFRA_RETRYABLE,
    ErrorKind.DEPENDENCY: Verdict.INFRA_DEPENDENCY_RETRYABLE,
    ErrorKind.PERMANENT: Verdict.INFRA_DEPENDENCY,
    # A right or a topic that is missing stops every event, and a person mends it: an outage, not a bad event.
    ErrorKind.CONFIGURATION: Verdict.INFRA_DEPENDENCY_RETRYABLE,
    ErrorKind.FATAL: Verdict.INFRA_RETRYABLE,
}


def kafka_classifier(error: BaseException) -> Verdict:
    """Tell what an error of Kafka means; UNKNOWN for any other. A `hookline.errs.Classifier`: looks at one node."""
    kind = _kind(error)
    return Verdict.UNKNOWN if kind is None else _VERDICTS[kind]


def _kind(error: BaseException) -> ErrorKind | None:
    if isinstance(
        error, ProduceError | TopicError | GroupRefusedError | BrokerUnreachableError | PositionsUnknownError
    ):
        return error.kind
    if isinstance(error, CommitError):
        return error.fault.kind
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return classify_kafka_error(error.args[0])
    return None
