from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.ports import free_port

from ._answers import wait_until_it_answers
from ._errors import NoKafkaError
from ._settings import HEAP, KAFKA_VERSION, Addresses, as_environment, broker_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testcontainers.core.container import DockerContainer

_PORT = 9092


@contextlib.contextmanager
def container_kafka() -> Iterator[str]:
    """Run Apache Kafka's own image by testcontainers; give its bootstrap address.

    NoKafkaError when no Docker engine answers or the image cannot be had, KafkaStartError when Kafka does not answer.
    """
    if not _engine_answers():
        raise NoKafkaError("no Docker engine answers")
    # Slow to import, and most runs have no engine; ships no types.
    import docker.errors  # type: ignore[import-untyped] # noqa: PLC0415 -- see above

    try:
        container, bootstrap = _create()
        container.start()
    except docker.errors.DockerException as error:
        raise NoKafkaError(f"no container: {error}".splitlines()[0]) from error
    try:
        wait_until_it_answers(bootstrap, lambda: _ended(container), lambda: _log(container))
        yield bootstrap
    finally:
        container.stop()


def _engine_answers() -> bool:
    """Ask in a process of its own: the Docker client leaks its socket when nobody answers, which fails the tests."""
    ask = "import docker; docker.from_env(timeout=5).ping()"
    done = subprocess.run([sys.executable, "-c", ask], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


def _create() -> tuple[DockerContainer, str]:
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 -- as above
    from testcontainers.core.docker_client import DockerClient  # noqa: PLC0415 -- as above

    host = DockerClient().host().replace("localhost", "127.0.0.1")
    bootstrap = f"{host}:{free_port()}"
    addresses = Addresses(listen=f"0.0.0.0:{_PORT}", advertised=bootstrap, controller="localhost:9093")
    container = DockerContainer(f"apache/kafka:{KAFKA_VERSION}").with_bind_ports(_PORT, int(bootstrap.split(":")[1]))
    for name, value in (as_environment(broker_settings(addresses)) | {"KAFKA_HEAP_OPTS": HEAP}).items():
        container.with_env(name, value)
    return container, bootstrap


def _ended(container: DockerContainer) -> bool:
    wrapped = container.get_wrapped_container()
    wrapped.reload()
    return bool(wrapped.status in {"exited", "dead"})


def _log(container: DockerContainer) -> str:
    out, errors = container.get_logs()
    return (out + errors).decode(errors="replace")[-4000:]
