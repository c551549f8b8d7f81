"""The one door to confluent_kafka: records, settings, the acknowledged producer, topics, the embedded broker.

It decides no policy: what an error means is told (`ErrorKind`), what to do about it is for the rooms above.
"""

from ._callbacks import OAuth, OAuthToken
from ._classifier import kafka_classifier
from ._client import check_producer
from ._consumer import CommitError, ConsumerFatalError, GroupConsumer, GroupListener, Position
from ._embedded import EmbeddedBroker
from ._errors import (
    ERROR_KINDS,
    BrokerError,
    BrokerUnreachableError,
    DeliveryTimeoutError,
    EmbeddedBrokerError,
    ErrorKind,
    FatalProducerError,
    Fault,
    ForkedClientError,
    GroupInUseError,
    GroupRefusedError,
    InvalidClientConfigError,
    InvalidRecordError,
    KafkaClientError,
    NotAuthorizedError,
    PositionsUnknownError,
    ProduceError,
    ProducerClosedError,
    QueueFullError,
    RecordTooLargeError,
    RefusedKeyError,
    TopicError,
    TopicMissingError,
    TopicRefusedError,
    UnconfirmedError,
    UnknownTopicError,
    classify_kafka_error,
)
from ._follower import FollowListener, FollowState, TopicFollower
from ._group_offsets import GroupAdmin, Moment
from ._mailbox import Acknowledgement
from ._producer import AcknowledgedProducer
from ._reader import TopicReader
from ._record import Record, UnreadRecord
from ._settings import OWNED_KEYS, ClientConfig, Option, Options
from ._topics import TopicAdmin, TopicChange, TopicDescription, WantedTopic, describe_topics

__all__ = [
    "ERROR_KINDS",
    "OWNED_KEYS",
    "AcknowledgedProducer",
    "Acknowledgement",
    "BrokerError",
    "BrokerUnreachableError",
    "ClientConfig",
    "CommitError",
    "ConsumerFatalError",
    "DeliveryTimeoutError",
    "EmbeddedBroker",
    "EmbeddedBrokerError",
    "ErrorKind",
    "FatalProducerError",
    "Fault",
    "FollowListener",
    "FollowState",
    "ForkedClientError",
    "GroupAdmin",
    "GroupConsumer",
    "GroupInUseError",
    "GroupListener",
    "GroupRefusedError",
    "InvalidClientConfigError",
    "InvalidRecordError",
    "KafkaClientError",
    "Moment",
    "NotAuthorizedError",
    "OAuth",
    "OAuthToken",
    "Option",
    "Options",
    "Position",
    "PositionsUnknownError",
    "ProduceError",
    "ProducerClosedError",
    "QueueFullError",
    "Record",
    "RecordTooLargeError",
    "RefusedKeyError",
    "TopicAdmin",
    "TopicChange",
    "TopicDescription",
    "TopicError",
    "TopicFollower",
    "TopicMissingError",
    "TopicReader",
    "TopicRefusedError",
    "UnconfirmedError",
    "UnknownTopicError",
    "UnreadRecord",
    "WantedTopic",
    "check_producer",
    "classify_kafka_error",
    "describe_topics",
    "kafka_classifier",
]
