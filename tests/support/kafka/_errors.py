from __future__ import annotations


class KafkaError(Exception):
    """No Kafka for the tests."""


class NoKafkaError(KafkaError):
    """There is no way to a real Kafka here."""


class KafkaStartError(KafkaError):
    """A Kafka was chosen and does not answer."""
