"""`hookline config` and `hookline hooks`: what is in force, what is wrong with it, which hooks are wired."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.support.domains import settings_text

if TYPE_CHECKING:
    from tests.support.command_line import CommandLine

HIDDEN = "swordfish-7719"

# The example of "names that stay", but for its keys of a later version.
PINNED = """\
domain = "submitqueue"                     # topics submitqueue-hook, submitqueue-hook_dlq; group submitqueue-hook
app = "my_package.wiring:hooks"            # optional: hooks from code, beside or instead of [[hooks]]
isolation = "shared"
drain_seconds = 20

[kafka.common]
"bootstrap.servers" = "127.0.0.1:9092"

[retry]                                    # each hook may have its own
max_attempts = 5
initial_seconds = 1.0
max_seconds = 60.0
dependency_seconds = 21600                 # failures of a dependency are bounded by time, not by attempts

[http]
listen = "127.0.0.1:8190"                  # /livez /readyz /metrics

[[hooks]]
name = "ci"
kind = "webhook"
types = ["batch.*", "request.landed"]
url = "https://ci.example.com/hooks"
secret_file = "{secret}"
timeout_seconds = 15
concurrency = 16
allow_private_addresses = false            # true to reach loopback and private networks
"""

WIRING = """\
from hookline import Event, Hooks

class CommentOnFailure:
    name = "comment"
    async def handle(self, event: Event) -> None: ...

hooks = Hooks({"batch.*": [CommentOnFailure()]})
"""


def pin(command_line: CommandLine) -> None:
    """Write the pinned settings with the code and the secret that they name."""
    secret = command_line.write("ci-secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    (command_line.folder / "my_package").mkdir()
    command_line.write("my_package/__init__.py", "")
    command_line.write("my_package/wiring.py", WIRING)
    command_line.write("hookline.toml", PINNED.format(secret=secret))


def test_the_pinned_settings_load(command_line: CommandLine) -> None:
    """The file that people write today is read, its hooks imported and its secret found."""
    pin(command_line)
    done = command_line.run("config", "check")
    assert (done.code, done.out) == (0, "ok\n")


def test_the_hooks_of_file_and_code_are_listed(command_line: CommandLine) -> None:
    """Both are wired beside each other; those of the file with the types that they want."""
    pin(command_line)
    hooks = {hook["name"]: hook for hook in command_line.run("hooks", "list", "--output", "json").json()}
    assert hooks.keys() == {"ci", "comment"}
    assert hooks["ci"]["types"] == ["batch.*", "request.landed"]
    assert hooks["comment"]["types"] is None
    text = command_line.run("hooks", "list").out
    assert [line.split("\t")[0] for line in text.splitlines()] == ["NAME", "ci", "comment"]


def test_shown_settings_say_where_they_come_from(command_line: CommandLine) -> None:
    """A variable lies over the file, each value names its place, and the whole is TOML of what JSON has."""
    pin(command_line)
    over = {"HOOKLINE_RETRY__MAX_ATTEMPTS": "9"}
    shown = command_line.run("config", "show", environment=over)
    assert shown.code == 0
    assert tomllib.loads(shown.out) == _set(
        command_line.run("config", "show", "--output", "json", environment=over).json()
    )
    lines = shown.out.splitlines()
    assert 'domain = "submitqueue"  # hookline.toml' in lines
    assert "max_attempts = 9  # HOOKLINE_RETRY__MAX_ATTEMPTS" in lines
    assert "max_seconds = 60.0  # hookline.toml" in lines
    assert 'level = "info"  # default' in lines


def _set(value: object) -> object:
    """Leave out what is null: it has no spelling in TOML."""
    if isinstance(value, dict):
        return {key: _set(member) for key, member in value.items() if member is not None}
    return [_set(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("output", ["text", "json"])
def test_secrets_are_masked(command_line: CommandLine, output: str) -> None:
    """P15: passwords, what came from files, credentials in URLs and headers that carry them are not shown."""
    command_line.write("user", HIDDEN)
    command_line.write(
        "hookline.toml",
        f"""\
domain = "submitqueue"
[kafka.common]
"bootstrap.servers" = "127.0.0.1:9092"
"sasl.username" = {{ file = "user" }}
"sasl.password" = "{HIDDEN}"
[[hooks]]
name = "ci"
kind = "webhook"
url = "https://kim:{HIDDEN}@ci.example.com/?token={HIDDEN}"
headers = {{ authorization = "Bearer {HIDDEN}" }}
[[hooks]]
name = "warehouse"
kind = "warehouse"
url = "sqlite:///warehouse.db"
[[pagers]]
kind = "webhook"
url = "https://page.example.com/?key={HIDDEN}"
""",
    )
    done = command_line.run("config", "show", "--output", output)
    assert done.code == 0
    assert HIDDEN not in done.out + done.err
    assert "127.0.0.1:9092" in done.out
    if output == "text":
        assert tomllib.loads(done.out)["kafka"]["common"]["bootstrap.servers"] == "127.0.0.1:9092"
    else:
        assert json.loads(done.out)["domain"] == "submitqueue"


def problem_of(command_line: CommandLine, more: str, head: str = "") -> str:
    """Check settings that must be wrong, and return what is said."""
    command_line.write("hookline.toml", head + settings_text("submitqueue", "127.0.0.1:9092", more))
    done = command_line.run("config", "check")
    assert done.code == 1
    assert "Traceback" not in done.err
    return done.out + done.err


def test_every_problem_is_told_at_once(command_line: CommandLine) -> None:
    """Each with the file, the key, and what was probably meant: nobody mends a file one error at a time."""
    text = problem_of(
        command_line, '[retry]\nmax_atempts = 3\n[log]\nlevel = "loud"\n[kafka.consumer]\n"group.id" = "mine"'
    )
    assert all(line.count("hookline.toml: ") == 1 for line in text.splitlines())
    assert '"max_attempts"' in text
    assert all(key in text for key in ("retry.max_atempts", "log.level", "group.id"))


def test_an_option_that_librdkafka_does_not_know_is_named(command_line: CommandLine) -> None:
    """Options go through verbatim, and the client that takes them judges them before the service starts."""
    assert "no.such.option" in problem_of(command_line, '[kafka.consumer]\n"no.such.option" = "1"')


@pytest.mark.parametrize(
    ("app", "named"),
    [
        ("nowhere.wiring:hooks", "nowhere"),
        ("wiring:hoooks", "hoooks"),
        ("leaves:hooks", "leaves.py"),
    ],
)
def test_code_that_cannot_be_imported_is_named(command_line: CommandLine, app: str, named: str) -> None:
    """The module or name is told, also when it raises while it is imported; nothing ends without a word."""
    command_line.write("wiring.py", WIRING)
    command_line.write("leaves.py", "import sys\nsys.exit(0)\n")
    text = problem_of(command_line, "", head=f'app = "{app}"\n')
    assert "app" in text
    assert named in text


@pytest.mark.parametrize(
    ("hook", "named"),
    [
        ('kind = "webhok"\nurl = "http://x"', "webhok"),
        ('kind = "webhook"\nurl = "http://x"\nsecret_file = "nowhere"', "nowhere"),
    ],
)
def test_a_hook_that_cannot_be_made_is_named(command_line: CommandLine, hook: str, named: str) -> None:
    """A hook's kind, its options and the files of its secrets are looked at, and the hook is not entered."""
    assert named in problem_of(command_line, f'[[hooks]]\nname = "ci"\n{hook}')


def test_problems_are_one_document_for_scripts(command_line: CommandLine) -> None:
    """With --output json standard output is JSON alone, and the code still says that something is wrong."""
    command_line.write("hookline.toml", settings_text("d", "127.0.0.1:9092", '[[hooks]]\nname = "ci"\nkind = "x"'))
    done = command_line.run("config", "check", "--output", "json")
    (problem,) = done.json()["problems"]
    assert done.code == 1
    assert problem.keys() == {"what", "where", "fix"}


def test_what_a_held_hook_would_stop_is_said(command_line: CommandLine) -> None:
    """P9: hooks of one group stop each other once the intake is full of events that wait for one; apart they do not."""
    together = (
        'domain = "orders"\n[kafka.common]\n"bootstrap.servers" = "127.0.0.1:9"\n[consume]\nwindow_records = 123\n'
    )
    hooks = "".join(f'[[hooks]]\nname = "{name}"\nkind = "noop"\n' for name in ("a", "b"))
    command_line.write("hookline.toml", together + hooks)
    done = command_line.run("config", "check")
    assert (done.code, done.out) == (0, "ok\n")
    assert done.err.startswith("note: a, b share")
    assert "123 events" in done.err
    command_line.write("hookline.toml", together + hooks + 'isolation = "own"\nstart = "latest"\n')
    assert command_line.run("config", "check").err == ""
