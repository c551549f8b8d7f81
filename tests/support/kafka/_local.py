from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.ports import free_ports

from ._answers import wait_until_it_answers
from ._errors import KafkaStartError, NoKafkaError
from ._maven import kafka_libraries
from ._settings import HEAP, Addresses, broker_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

_OLDEST_JAVA = 17
_GUARD = Path(__file__).with_name("_guard.py")
_STARTS = 3
_SHOWN_LINES = 30
_LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %-5level %logger{1} %msg%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@contextlib.contextmanager
def local_kafka() -> Iterator[str]:
    """Run Apache Kafka from Maven Central on loopback; give its bootstrap address.

    Its folder in the system's temporary one is removed at the end, but for the log of one that failed to start.
    NoKafkaError without Java or the jars, KafkaStartError (with the log's end) when it does not answer.
    """
    java = _java()
    libraries = kafka_libraries()
    with contextlib.ExitStack() as stack:
        yield _start(stack, java, libraries)


def _start(stack: contextlib.ExitStack, java: str, libraries: Path) -> str:
    """Start on free ports, again on others when somebody took one in between."""
    for attempt in range(1, _STARTS + 1):
        with contextlib.ExitStack() as tried:
            try:
                bootstrap = tried.enter_context(_broker(java, libraries))
            except KafkaStartError as error:
                if attempt == _STARTS or "Address already in use" not in str(error):
                    raise
                continue
            stack.push(tried.pop_all())
            return bootstrap
    raise AssertionError("unreachable")


@contextlib.contextmanager
def _broker(java: str, libraries: Path) -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="hookline-kafka-"))
    port, controller = free_ports(2)
    bootstrap = f"127.0.0.1:{port}"
    command = [java, HEAP, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", f"{libraries}/*"]
    _configure(folder, Addresses(bootstrap, bootstrap, f"127.0.0.1:{controller}"))
    _format(command, folder)
    log = folder / "kafka.log"
    process = _guarded(folder, [*command, "kafka.Kafka", str(folder / "server.properties")], log)
    keep_log = False
    try:
        wait_until_it_answers(bootstrap, lambda: process.poll() is not None, lambda: _reason(log))
        yield bootstrap
    except KafkaStartError:
        keep_log = True
        raise
    finally:
        _stop(process)
        if not keep_log:
            shutil.rmtree(folder, ignore_errors=True)


def _configure(folder: Path, addresses: Addresses) -> None:
    settings = broker_settings(addresses) | {"log.dirs": str(folder / "data")}
    (folder / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (folder / "log4j2.properties").write_text(_LOGGING)


def _format(command: list[str], folder: Path) -> None:
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # As one argument: the id may begin with a dash.
    arguments = [
        "kafka.tools.StorageTool",
        "format",
        f"--cluster-id={cluster}",
        "-c",
        str(folder / "server.properties"),
    ]
    done = subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KafkaStartError(f"Kafka's storage could not be formatted in {folder}: {done.stdout}{done.stderr}")


def _guarded(folder: Path, command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start the guard and the broker in a process group of their own: Ctrl-C on a terminal does not reach them."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, str(_GUARD), str(folder / "data"), *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(log: Path) -> str:
    """Return what a log says of a failure, else its end: a broker that fails goes on for pages about closing down."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if re.search(r" (ERROR|FATAL) |Exception|Error\b", line)]
    return "\n".join([f"(from {log})", *(telling[:_SHOWN_LINES] or lines[-_SHOWN_LINES:])])


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise NoKafkaError("Java is not installed")
    version = _java_version(java)
    if version < _OLDEST_JAVA:
        raise NoKafkaError(f"Kafka needs Java {_OLDEST_JAVA} or newer, and {java} is {version or 'not one'}")
    return java


def _java_version(java: str) -> int:
    try:
        done = subprocess.run([java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else 0
