"""The hook package of examples/plugin, installed with pip as its users would: it is listed, it runs, and its own tests pass."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.domains import settings_text
from tests.support.receiver import Answer, Receiver

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

PACKAGE = Path(__file__).parents[2] / "examples" / "plugin"
EVENT = {"source": "submitqueue", "type": "batch.failed", "subject": "batch-778", "version": 4, "payload": {}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a folder, from a copy and without a network: nothing is left in the tree."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    how = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--no-compile")
    command = [sys.executable, "-m", "pip", "install", *how, "--target", str(folder / "site"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def installed(site: Path, command_line: CommandLine) -> CommandLine:
    """Give commands that find the installed package."""
    command_line.environment["PYTHONPATH"] = str(site)
    return command_line


def wire(command_line: CommandLine, url: str) -> None:
    """Write settings with a hook of the package's kind, and an event."""
    command_line.write("token", "a-token-of-the-room\n")
    keys = f'url = "{url}"\nroom = "merge"\ntoken_file = "token"\n'
    hook = f'[[hooks]]\nname = "merge-room"\nkind = "chat"\ntypes = ["batch.failed"]\n{keys}'
    command_line.write("hookline.toml", settings_text("orders", "127.0.0.1:1", hook))
    command_line.write("event.json", json.dumps(EVENT))


def test_the_installed_package_is_listed(installed: CommandLine) -> None:
    """Its kind is there to be used, and a hook of it shows the distribution and the version."""
    wire(installed, "http://127.0.0.1:1")
    listed = json.loads(installed.run("hooks", "list", "--output", "json").out)
    assert [(row["name"], row["kind"], row["distribution"], row["version"], row["error"]) for row in listed] == [
        ("merge-room", "chat", "hookline-chat", "1.2.0", None)
    ]
    assert installed.run("config", "check").out == "ok\n"


def test_a_hook_of_the_installed_package_runs(installed: CommandLine) -> None:
    """An event becomes a request with the secret of the file, and the receiver's answer decides."""
    with Receiver() as receiver:
        wire(installed, receiver.url)
        done = installed.run("hooks", "test", "merge-room", "--event", "event.json")
        assert done.code == 0, done.err
        [request] = receiver.requests
        assert (request.method, request.headers["authorization"]) == ("PUT", "Bearer a-token-of-the-room")
        receiver.default = Answer(status=503)
        assert installed.run("hooks", "test", "merge-room", "--event", "event.json").code == 1


def test_a_stage_runs_hooks_of_the_installed_package(installed: CommandLine) -> None:
    """What is published reaches the hook in a running stage, which asks its condition first."""
    with Receiver() as receiver:
        wire(installed, receiver.url)
        with (installed.folder / "hookline.toml").open("a") as settings:
            settings.write('when = "version > 3"\n')
        stage = installed.start("run", "--embedded")
        [servers] = re.findall(
            r"^to join: export HOOKLINE_KAFKA__COMMON='(.*)'$", stage.wait_for("started"), re.MULTILINE
        )
        events = json.dumps([EVENT | {"version": 3}, EVENT])
        join = {"HOOKLINE_KAFKA__COMMON": servers}
        assert installed.run("publish", "--file", "-", stdin=events, environment=join).code == 0
        [request] = receiver.wait_for(1)
        assert request.path.endswith("%2F4")
        assert stage.stop() == 0
        assert len(receiver.requests) == 1


def test_the_packages_own_tests_pass(site: Path) -> None:
    """They use `hookline.testing`, the package as it is installed, and no broker."""
    source = site.parent / "source"
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
