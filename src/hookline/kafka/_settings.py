"""What a Kafka client is made with: our defaults, the user's librdkafka options verbatim, and what hookline owns."""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from ._callbacks import GuardedOAuth, QuietLog, guarded_on_fault
from ._errors import InvalidClientConfigError, RefusedKeyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._callbacks import LogSink, OAuth, OnFault

Option: TypeAlias = str | int | float | bool
Options: TypeAlias = "Mapping[str, Option]"

_POSITION = "hookline commits what is settled, and nothing else"
_CONFIRMED = "a publish is confirmed by all in-sync replicas, once"
_CALLBACK = "callbacks are given in code"
OWNED_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "group.id": "groups are named by [groups]",
        "enable.auto.commit": _POSITION,
        "auto.commit.enable": _POSITION,
        "enable.auto.offset.store": _POSITION,
        "auto.offset.reset": "always earliest: a new group must not skip events",
        "isolation.level": "always read_committed: an aborted event never happened",
        "acks": _CONFIRMED,
        "request.required.acks": _CONFIRMED,
        "enable.idempotence": _CONFIRMED,
        "transactional.id": "hookline publishes without transactions",
        "partitioner": "always murmur2_random, as in the Java client, so that a subject stays in one partition",
        "default.topic.config": "give each option by its own name",
        "oauth_cb": 'give it as oauth = "package.module:callable"',
        "error_cb": _CALLBACK,
        "logger": _CALLBACK,
        "log_cb": _CALLBACK,
        "stats_cb": _CALLBACK,
        "throttle_cb": _CALLBACK,
        "on_commit": _CALLBACK,
        "on_delivery": _CALLBACK,
    }
)
"""The options that hookline sets itself, each with the reason. Giving one is refused by name."""

_CONSUMER_DEFAULTS: Final[Options] = {
    "allow.auto.create.topics": False,
    "partition.assignment.strategy": "cooperative-sticky",
    # One millisecond instead of a second: a fetcher that found the queue full comes back at once.
    "fetch.queue.backoff.ms": 1,
    # Both bounds are of the whole consumer, whatever the client's manual says of the first. Keys and values alone count
    # as bytes, each record costs 0.6 kB beside them: measured, a full queue takes up to 45 MB, of events of 200 bytes.
    "queued.min.messages": 50_000,
    "queued.max.messages.kbytes": 16_384,
}
_CONSUMER_OWNED: Final[Options] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
}
_PRODUCER_DEFAULTS: Final[Options] = {
    "allow.auto.create.topics": False,
    "delivery.timeout.ms": 30_000,
    "linger.ms": 1,
    # Kafka's own limit of a record, and 64 KiB: a dead letter is an event and what is said about its failure.
    "message.max.bytes": 1_048_588 + 65_536,
    # A missing topic is told by name within ten seconds instead of as a timeout after thirty.
    "topic.metadata.propagation.max.ms": 8_000,
}
_PRODUCER_OWNED: Final[Options] = {"acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"}
_ADMIN_DEFAULTS: Final[Options] = {"allow.auto.create.topics": False}

_ALIASES: Final[Mapping[str, str]] = {
    "metadata.broker.list": "bootstrap.servers",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
}
_REFUSED_BY_NEW_PROTOCOL: Final = frozenset(
    {"partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms", "group.protocol.type"}
)


class ClientConfig:
    """How to reach Kafka. Immutable, safe to share; holds credentials, so it prints none of its values.

    `common`, `consumer`, `producer` and `admin` are librdkafka options by their own names, the last three for one kind
    of client. `oauth` is set on every client. What the clients log goes to `log`, not to stderr. `origin` says where
    the address of the brokers was set, for messages to people.

    Raises RefusedKeyError for an option in `OWNED_KEYS`, InvalidClientConfigError for one that cannot work.
    """

    __slots__ = ("_log", "_oauth", "_origin", "_tables")

    def __init__(
        self,
        *,
        common: Options | None = None,
        consumer: Options | None = None,
        producer: Options | None = None,
        admin: Options | None = None,
        oauth: OAuth | None = None,
        log: LogSink | None = None,
        origin: str = "",
    ) -> None:
        given = {"common": common, "consumer": consumer, "producer": producer, "admin": admin}
        self._tables = {table: _accepted(table, options or {}) for table, options in given.items()}
        self._oauth = oauth
        self._origin = origin
        self._log = log or logging.getLogger("hookline.kafka.client")
        _require_bound(self._merged(_PRODUCER_DEFAULTS, "producer"))

    def __repr__(self) -> str:
        return f"ClientConfig(bootstrap={self.bootstrap!r})"

    @property
    def bootstrap(self) -> str:
        """The address that the clients ask first, for messages to people."""
        return str(self._tables["common"].get("bootstrap.servers", ""))

    @property
    def origin(self) -> str:
        """Where that address was set; empty when not known."""
        return self._origin

    def consumer(self, group_id: str, on_fault: OnFault | None = None) -> dict[str, object]:
        """Make the options of a consumer of a group. `on_fault` is called inside the consumer's own calls."""
        options = self._merged(_CONSUMER_DEFAULTS, "consumer")
        if options.get("group.protocol") == "consumer":
            options = {key: value for key, value in options.items() if key not in _REFUSED_BY_NEW_PROTOCOL}
        return {**options, **_CONSUMER_OWNED, "group.id": group_id, **self._callbacks(on_fault)}

    def producer(self, on_fault: OnFault | None = None) -> dict[str, object]:
        """Make the options of a producer. `on_fault` is called on the thread that polls it."""
        return {
            **self._merged(_PRODUCER_DEFAULTS, "producer"),
            **_PRODUCER_OWNED,
            **self._callbacks(on_fault),
        }

    def admin(self, on_fault: OnFault | None = None) -> dict[str, object]:
        """Make the options of an admin client. `on_fault` is called inside its `poll`."""
        return {**self._merged(_ADMIN_DEFAULTS, "admin"), **self._callbacks(on_fault)}

    def _merged(self, defaults: Options, table: str) -> dict[str, Option]:
        return {**defaults, **self._tables["common"], **self._tables[table]}

    def _callbacks(self, on_fault: OnFault | None) -> dict[str, object]:
        callbacks: dict[str, object] = {"logger": QuietLog(self._log), "error_cb": guarded_on_fault(on_fault)}
        return callbacks if self._oauth is None else {**callbacks, "oauth_cb": GuardedOAuth(self._oauth)}


def _accepted(table: str, options: Options) -> Options:
    for key, value in options.items():
        if key in OWNED_KEYS:
            raise RefusedKeyError(key, table, OWNED_KEYS[key])
        if not isinstance(value, str | int | float):
            raise InvalidClientConfigError(f'"{key}" under [kafka.{table}] must be a text, a number or a boolean')
    return MappingProxyType({_ALIASES.get(key, key): value for key, value in options.items()})


def _require_bound(producer: Mapping[str, Option]) -> None:
    # Zero means for ever to librdkafka: a publish that may never end.
    text = str(producer["delivery.timeout.ms"])
    if not text.isdecimal() or int(text) == 0:
        raise InvalidClientConfigError(f'"delivery.timeout.ms" must be a positive number of milliseconds, not {text}')
