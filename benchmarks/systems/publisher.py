"""An open loop: writes every event at its time, whether anybody keeps up or not. One for all systems.

It tells when the loop begins, so that event number i was intended for `began + i / rate`, and how late it was itself.
"""

from __future__ import annotations

import time

from confluent_kafka import Producer

from benchmarks.events import make_events, uniform_subjects, zipf_subjects
from benchmarks.stats import percentile
from benchmarks.task import Task, say
from hookline.kafka import ClientConfig

_HEAD_START_SECONDS = 0.3
_FLUSH_SECONDS = 30.0


def main() -> None:
    """Write the events of the task."""
    task = Task.from_arguments()
    subjects = (zipf_subjects if task.zipf else uniform_subjects)(task.events, task.subjects)
    events = list(make_events(subjects))
    common = {"bootstrap.servers": task.bootstrap}
    producer = Producer(ClientConfig(common=common, producer={"linger.ms": 0, "log_level": 0}).producer())
    producer.list_topics(task.topic, timeout=_FLUSH_SECONDS)  # connects
    began = time.monotonic() + _HEAD_START_SECONDS
    say({"began": began})
    late = []
    for number, event in enumerate(events):
        due = began + number / task.rate
        while (wait := due - time.monotonic()) > 0:
            time.sleep(wait)
        producer.produce(task.topic, event.value, event.key, headers=list(event.headers))
        producer.poll(0)
        late.append(time.monotonic() - due)
    left = producer.flush(_FLUSH_SECONDS)
    say({"published": len(events) - left, "late_p99_ms": 1_000 * percentile(late, 99)})


if __name__ == "__main__":
    main()
