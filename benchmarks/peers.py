"""The peers: where they come from, and how each is run. Installs of the harness, never of the product."""

from __future__ import annotations

import atexit
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.processes import ROOT, module_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.task import Task

__all__ = ["Peers", "prepare_peers"]

_VENV: Final = ROOT / ".venv-bench"
_LOCK: Final = ROOT / "requirements" / "bench.txt"
_NEWEST_FIRST: Final = ("3.13", "3.12")
_JAVA_SOURCE: Final = ROOT / "benchmarks" / "java" / "ParallelConsumerBench.java"
_ARTIFACTS: Final = (
    ("io.confluent.parallelconsumer", "parallel-consumer-core", "0.5.3.3"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.slf4j", "slf4j-nop", "2.0.17"),
)
_MODULES: Final = {
    "aiokafka": "aiokafka_loop",
    "arroyo": "arroyo_tasks",
    "faststream": "faststream_batches",
    "pyrallel-consumer": "pyrallel",
}
_PACKAGES: Final = ("aiokafka", "faststream", "pyrallel-consumer", "sentry-arroyo")
_JAVA_RESULTS: Final = {"parallel-consumer": 2}


class MissingPeerError(Exception):
    """A peer cannot be had here."""


@dataclass(slots=True)
class Peers:
    """What is there of the peers, and why the others are not."""

    python: str = ""
    java: tuple[str, ...] = ()
    not_run: dict[str, str] = field(default_factory=dict)

    def command(self, peer: str, task: Task) -> list[str] | None:
        """Say how to run a peer on a task; None when it is not there."""
        if peer in self.not_run:
            return None
        if peer in _MODULES:
            return module_command(_MODULES[peer], task, self.python)
        return [*self.java, *_java_arguments(task)]

    def results_of(self, peer: str) -> int:
        """Tell how many results one run of it gives: the Java peer runs twice in one JVM, cold and warm."""
        return _JAVA_RESULTS.get(peer, 1)

    def failed(self, peer: str, reason: str) -> None:
        """Leave a peer out from now on."""
        sys.stderr.write(f"{peer} failed and is left out: {reason}\n")
        self.not_run[peer] = reason.splitlines()[0]

    def versions(self) -> dict[str, str]:
        """Tell the versions of what is there, and of the Python that it runs on."""
        found: dict[str, str] = {}
        if self.java:
            found |= {artifact: version for _, artifact, version in _ARTIFACTS[:1]}
        if self.python:
            pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", _LOCK.read_text(encoding="utf-8"), re.MULTILINE))
            found |= {name: pins[name] for name in _PACKAGES} | {"python": _version_of(self.python)}
        return found


def prepare_peers() -> Peers:
    """Install the peers, once; those that cannot be had here are named in `not_run`."""
    peers = Peers()
    try:
        peers.python = _peers_python()
    except MissingPeerError as error:
        peers.not_run |= dict.fromkeys(_MODULES, str(error))
    try:
        peers.java = _java_command()
    except MissingPeerError as error:
        peers.not_run |= dict.fromkeys(_JAVA_RESULTS, str(error))
    return peers


def _peers_python() -> str:
    python = _VENV / "bin" / "python"
    stamp = _VENV / ".bench-installed"
    if stamp.exists() and stamp.stat().st_mtime >= _LOCK.stat().st_mtime:
        return str(python)
    _call([_find_python(), "-m", "venv", "--clear", str(_VENV)], "make an environment for the peers")
    install = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(_LOCK)]
    _call([str(python), *install], "install the peers")
    stamp.touch()
    return str(python)


def _find_python() -> str:
    """Find an interpreter that runs pyrallel-consumer: this one, else the newest. A pyenv shim may exist and not run."""
    major, minor, _ = platform.python_version_tuple()
    if (int(major), int(minor)) >= (3, 12):
        return sys.executable
    for version in _NEWEST_FIRST:
        for candidate in _candidates(version):
            if _runs(candidate):
                return candidate
    raise MissingPeerError("needs Python 3.12 or newer, and there is none")


def _candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True))


def _runs(python: str) -> bool:
    found = shutil.which(python)
    if found is None:
        return False
    done = subprocess.run([found, "-c", ""], capture_output=True, check=False)  # noqa: S603 - an interpreter
    return done.returncode == 0


def _version_of(python: str) -> str:
    ask = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)  # noqa: S603 - an interpreter
    return done.stdout.strip()


def _java_command() -> tuple[str, ...]:
    java, compiler = shutil.which("java"), shutil.which("javac")
    if java is None or compiler is None:
        raise MissingPeerError("needs a Java development kit, and there is none")
    jars = _jars()
    classes = Path(tempfile.mkdtemp(prefix="hookline-bench-java-"))
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    _call([compiler, "-cp", f"{jars}/*", "-d", str(classes), str(_JAVA_SOURCE)], "compile the Java peer")
    return (java, "-Xms512m", "-Xmx1g", "-cp", f"{jars}/*:{classes}", _JAVA_SOURCE.stem)


def _jars() -> Path:
    """Return the folder of the Java peer's jars, fetched once by Maven with strict checksums."""
    name = "-".join(version for _, _, version in _ARTIFACTS)
    jars = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hookline" / f"bench-{name}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingPeerError("needs Maven (mvn), and there is none")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{jars.name}.part-", dir=jars.parent) as part:
        pom = Path(part) / "pom.xml"
        pom.write_text(_pom(), encoding="utf-8")
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={part}/jars"]
        _call([maven, "-q", "-B", "-C", "-f", str(pom), *goal], "fetch the Java peer")
        (Path(part) / "jars").rename(jars)
    return jars


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in _ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>hookline</groupId><artifactId>bench-peers</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def _java_arguments(task: Task) -> list[str]:
    slots = task.slots if task.wait_seconds else 200
    wait_ms = round(1_000 * task.wait_seconds)
    return [
        task.bootstrap,
        task.topic,
        task.group,
        *(str(number) for number in (task.events, slots, wait_ms, round(task.stop_after_seconds))),
    ]


def _call(command: list[str], what: str) -> None:
    sys.stderr.write(f"{what} ...\n")
    done = subprocess.run(  # noqa: S603 - an installer or a compiler
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise MissingPeerError(f"could not {what}: {''.join(last)}")
