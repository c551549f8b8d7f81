"""What can go wrong between us and Kafka, in our own words.

`KafkaError.retriable()` says False for nearly every code, so what a code means is decided here, by name.

    KafkaClientError
    ├── RefusedKeyError            a setting that hookline owns was given
    ├── InvalidClientConfigError   librdkafka refuses the settings
    ├── ForkedClientError          a client was used in a child of the process that made it
    ├── BrokerUnreachableError     no broker answered in time; names the bootstrap address
    ├── PositionsUnknownError      the broker did not tell a group's positions, or a partition's ends, in time
    ├── EmbeddedBrokerError        asked of an embedded broker what only a real one can do
    ├── GroupRefusedError          the broker refused to tell, set or delete what a consumer group has committed
    │   └── GroupInUseError        the group has members
    ├── TopicError
    │   ├── TopicMissingError      the topic does not exist, or may not be seen
    │   └── TopicRefusedError      the broker refused to create, alter or describe a topic
    └── ProduceError               a record is not known to be published
        ├── RecordTooLargeError    the client's, topic's or broker's size limit
        ├── InvalidRecordError     the record itself can never be published
        ├── UnknownTopicError      topic or partition does not exist
        ├── NotAuthorizedError     authentication or access rights
        ├── DeliveryTimeoutError   no confirmation in time: the outcome is unknown
        ├── QueueFullError         no room in the local queue in time: never sent
        ├── UnconfirmedError       closed before the confirmation came: the outcome is unknown
        ├── FatalProducerError     the client broke; the next send uses a new one
        ├── ProducerClosedError    sent after close
        └── BrokerError            anything else that the broker or the client reported

An unknown outcome counts as not published: send it again, consumers drop repeats by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError


class ErrorKind(Enum):
    """What an error code means for whoever must act on it."""

    RETRYABLE = "retryable"
    """Passes by itself, soon: leadership moves, rebalances, throttling."""
    DEPENDENCY = "dependency"
    """The broker is away or too slow; passes when it is back."""
    PERMANENT = "permanent"
    """The same request fails again for ever."""
    CONFIGURATION = "configuration"
    """Passes when a person mends credentials, access rights, a topic or a setting."""
    FATAL = "fatal"
    """This client is broken; a new one may succeed."""


METADATA_REFUSED: Final = "OFFSET_METADATA_TOO_LARGE"
_NAMES: Final[Mapping[ErrorKind, str]] = {
    ErrorKind.RETRYABLE: """
        CONCURRENT_TRANSACTIONS COORDINATOR_LOAD_IN_PROGRESS FENCED_LEADER_EPOCH
        FENCED_MEMBER_EPOCH FETCH_SESSION_ID_NOT_FOUND ILLEGAL_GENERATION
        INCONSISTENT_TOPIC_ID INVALID_FETCH_SESSION_EPOCH INVALID_MSG INVALID_SHARE_SESSION_EPOCH
        LEADER_NOT_AVAILABLE MEMBER_ID_REQUIRED NOT_CONTROLLER NOT_COORDINATOR NOT_LEADER_FOR_PARTITION
        OFFSET_NOT_AVAILABLE OPERATION_NOT_ATTEMPTED PREFERRED_LEADER_NOT_AVAILABLE REASSIGNMENT_IN_PROGRESS
        REBALANCE_IN_PROGRESS REBOOTSTRAP_REQUIRED REPLICA_NOT_AVAILABLE SHARE_SESSION_LIMIT_REACHED
        SHARE_SESSION_NOT_FOUND STALE_BROKER_EPOCH STALE_CTRL_EPOCH STALE_MEMBER_EPOCH THROTTLING_QUOTA_EXCEEDED
        UNKNOWN_LEADER_EPOCH UNKNOWN_MEMBER_ID UNKNOWN_TOPIC_ID UNRELEASED_INSTANCE_ID UNSTABLE_OFFSET_COMMIT
        _ASSIGNMENT_LOST _BAD_MSG _DESTROY _IN_PROGRESS _INTR _LOG_TRUNCATION _MAX_POLL_EXCEEDED _OUTDATED _PARTIAL
        _PREV_IN_PROGRESS _PURGE_INFLIGHT _PURGE_QUEUE _QUEUE_FULL _RETRY _STATE _UNDERFLOW _WAIT_CACHE
        """,
    ErrorKind.DEPENDENCY: """
        BROKER_NOT_AVAILABLE COORDINATOR_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE KAFKA_STORAGE_ERROR
        LISTENER_NOT_FOUND LOG_DIR_NOT_FOUND NETWORK_EXCEPTION NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND
        REQUEST_TIMED_OUT _ALL_BROKERS_DOWN _DESTROY_BROKER _ISR_INSUFF _MSG_TIMED_OUT _NODE_UPDATE _RESOLVE
        _TIMED_OUT _TIMED_OUT_QUEUE _TRANSPORT _UNKNOWN_BROKER _WAIT_COORD
        """,
    ErrorKind.PERMANENT: """
        DUPLICATE_RESOURCE DUPLICATE_VOTER ELECTION_NOT_NEEDED FEATURE_UPDATE_FAILED GROUP_ID_NOT_FOUND
        GROUP_SUBSCRIBED_TO_TOPIC INCONSISTENT_VOTER_SET INVALID_COMMIT_OFFSET_SIZE INVALID_MSG_SIZE
        INVALID_PARTITIONS INVALID_RECORD INVALID_RECORD_STATE INVALID_REGISTRATION INVALID_REGULAR_EXPRESSION
        INVALID_REPLICA_ASSIGNMENT INVALID_REPLICATION_FACTOR INVALID_REQUEST INVALID_TIMESTAMP INVALID_TXN_STATE
        INVALID_UPDATE_VERSION INVALID_VOTER_KEY MSG_SIZE_TOO_LARGE NON_EMPTY_GROUP NO_REASSIGNMENT_IN_PROGRESS
        OFFSET_METADATA_TOO_LARGE OFFSET_OUT_OF_RANGE POLICY_VIOLATION PRINCIPAL_DESERIALIZATION_FAILURE
        RECORD_LIST_TOO_LARGE RESOURCE_NOT_FOUND STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH
        STREAMS_TOPOLOGY_FENCED TELEMETRY_TOO_LARGE TOPIC_ALREADY_EXISTS TRANSACTION_ABORTABLE UNKNOWN
        UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID UNSUPPORTED_FOR_MESSAGE_FORMAT VOTER_NOT_FOUND
        _APPLICATION _ASSIGN_PARTITIONS _AUTO_OFFSET_RESET _BAD_COMPRESSION _CONFLICT _EXISTING_SUBSCRIPTION _FAIL
        _INCONSISTENT _INVALID_ARG _INVALID_DIFFERENT_RECORD _INVALID_TYPE _KEY_DESERIALIZATION _KEY_SERIALIZATION
        _NOENT _NOOP _NOT_IMPLEMENTED _NO_OFFSET _PARTITION_EOF _READ_ONLY _REVOKE_PARTITIONS _UNKNOWN_GROUP
        _UNKNOWN_PROTOCOL _VALUE_DESERIALIZATION _VALUE_SERIALIZATION
        """,
    ErrorKind.CONFIGURATION: """
        CLUSTER_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTH_DISABLED
        DELEGATION_TOKEN_EXPIRED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH
        DELEGATION_TOKEN_REQUEST_NOT_ALLOWED GROUP_AUTHORIZATION_FAILED GROUP_MAX_SIZE_REACHED ILLEGAL_SASL_STATE
        INCONSISTENT_GROUP_PROTOCOL INVALID_CONFIG INVALID_GROUP_ID INVALID_PRINCIPAL_TYPE INVALID_REQUIRED_ACKS
        INVALID_SESSION_TIMEOUT INVALID_TRANSACTION_TIMEOUT MISMATCHED_ENDPOINT_TYPE SASL_AUTHENTICATION_FAILED
        SECURITY_DISABLED TOPIC_AUTHORIZATION_FAILED TOPIC_DELETION_DISABLED TOPIC_EXCEPTION
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNACCEPTABLE_CREDENTIAL UNKNOWN_TOPIC_OR_PART UNSUPPORTED_ASSIGNOR
        UNSUPPORTED_COMPRESSION_TYPE UNSUPPORTED_ENDPOINT_TYPE UNSUPPORTED_SASL_MECHANISM UNSUPPORTED_VERSION
        _AUTHENTICATION _FS _NOT_CONFIGURED _SSL _UNKNOWN_PARTITION _UNKNOWN_TOPIC _UNSUPPORTED_FEATURE
        """,
    ErrorKind.FATAL: """
        DUPLICATE_SEQUENCE_NUMBER FENCED_INSTANCE_ID FENCED_STATE_EPOCH INVALID_PRODUCER_EPOCH
        INVALID_PRODUCER_ID_MAPPING OUT_OF_ORDER_SEQUENCE_NUMBER PRODUCER_FENCED TRANSACTION_COORDINATOR_FENCED
        UNKNOWN_PRODUCER_ID _CRIT_SYS_RESOURCE _FATAL _FENCED _GAPLESS_GUARANTEE
        """,
}
ERROR_KINDS: Final[Mapping[str, ErrorKind]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""Every error code of the client, by its name. A name that is not here is permanent."""


def classify_kafka_error(error: KafkaError) -> ErrorKind:
    """Tell what an error of confluent_kafka means. A fatal one is fatal whatever its code; an unknown one permanent."""
    return ErrorKind.FATAL if error.fatal() else ERROR_KINDS.get(error.name(), ErrorKind.PERMANENT)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a client reported of itself: a broker away, a refused password, a fatal state."""

    code: str
    kind: ErrorKind
    reason: str

    @classmethod
    def of(cls, error: KafkaError) -> Fault:
        """Read an error of confluent_kafka."""
        return cls(error.name(), classify_kafka_error(error), error.str())

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


class KafkaClientError(Exception):
    """Any error of this room."""


class RefusedKeyError(KafkaClientError):
    """A librdkafka setting was given that hookline sets itself. `key` names it."""

    def __init__(self, key: str, table: str, reason: str) -> None:
        super().__init__(key, table, reason)
        self.key = key
        self.table = table
        self.reason = reason

    def __str__(self) -> str:
        return f'"{self.key}" may not be set under [kafka.{self.table}]: {self.reason}'


class InvalidClientConfigError(KafkaClientError):
    """The settings make no client."""


class ForkedClientError(KafkaClientError):
    """A client was used in a child process; its threads live in the parent only. Make one in each process."""


class BrokerUnreachableError(KafkaClientError):
    """No broker answered in time.

    `bootstrap` is the address asked, `fault` the client's last word, if any, `origin` where the address was set, if
    that is known.
    """

    def __init__(self, bootstrap: str, doing: str, fault: Fault | None = None, origin: str = "") -> None:
        super().__init__(bootstrap, doing, fault, origin)
        self.bootstrap = bootstrap
        self.doing = doing
        self.fault = fault
        self.origin = origin

    @property
    def kind(self) -> ErrorKind:
        """Tell an outage from credentials that a person must mend."""
        return ErrorKind.DEPENDENCY if self.fault is None else self.fault.kind

    def __str__(self) -> str:
        last = f" ({self.fault})" if self.fault else ""
        origin = f" (set in {self.origin})" if self.origin else ""
        return f"no answer from Kafka at {self.bootstrap}{origin} while {self.doing}{last}"


class PositionsUnknownError(KafkaClientError):
    """The broker did not tell in time where a group, or a partition of `topic`, stands. `fault` says why not."""

    def __init__(self, topic: str, what: str, fault: Fault) -> None:
        super().__init__(topic, what, fault)
        self.topic = topic
        self.what = what
        self.fault = fault

    @property
    def kind(self) -> ErrorKind:
        """Tell an outage from a right that a person must give."""
        return self.fault.kind

    def __str__(self) -> str:
        return f"topic {self.topic}: not told {self.what}: {self.fault}"


class EmbeddedBrokerError(KafkaClientError):
    """The broker is an embedded one, which never answers a request to make topics, or to read or alter their settings."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.bootstrap = bootstrap

    def __str__(self) -> str:
        return (
            f"the broker at {self.bootstrap} is embedded in another process and cannot do this: its topics are made by "
            "themselves, and have no settings"
        )


class GroupRefusedError(KafkaClientError):
    """The broker refused what was asked for a consumer group, named by `group`.

    `code` is the broker's name for the error, `kind` what it means.
    """

    def __init__(self, group: str, message: str, code: str = "", kind: ErrorKind = ErrorKind.PERMANENT) -> None:
        super().__init__(group, message, code, kind)
        self.group = group
        self.code = code
        self.kind = kind

    @property
    def metadata_refused(self) -> bool:
        """Tell whether the metadata string of a commit is longer than the broker takes: a shorter one passes."""
        return self.code == METADATA_REFUSED

    def __str__(self) -> str:
        return str(self.args[1])


class GroupInUseError(GroupRefusedError):
    """The group has members, who alone may commit for it."""


class TopicError(KafkaClientError):
    """Something is wrong with one topic, named by `topic`."""

    def __init__(self, topic: str, message: str, code: str = "", kind: ErrorKind = ErrorKind.CONFIGURATION) -> None:
        super().__init__(topic, message, code, kind)
        self.topic = topic
        self.code = code
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[1])


class TopicMissingError(TopicError):
    """The topic does not exist, or the access rights hide it."""


class TopicRefusedError(TopicError):
    """The broker refused what was asked for a topic."""


class ProduceError(KafkaClientError):
    """A record is not known to be published.

    `code` is the client's or broker's name for the error, `kind` what it means.
    """

    def __init__(self, message: str, code: str = "", kind: ErrorKind = ErrorKind.PERMANENT) -> None:
        super().__init__(message, code, kind)
        self.code = code
        self.kind = kind

    @property
    def retryable(self) -> bool:
        """Tell whether the same record may be published later, by itself or once a person has mended something."""
        return self.kind is not ErrorKind.PERMANENT

    def __str__(self) -> str:
        return str(self.args[0])


class RecordTooLargeError(ProduceError):
    """The record exceeds the client's, the topic's or the broker's limit."""


class InvalidRecordError(ProduceError):
    """The record can never be published as it is."""


class UnknownTopicError(ProduceError):
    """The topic, or the partition asked for, does not exist."""


class NotAuthorizedError(ProduceError):
    """The credentials are refused, or lack a right."""


class DeliveryTimeoutError(ProduceError):
    """No confirmation within `delivery.timeout.ms`: the outcome is unknown, so not published."""


class QueueFullError(ProduceError):
    """The local queue had no room within `delivery.timeout.ms`: the record was never sent."""


class UnconfirmedError(ProduceError):
    """The producer was closed before the confirmation came: the outcome is unknown, so not published."""


class FatalProducerError(ProduceError):
    """The client broke with the record in its hands. It is replaced by itself: send again."""


class ProducerClosedError(ProduceError):
    """The producer was closed before this send."""


class BrokerError(ProduceError):
    """The broker or the client reported something else."""


_AUTHORIZATION: Final = frozenset(
    {
        "CLUSTER_AUTHORIZATION_FAILED",
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "_AUTHENTICATION",
    }
)
_BY_NAME: Final[Mapping[str, type[ProduceError]]] = {
    "MSG_SIZE_TOO_LARGE": RecordTooLargeError,
    "RECORD_LIST_TOO_LARGE": RecordTooLargeError,
    "INVALID_MSG_SIZE": RecordTooLargeError,
    "UNKNOWN_TOPIC_OR_PART": UnknownTopicError,
    "TOPIC_EXCEPTION": UnknownTopicError,
    "_UNKNOWN_TOPIC": UnknownTopicError,
    "_UNKNOWN_PARTITION": UnknownTopicError,
    "_MSG_TIMED_OUT": DeliveryTimeoutError,
    "_TIMED_OUT": DeliveryTimeoutError,
    "_TIMED_OUT_QUEUE": DeliveryTimeoutError,
    "REQUEST_TIMED_OUT": DeliveryTimeoutError,
    "_QUEUE_FULL": QueueFullError,
    "_PURGE_INFLIGHT": UnconfirmedError,
    "_PURGE_QUEUE": UnconfirmedError,
    **dict.fromkeys(_AUTHORIZATION, NotAuthorizedError),
}
_BY_KIND: Final[Mapping[ErrorKind, type[ProduceError]]] = {
    ErrorKind.FATAL: FatalProducerError,
    ErrorKind.PERMANENT: InvalidRecordError,
}


def is_authorization(code: str) -> bool:
    """Tell whether a code is about credentials or access rights."""
    return code in _AUTHORIZATION


def produce_error(fault: Fault, topic: str, hint: str = "") -> ProduceError:
    """Make the typed error of a record that was refused or not confirmed."""
    shape = FatalProducerError if fault.kind is ErrorKind.FATAL else _BY_NAME.get(fault.code)
    shape = shape or _BY_KIND.get(fault.kind, BrokerError)
    return shape(f"topic {topic}: {fault}{hint}", fault.code, fault.kind)
