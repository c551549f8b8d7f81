"""A Kafka for tests: a real one, found or started, and the embedded one.

`real_kafka()` gives, in this order, the broker named by HOOKLINE_TEST_BOOTSTRAP, one in a container when a Docker
engine answers, or a local Apache Kafka from Maven Central; whatever it started ends with the `with` block, and also
when the process dies. As a command, `python -m tests.support.kafka -- COMMAND ...` runs COMMAND with
HOOKLINE_TEST_BOOTSTRAP set to such a broker; without a command it prints the address and stays until Ctrl-C.

    KafkaError
    |-- NoKafkaError      none of the three can be had here: skip, or fail in CI
    `-- KafkaStartError   one was chosen and did not answer: always a failure
"""

from ._broker import BrokerKind, TestBroker
from ._errors import KafkaError, KafkaStartError, NoKafkaError
from ._find import RealKafka, real_kafka
from ._settings import KAFKA_VERSION
from ._topics import StoredRecord, Topics

__all__ = [
    "KAFKA_VERSION",
    "BrokerKind",
    "KafkaError",
    "KafkaStartError",
    "NoKafkaError",
    "RealKafka",
    "StoredRecord",
    "TestBroker",
    "Topics",
    "real_kafka",
]
