"""Facts about the machine and the versions in use, without its name."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

import confluent_kafka

if TYPE_CHECKING:
    from tests.support.kafka import RealKafka

__all__ = ["machine_facts"]


def machine_facts(kafka: RealKafka) -> dict[str, Any]:
    """Tell what a number depends on; the load average is that of the minute before."""
    return {
        "python": platform.python_version(),
        "confluent_kafka": confluent_kafka.__version__,
        "librdkafka": confluent_kafka.libversion()[0],
        "kafka": kafka.version,
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
    }
