"""`hookline hooks`: what is wired and what is wrong with it, and one run of one hook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.distributions import CHAT, install
from tests.support.domains import settings_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import CommandLine
    from tests.support.domains import Domain

WIRING = """\
import time
from hookline import Hooks
from hookline.errs import attribute, detail, Subject

class Hook:
    timeout_seconds = 0.3

    def __init__(self, name, act):
        self.name = name
        self.act = act

    async def __aenter__(self):
        print("opened")

    async def __aexit__(self, *_):
        print("closed")

    async def handle(self, event):
        await self.act(event)

async def note(event):
    print("handled", event.subject)

async def refuse(event):
    raise detail(attribute(ValueError("no such batch"), [Subject("batch", event.subject)]), {"tried": 3})

async def lose(event):
    raise ConnectionRefusedError("down")

async def hang(event):
    while True:
        try:
            import asyncio
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue

class Sleeper:
    name = "sleeper"
    timeout_seconds = 0.3

    def handle(self, event):
        time.sleep(60)

acts = {"note": note, "refuse": refuse, "lose": lose, "hang": hang}
hooks = Hooks({"batch.*": [Hook(name, act) for name, act in acts.items()], "*": [Sleeper()]})
"""
EVENT = {"source": "submitqueue", "type": "batch.failed", "subject": "batch-778", "version": 4, "payload": {"n": 1}}


@pytest.fixture
def wired(command_line: CommandLine) -> CommandLine:
    """Give a folder with hooks in code and an event in a file; no broker is there."""
    command_line.write("wiring.py", WIRING)
    command_line.write("event.json", json.dumps(EVENT))
    more = '[[hooks]]\nname = "asked"\nkind = "log"\nwhen = "payload.missing == 1"\n'
    text = settings_text("orders", "127.0.0.1:1", more)
    command_line.write("hookline.toml", f'app = "wiring:hooks"\n{text}')
    return command_line


def test_a_hook_that_works_ends_0(wired: CommandLine) -> None:
    """It is entered, run once and left; that this is real is said, and no broker is needed."""
    done = wired.run("hooks", "test", "note", "--event", "event.json")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[:3] == ["opened", "handled batch-778", "closed"]
    assert "outcome   done" in lines
    assert "real" in done.err


@pytest.mark.parametrize(
    ("hook", "verdict", "follows"),
    [
        ("refuse", "unknown", {"what": "dead_letter", "class": "permanent", "code": "hook_exception"}),
        ("asked", "unknown", {"what": "dead_letter", "class": "permanent", "code": "hook_exception"}),
    ],
)
def test_a_failure_is_told_with_what_follows(
    wired: CommandLine, hook: str, verdict: str, follows: dict[str, str]
) -> None:
    """It ends 1, with verdict and what a stage would do, as one document for scripts."""
    done = wired.run("hooks", "test", hook, "--event", "event.json", "--output", "json")
    document = json.loads(done.out[done.out.index("{") :])
    assert (done.code, document["outcome"], document["ok"]) == (1, "failed", False)
    assert (document["verdict"], document["follows"]) == (verdict, follows)


def test_what_a_failure_is_about_is_told(wired: CommandLine) -> None:
    """Subjects and details that the hook attached are shown, for people and for scripts."""
    text = wired.run("hooks", "test", "refuse", "--event", "event.json").out
    assert "about     hook:refuse, subject:batch-778, batch:batch-778" in text.splitlines()
    assert '"tried": 3' in text
    done = wired.run("hooks", "test", "refuse", "--event", "event.json", "--output", "json")
    failure = json.loads(done.out[done.out.index("{") :])["failure"]
    assert failure["subjects"] == [
        {"type": kind, "id": name}
        for kind, name in (("hook", "refuse"), ("subject", "batch-778"), ("batch", "batch-778"))
    ]
    assert failure["detail"] == {"tried": 3}


def test_what_may_pass_is_told_with_its_wait(wired: CommandLine) -> None:
    """A stage would run it again, and when is told."""
    done = wired.run("hooks", "test", "lose", "--event", "-", stdin=json.dumps(EVENT))
    assert done.code == 1
    assert any(line.startswith("follows   run again in ") for line in done.out.splitlines())


@pytest.mark.parametrize("hook", ["hang", "sleeper"])
def test_a_hook_that_cannot_be_ended_does_not_keep_the_command(wired: CommandLine, hook: str) -> None:
    """P10: a coroutine that swallows its cancellation and a thread that sleeps are told as stuck, and the command ends."""
    done = wired.run("hooks", "test", hook, "--event", "event.json", "--output", "json", seconds=40)
    assert done.code == 1
    assert json.loads(done.out[done.out.index("{") :])["outcome"] == "stuck"


def test_an_event_that_the_hook_does_not_want_is_not_run(wired: CommandLine) -> None:
    """It ends 1, since nothing was tried."""
    other = json.dumps(EVENT | {"type": "request.landed"})
    done = wired.run("hooks", "test", "note", "--event", "-", stdin=other)
    assert done.code == 1
    assert "declined" in done.out
    assert "handled" not in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("note",), 2, "--event"),
        (("note", "--event", "event.json", "--dead-letter", "0/0"), 2, "--event"),
        (("gone", "--event", "event.json"), 1, '"gone"'),
        (("note", "--event", "missing.json"), 1, "missing.json"),
        (("note", "--event", "two.json"), 1, "two.json"),
    ],
)
def test_what_cannot_be_tried_is_told(wired: CommandLine, arguments: tuple[str, ...], code: int, named: str) -> None:
    """No event or two, an unknown hook, a file that is not there: one line, and no traceback."""
    wired.write("two.json", json.dumps([EVENT, EVENT | {"version": 5}]))
    done = wired.run("hooks", "test", *arguments)
    assert done.code == code
    assert named in done.err
    assert "Traceback" not in done.err


def test_the_event_of_a_dead_letter_is_tried(command_line: CommandLine, domain: Domain) -> None:
    """P14: the event is read from Kafka, by the id of the list; offsets, topics and the letter stay as they were."""
    command_line.write("wiring.py", WIRING)
    command_line.write("hookline.toml", f'app = "wiring:hooks"\n{domain.settings()}')
    id = domain.die("batch-778", "note")
    before = (domain.broker.read(domain.hook_topic), domain.broker.read(domain.dead_topic))
    done = command_line.run("hooks", "test", "note", "--dead-letter", id)
    assert done.code == 0, done.err
    assert "handled batch-778" in done.out.splitlines()
    assert (domain.broker.read(domain.hook_topic), domain.broker.read(domain.dead_topic)) == before
    assert command_line.run("hooks", "test", "note", "--dead-letter", "0/999").code == 1
    malformed = domain.die_foreign(b"k", b"{", ())
    assert command_line.run("hooks", "test", "note", "--dead-letter", malformed).code == 1


def site(command_line: CommandLine) -> Path:
    """Give a folder whose distributions are installed for the commands."""
    folder = command_line.folder / "site"
    folder.mkdir()
    command_line.environment["PYTHONPATH"] = str(folder)
    return folder


def test_hooks_are_listed_with_where_they_come_from(wired: CommandLine) -> None:
    """Name, kind or class, version and origin, for what ships, for plug-ins and for code."""
    install(site(wired), "hookline-chat", CHAT, {"chat": "Chat"})
    text = settings_text("orders", "127.0.0.1:1", '[[hooks]]\nname = "room"\nkind = "chat"\nroom = "merge"\n')
    wired.write("hookline.toml", f'app = "wiring:hooks"\n{text}\n[[hooks]]\nname = "diary"\nkind = "log"\n')
    done = wired.run("hooks", "list", "--output", "json")
    assert done.code == 0
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert rows.keys() == {"room", "diary", "note", "refuse", "lose", "hang", "sleeper"}
    room, diary, note = rows["room"], rows["diary"], rows["note"]
    assert (room["kind"], room["origin"], room["distribution"]) == ("chat", "plugin", "hookline-chat")
    assert (room["version"], room["class"], room["error"]) == ("1.2.0", "hookline_chat.Chat", None)
    assert (diary["origin"], diary["distribution"], diary["types"]) == ("shipped", "hookline", ["*"])
    assert (note["origin"], note["kind"], note["class"], note["types"]) == ("app", None, "wiring.Hook", None)
    lines = wired.run("hooks", "list").out.splitlines()
    assert lines[0].split("\t") == ["NAME", "KIND", "VERSION", "ORIGIN", "WANTS"]
    assert "room\tchat\t1.2.0\tentry point of hookline-chat\t*" in lines


def test_kinds_that_nobody_uses_are_listed_when_asked_for(wired: CommandLine) -> None:
    """A person sees what is there to be used."""
    install(site(wired), "hookline-chat", CHAT, {"chat": "Chat"})
    plain = json.loads(wired.run("hooks", "list", "--output", "json").out)
    asked = json.loads(wired.run("hooks", "list", "--kinds", "--output", "json").out)
    assert {row["kind"] for row in asked if row["name"] is None} == {"audit", "chat", "noop", "warehouse", "webhook"}
    assert all(row["name"] for row in plain)


def test_a_broken_plug_in_is_listed_with_its_error(wired: CommandLine) -> None:
    """Nobody uses it, so the list ends 0; the hooks beside it are listed as ever."""
    install(site(wired), "hookline-chat", "import package_that_is_missing", {"chat": "Chat"})
    done = wired.run("hooks", "list", "--output", "json")
    assert done.code == 0
    (broken,) = [row for row in json.loads(done.out) if row["error"]]
    assert (broken["kind"], broken["distribution"], broken["version"]) == ("chat", "hookline-chat", "1.2.0")
    assert "package_that_is_missing" in broken["error"]
    assert wired.run("config", "check").code == 0


def test_a_hook_that_cannot_be_made_is_listed_and_ends_1(wired: CommandLine) -> None:
    """What is wrong stands in its row, and the others are listed."""
    text = settings_text("orders", "127.0.0.1:1", '[[hooks]]\nname = "a"\nkind = "chat"\n')
    wired.write("hookline.toml", f'{text}\n[[hooks]]\nname = "b"\nkind = "log"\n')
    done = wired.run("hooks", "list", "--output", "json")
    assert done.code == 1
    assert [(row["name"], bool(row["error"])) for row in json.loads(done.out)] == [("a", True), ("b", False)]


@pytest.mark.parametrize("app", ["gone:hooks", "wiring:WIRING"])
def test_an_app_that_cannot_be_used_is_listed_and_ends_1(wired: CommandLine, app: str) -> None:
    """The hooks of the file are listed beside what is wrong with the code."""
    more = '[[hooks]]\nname = "b"\nkind = "log"\n'
    wired.write("hookline.toml", f'app = "{app}"\n{settings_text("orders", "127.0.0.1:1", more)}')
    done = wired.run("hooks", "list", "--output", "json")
    assert done.code == 1
    assert [(row["name"], row["origin"], bool(row["error"])) for row in json.loads(done.out)] == [
        ("b", "shipped", False),
        (None, "app", True),
    ]
