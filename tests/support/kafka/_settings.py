from __future__ import annotations

import os
from dataclasses import dataclass

KAFKA_VERSION = os.environ.get("HOOKLINE_TEST_KAFKA_VERSION", "4.1.2")
HEAP = "-Xmx512m"

# Short sessions and no rebalance delay, so that tests about them end; everything else as on one small machine.
_FOR_TESTS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a single broker listens and what it tells its clients, each as host:port."""

    listen: str
    advertised: str
    controller: str


def broker_settings(addresses: Addresses) -> dict[str, str]:
    """Return the settings of one broker that is its own controller."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{addresses.controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"PLAINTEXT://{addresses.listen},CONTROLLER://{addresses.controller}",
        "advertised.listeners": f"PLAINTEXT://{addresses.advertised}",
        **_FOR_TESTS,
    }


def as_environment(settings: dict[str, str]) -> dict[str, str]:
    """Spell settings as the apache/kafka image reads them from its environment."""
    return {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in settings.items()}
