from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from hookline.kafka import OWNED_KEYS, ClientConfig, InvalidClientConfigError, RefusedKeyError

if TYPE_CHECKING:
    from hookline.kafka import Options

_BOOTSTRAP = {"bootstrap.servers": "h:1"}


def _plain(options: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in options.items() if not callable(value) and key != "logger"}


def test_options_go_through_by_their_own_names() -> None:
    """What the user says under common and under a client's own table reaches that client verbatim."""
    config = ClientConfig(
        common={**_BOOTSTRAP, "client.rack": "a"}, consumer={"fetch.min.bytes": 7}, producer={"compression.type": "lz4"}
    )
    consumer, producer = config.consumer("g"), config.producer()
    assert (consumer["client.rack"], producer["client.rack"]) == ("a", "a")
    assert consumer["fetch.min.bytes"] == 7
    assert producer["compression.type"] == "lz4"
    assert "compression.type" not in consumer


def test_a_clients_own_table_overrides_common_and_defaults() -> None:
    """The nearer setting wins."""
    config = ClientConfig(common={**_BOOTSTRAP, "linger.ms": 50}, producer={"linger.ms": 7})
    assert config.producer()["linger.ms"] == 7


@pytest.mark.parametrize("table", ["common", "consumer", "producer", "admin"])
@pytest.mark.parametrize("key", sorted(OWNED_KEYS))
def test_an_owned_key_is_refused_by_name(table: str, key: str) -> None:
    """What a promise rests on cannot be set, in any table."""
    tables: dict[str, Options] = {"common": _BOOTSTRAP, table: {key: "x"}}
    with pytest.raises(RefusedKeyError) as refused:
        ClientConfig(
            common=tables["common"],
            consumer=tables.get("consumer"),
            producer=tables.get("producer"),
            admin=tables.get("admin"),
        )
    assert (refused.value.key, refused.value.table) == (key, table)


def test_a_consumer_never_commits_by_itself() -> None:
    """Offsets move by our commits alone, from the earliest, and aborted events are not seen (P5)."""
    options = ClientConfig(common=_BOOTSTRAP).consumer("g")
    assert options["group.id"] == "g"
    assert options["enable.auto.commit"] is False
    assert options["enable.auto.offset.store"] is False
    assert options["auto.offset.reset"] == "earliest"
    assert options["isolation.level"] == "read_committed"


def test_what_is_fetched_ahead_is_bounded_and_may_be_set() -> None:
    """A sidecar holds at most 16 MiB of records ahead, and comes back at once when there is room; users may say otherwise."""
    options = ClientConfig(common=_BOOTSTRAP).consumer("g")
    assert options["queued.max.messages.kbytes"] == 16 * 1024
    assert options["fetch.queue.backoff.ms"] == 1
    larger = ClientConfig(common=_BOOTSTRAP, consumer={"queued.max.messages.kbytes": 65_536}).consumer("g")
    assert larger["queued.max.messages.kbytes"] == 65_536


def test_a_producer_is_idempotent_and_waits_for_all_replicas() -> None:
    """A confirmation means that the record is safe, and a key's partition is that of the Java client (P2, P3)."""
    options = ClientConfig(common=_BOOTSTRAP).producer()
    assert (options["acks"], options["enable.idempotence"], options["partitioner"]) == ("all", True, "murmur2_random")


def test_a_missing_topic_is_told_before_a_publish_times_out() -> None:
    """A missing topic is told by name within ten seconds; a publish in general ends within thirty (P2)."""
    options = ClientConfig(common=_BOOTSTRAP).producer()
    assert options["topic.metadata.propagation.max.ms"] == 8_000
    assert options["delivery.timeout.ms"] == 30_000


def test_a_dead_letter_fits_where_its_event_did() -> None:
    """The producer takes Kafka's default record size and 64 KiB for what is said about a failure."""
    assert ClientConfig(common=_BOOTSTRAP).producer()["message.max.bytes"] == 1_048_588 + 65_536


@pytest.mark.parametrize("client", ["consumer", "producer", "admin"])
def test_no_client_creates_topics_unasked(client: str) -> None:
    """A missing topic is an error to be told, also where the broker would make it with one partition."""
    config = ClientConfig(common=_BOOTSTRAP)
    options = config.consumer("g") if client == "consumer" else getattr(config, client)()
    assert options["allow.auto.create.topics"] is False


def test_the_new_protocol_leaves_out_what_its_broker_decides() -> None:
    """With group.protocol=consumer the client refuses the classic protocol's keys, so they are left out."""
    refused: Options = {
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
        "partition.assignment.strategy": "range",
    }
    options = ClientConfig(common=_BOOTSTRAP, consumer={**refused, "group.protocol": "consumer"}).consumer("g")
    assert not refused.keys() & options.keys()
    classic = ClientConfig(common=_BOOTSTRAP).consumer("g")
    assert classic["partition.assignment.strategy"] == "cooperative-sticky"


@pytest.mark.parametrize("value", [0, "0", -1, "soon"])
@pytest.mark.parametrize("key", ["delivery.timeout.ms", "message.timeout.ms"])
def test_a_publish_must_end(key: str, value: int | str) -> None:
    """Zero means for ever to librdkafka, under either name; a publish is bounded (P2)."""
    with pytest.raises(InvalidClientConfigError):
        ClientConfig(common=_BOOTSTRAP, producer={key: value})


def test_an_alias_does_not_stand_beside_our_default() -> None:
    """Some options have two names; the user's value wins under either."""
    options = ClientConfig(common={"metadata.broker.list": "h:1"}, producer={"message.timeout.ms": 9000}).producer()
    assert options["bootstrap.servers"] == "h:1"
    assert options["delivery.timeout.ms"] == 9000
    assert "message.timeout.ms" not in options


def test_a_value_of_another_type_is_refused() -> None:
    """A table where an option should be is found before a client is made."""
    with pytest.raises(InvalidClientConfigError):
        ClientConfig(common={"bootstrap.servers": ["h:1"]})  # type: ignore[dict-item] # the mistake under test


def test_credentials_are_never_shown() -> None:
    """The text of the settings holds no secret (P15)."""
    secrets: Options = {
        "sasl.password": "hunter2",
        "ssl.key.password": "hunter2",
        "ssl.keystore.password": "hunter2",
        "ssl.key.pem": "hunter2",
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.config": "hunter2",
        "sasl.oauthbearer.assertion.private.key.pem": "hunter2",
    }
    config = ClientConfig(common={**_BOOTSTRAP, **secrets, "sasl.username": "ann"})
    assert "hunter2" not in f"{config!r} {config}"


def test_oauth_is_set_on_every_client() -> None:
    """A token is needed by the admin client as by the others."""
    config = ClientConfig(common=_BOOTSTRAP, oauth=lambda _: ("token", 1e12))
    for options in (config.consumer("g"), config.producer(), config.admin()):
        fetch = options["oauth_cb"]
        assert callable(fetch)
        assert fetch(None) == ("token", 1e12)
    assert "oauth_cb" not in ClientConfig(common=_BOOTSTRAP).admin()


def test_clients_log_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    """What librdkafka says goes to logging, not to stderr."""
    logger = ClientConfig(common=_BOOTSTRAP).admin()["logger"]
    with caplog.at_level(logging.INFO):
        logger.log(logging.WARNING, "%s is %s", "broker", "away")  # type: ignore[attr-defined] # an object to the options
    assert [record.getMessage() for record in caplog.records] == ["broker is away"]


def test_settings_are_not_shared_with_the_caller() -> None:
    """Changing the mapping that was given, or the options that were made, changes nothing."""
    given: dict[str, str | int | float | bool] = dict(_BOOTSTRAP)
    config = ClientConfig(common=given)
    given["acks"] = "0"
    config.producer()["acks"] = "0"
    assert _plain(config.producer())["acks"] == "all"
