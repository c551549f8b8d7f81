from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ._errors import NoKafkaError
from ._settings import KAFKA_VERSION

_LOG4J_VERSION = "2.24.3"
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", _LOG4J_VERSION),  # without it the broker logs nothing
)


def kafka_libraries() -> Path:
    """Return the folder of Kafka's jars, fetched once by Maven and kept outside the tree; NoKafkaError if it cannot."""
    libraries = _cache() / f"kafka-{KAFKA_VERSION}"
    if libraries.is_dir():
        return libraries
    libraries.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{libraries.name}.part-", dir=libraries.parent) as part:
        _fetch(Path(part))
        _publish(Path(part) / "jars", libraries)
    return libraries


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookline"


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoKafkaError("Maven (mvn) is not installed")
    pom = folder / "pom.xml"
    pom.write_text(_pom())
    command = [
        maven,
        "-q",
        "-B",
        "-f",
        str(pom),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder / 'jars'}",
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / "jars" / f"kafka_2.13-{KAFKA_VERSION}.jar").exists():
        raise NoKafkaError(f"Maven could not fetch Apache Kafka {KAFKA_VERSION}: {_first_error(done.stdout)}")


def _publish(jars: Path, libraries: Path) -> None:
    try:
        jars.rename(libraries)
    except OSError:
        if not libraries.is_dir():  # else somebody else was first, with the same jars
            raise


def _first_error(output: str) -> str:
    return next((line for line in output.splitlines() if "ERROR" in line), "no reason given")


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in _ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>hookline</groupId><artifactId>test-kafka</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )
