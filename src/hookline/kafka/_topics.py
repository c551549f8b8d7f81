"""Topics: what exists, what it is set to, and making it so."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # exported, but not in the way that strict asks for
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from ._embedded import is_embedded
from ._errors import (
    BrokerUnreachableError,
    EmbeddedBrokerError,
    Fault,
    InvalidClientConfigError,
    TopicMissingError,
    TopicRefusedError,
    is_authorization,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined] # the same

    from ._settings import ClientConfig

_T = TypeVar("_T")
_BROKER_DEFAULT: Final = -1
_LEAST_SECONDS: Final = 0.1
_AWAY: Final = frozenset({"_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "SASL_AUTHENTICATION_FAILED"})


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic that exists."""

    name: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic as it should be. `replication_factor` None leaves it to the broker; `config` is Kafka's own, by its names."""

    name: str
    partitions: int
    replication_factor: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicChange:
    """What lies between a topic as it is (`found`, None when missing) and as it is wanted.

    `settings` maps the key of each setting that differs to (as it is, as wanted).
    """

    wanted: WantedTopic
    found: TopicDescription | None
    settings: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)

    @property
    def creates(self) -> bool:
        """Tell whether the topic must be made."""
        return self.found is None

    @property
    def alters(self) -> bool:
        """Tell whether settings of an existing topic must change."""
        return self.found is not None and bool(self.settings)

    @property
    def keeps_partitions(self) -> tuple[int, int] | None:
        """Give (as it is, as wanted) when the partition counts differ.

        Never changed: a subject would move to another partition, and its order would break.
        """
        if self.found is None or self.found.partitions == self.wanted.partitions:
            return None
        return self.found.partitions, self.wanted.partitions


def describe_topics(
    config: ClientConfig, names: Iterable[str], timeout_seconds: float = 10.0
) -> dict[str, TopicDescription]:
    """Describe the topics that exist and may be seen; the others are left out. Blocks.

    Reads metadata only: needs no right beyond describing the topics, creates none, and works on the embedded broker.
    Raises BrokerUnreachableError when no broker answers in time.
    """
    with TopicAdmin(config, timeout_seconds) as admin:
        return admin.describe(names)


class TopicAdmin:
    """Reads and changes topics. Blocks; for one thread; a context manager. `timeout_seconds` bounds each method.

    `describe` and `end_offsets` work on every broker. The others need a real one: the embedded one never answers them,
    so `plan` refuses it by EmbeddedBrokerError. They raise BrokerUnreachableError, or TopicRefusedError with the broker's code when it refuses.
    """

    def __init__(self, config: ClientConfig, timeout_seconds: float = 10.0) -> None:
        self._bootstrap = config.bootstrap
        self._origin = config.origin
        self._embedded = False
        self._timeout_seconds = timeout_seconds
        self._faults: dict[bool, Fault] = {}
        options = {**config.admin(self._note), "allow.auto.create.topics": False}
        self._client = self._connect(options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.poll(0)

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Describe the topics that exist and may be seen, by name."""
        deadline = time.monotonic() + self._timeout_seconds
        found = [self._describe(name, deadline) for name in names]
        return {topic.name: topic for topic in found if topic is not None}

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Tell where each partition ends for a consumer of committed records, all asked at once.

        Raises TopicMissingError for a topic that does not exist.
        """
        found = self.describe([topic])
        if topic not in found:
            raise TopicMissingError(topic, f"topic {topic} does not exist at {self._bootstrap}, or may not be seen")
        end = OffsetSpec.latest()  # type: ignore[no-untyped-call] # not annotated there
        asked = {TopicPartition(topic, number): end for number in range(found[topic].partitions)}
        futures = self._client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout_seconds
        )
        doing = "looking for the ends of topic"
        return {place.partition: self._result(future, topic, doing).offset for place, future in futures.items()}

    def read_settings(self, name: str) -> dict[str, str | None]:
        """Read all settings of a topic as in force, defaults included."""
        resource = ConfigResource(ResourceType.TOPIC, name)
        futures = self._client.describe_configs([resource], request_timeout=self._timeout_seconds)
        entries: Mapping[str, ConfigEntry] = self._result(futures[resource], name, "reading the settings of topic")
        return {key: entry.value for key, entry in entries.items()}

    def plan(self, wanted: Sequence[WantedTopic]) -> list[TopicChange]:
        """Compare topics as wanted with those that exist. Changes nothing."""
        found = self.describe(topic.name for topic in wanted)
        if self._embedded:
            raise EmbeddedBrokerError(self._bootstrap)
        return [self._compare(topic, found.get(topic.name)) for topic in wanted]

    def apply(self, change: TopicChange) -> None:
        """Create the topic, or alter the settings that differ. A partition count is never changed. Safe to repeat."""
        if change.creates:
            self._create(change.wanted)
        elif change.alters:
            self._alter(change.wanted.name, {key: wanted for key, (_, wanted) in change.settings.items()})

    def _compare(self, wanted: WantedTopic, found: TopicDescription | None) -> TopicChange:
        if found is None:
            return TopicChange(wanted, None, {key: (None, value) for key, value in wanted.config.items()})
        current = self.read_settings(wanted.name) if wanted.config else {}
        differing = {
            key: (current.get(key), value) for key, value in wanted.config.items() if current.get(key) != value
        }
        return TopicChange(wanted, found, differing)

    def _create(self, wanted: WantedTopic) -> None:
        topic = NewTopic(
            wanted.name,
            num_partitions=wanted.partitions,
            replication_factor=wanted.replication_factor or _BROKER_DEFAULT,
            config=dict(wanted.config),
        )
        seconds = self._timeout_seconds
        futures = self._client.create_topics([topic], operation_timeout=seconds, request_timeout=seconds)
        self._result(futures[wanted.name], wanted.name, "creating topic")

    def _alter(self, name: str, settings: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        futures = self._client.incremental_alter_configs([resource], request_timeout=self._timeout_seconds)
        self._result(futures[resource], name, "altering topic")

    def _describe(self, name: str, deadline: float) -> TopicDescription | None:
        left = max(deadline - time.monotonic(), _LEAST_SECONDS)
        try:
            cluster: ClusterMetadata = self._client.list_topics(name, timeout=left)
        except KafkaException as error:
            raise self._unreachable(Fault.of(error.args[0]), f"looking for topic {name}") from error
        self._embedded = is_embedded(cluster.cluster_id)
        topic = cluster.topics.get(name)
        if topic is None or topic.error is not None or not topic.partitions:
            return None
        replicas = min(len(partition.replicas) for partition in topic.partitions.values())
        return TopicDescription(name, len(topic.partitions), replicas)

    def _result(self, future: Future[_T], name: str, doing: str) -> _T:
        try:
            return future.result(self._timeout_seconds + _LEAST_SECONDS)
        except TimeoutError as error:
            raise self._unreachable(None, f"{doing} {name}") from error
        except KafkaException as error:
            fault = Fault.of(error.args[0])
            if fault.code in _AWAY:
                raise self._unreachable(fault, f"{doing} {name}") from error
            raise TopicRefusedError(name, f"{doing} {name}: {fault}", fault.code, fault.kind) from error

    def _connect(self, options: dict[str, object]) -> AdminClient:
        try:
            return AdminClient(options)  # type: ignore[arg-type] # callbacks are options too
        except KafkaException as error:
            fault = Fault.of(error.args[0])
            if fault.code in _AWAY:
                raise self._unreachable(fault, "connecting") from error
            raise InvalidClientConfigError(f"no admin client can be made: {fault.reason}") from error

    def _note(self, fault: Fault) -> None:
        # Refused credentials come as one fault among many that only say the broker is away.
        self._faults[is_authorization(fault.code)] = fault

    def _unreachable(self, fault: Fault | None, doing: str) -> BrokerUnreachableError:
        client: AdminClient | None = getattr(self, "_client", None)
        if client is not None:
            client.poll(0)
        said = self._faults.get(True) or self._faults.get(False) or fault
        return BrokerUnreachableError(self._bootstrap, doing, said, self._origin)
