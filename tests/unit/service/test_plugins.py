"""Kinds of hooks that installed distributions bring: they work like those that ship, and a broken one harms nobody else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hookline.contract import Event
from hookline.hooks import hooks_of
from hookline.service import SettingsError, build_hooks, check_settings, load_settings
from tests.support.distributions import CHAT, install

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.service import Settings

CANARY = "c4n4ry-7719"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder whose distributions are installed, as far as Python can tell, and forget what was imported from it."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    before = set(sys.modules)
    yield folder
    for name in {name for name in sys.modules if name.startswith("hookline_")} - before:
        del sys.modules[name]


def load(folder: Path, text: str) -> Settings:
    path = folder / "hookline.toml"
    path.write_text(f'domain = "orders"\n{text}')
    return load_settings(path, {})


def hook(kind: str, more: str = "", name: str = "a") -> str:
    return f'[[hooks]]\nname = "{name}"\nkind = "{kind}"\n{more}\n'


def refusal(settings: Settings) -> str:
    """Return what is wrong with the hooks, which must be one thing."""
    with pytest.raises(SettingsError) as caught:
        build_hooks(settings)
    (problem,) = caught.value.problems
    return f"{problem.what}; {problem.fix}"


def test_a_plug_ins_kind_works_like_one_that_ships(site: Path, tmp_path: Path) -> None:
    """Its options are checked by its own model, and its paths start from the folder of the settings file."""
    install(site, "hookline-chat", CHAT, {"chat": "Chat"})
    settings = load(tmp_path, hook("chat", 'types = ["batch.*"]\nroom = "merge"\ntoken_file = "token"'))
    (made,) = hooks_of(build_hooks(settings))
    assert made.name == "a"
    assert made.options.room == "merge"  # type: ignore[attr-defined]  # the plug-in's own attribute
    assert made.options.token_file == tmp_path / "token"  # type: ignore[attr-defined]  # the same
    assert build_hooks(settings).for_event(Event(id="1", source="s", type="request.landed")) == ()


def test_a_plug_in_that_nobody_uses_is_not_imported(site: Path, tmp_path: Path) -> None:
    """Foreign code runs when a hook asks for it, and not before."""
    install(site, "hookline-chat", "raise SystemExit(3)", {"chat": "Chat"})
    assert build_hooks(load(tmp_path, hook("noop"))).for_event(Event(id="1", source="s", type="t"))
    assert "hookline_chat" not in sys.modules


SHAPES = {
    "gone": ("", "Chat"),
    "import": ("import package_that_is_missing", "package_that_is_missing"),
    "raises": (f"raise ValueError('password={CANARY}')", "ValueError"),
    "leaves": ("raise SystemExit(0)", "SystemExit"),
    "syntax": ("def (", "SyntaxError"),
    "another kind": (CHAT.replace('kind = "chat"', 'kind = "talk"'), '"chat"'),
    "no options": (CHAT.replace("    Options = Options\n", ""), "Options"),
    "options of another kind": (CHAT.replace("    Options = Options\n", "    Options = dict\n"), "Options"),
    "no factory": (f"{CHAT}\nChat = type('Kind', (), {{'kind': 'chat', 'Options': Options}})()\n", "called"),
    "keys of every hook": (CHAT.replace("room: str", "types: str"), "types"),
    "looked at": (
        "class Bad:\n    @property\n    def kind(self):\n        raise RuntimeError('no')\nChat = Bad()\n",
        "RuntimeError",
    ),
}


@pytest.mark.parametrize(("module", "named"), SHAPES.values(), ids=SHAPES)
def test_a_broken_plug_in_stops_only_who_uses_it(site: Path, tmp_path: Path, module: str, named: str) -> None:
    """Another plug-in and what ships work beside it; who uses it is told of which distribution it is, and what is wrong."""
    install(site, "hookline-chat", module, {"chat": "Chat"})
    install(site, "hookline-talk", CHAT.replace('"chat"', '"talk"'), {"talk": "Chat"})
    others = hook("talk", 'room = "x"', "talk") + hook("noop", name="nothing")
    assert len(hooks_of(build_hooks(load(tmp_path, others)))) == 2
    text = refusal(load(tmp_path, others + hook("chat", 'room = "x"')))
    assert 'hook "a"' in text
    assert "hookline-chat" in text
    assert named in text
    assert CANARY not in text


def test_a_kind_that_ships_cannot_be_replaced(site: Path, tmp_path: Path) -> None:
    """A plug-in that calls its kind like one of ours changes nothing."""
    install(site, "hookline-chat", CHAT.replace('"chat"', '"noop"'), {"noop": "Chat"})
    (made,) = hooks_of(build_hooks(load(tmp_path, hook("noop"))))
    assert type(made).__module__ == "hookline.integrations._noop"


def test_a_kind_that_two_offer_is_nobodys(site: Path, tmp_path: Path) -> None:
    """Which of them would be taken must not depend on the order of folders: it is refused, and both are named."""
    for name in ("hookline-chat", "hookline-gossip"):
        install(site, name, CHAT, {"chat": "Chat"})
    text = refusal(load(tmp_path, hook("chat", 'room = "x"')))
    assert "hookline-chat" in text
    assert "hookline-gossip" in text


def test_an_unknown_kind_names_those_of_plug_ins_too(site: Path, tmp_path: Path) -> None:
    """A slip in the name of a plug-in's kind is told with the nearest."""
    install(site, "hookline-chat", CHAT, {"chat": "Chat"})
    assert '"chat"' in refusal(load(tmp_path, hook("chta", 'room = "x"')))


@pytest.mark.parametrize(
    ("options", "named"), [("", "room is missing"), ("room = 7", "room"), ('room = "x"\nroon = "y"', '"room"')]
)
def test_options_are_refused_by_key(site: Path, tmp_path: Path, options: str, named: str) -> None:
    """What is missing, of the wrong type or unknown is told, also when the plug-in's model would ignore what it does not know."""
    install(site, "hookline-chat", CHAT, {"chat": "Chat"})
    assert named in refusal(load(tmp_path, hook("chat", options)))


FACTORIES = {
    "raises": ("self.options = options", f"raise RuntimeError('token={CANARY}')"),
    "leaves": ("self.options = options", "raise SystemExit(1)"),
    "another name": ("self.name = name", "self.name = 'other'"),
    "no hook": ("async def handle", "async def handled"),
}


@pytest.mark.parametrize(("line", "instead"), FACTORIES.values(), ids=FACTORIES)
def test_what_a_plug_in_makes_must_be_the_hook(site: Path, tmp_path: Path, line: str, instead: str) -> None:
    """A factory that raises, makes no hook, or one of another name is a problem of that hook, told without secrets."""
    install(site, "hookline-chat", CHAT.replace(line, instead), {"chat": "Chat"})
    text = refusal(load(tmp_path, hook("chat", 'room = "x"')))
    assert 'hook "a"' in text
    assert CANARY not in text


def test_a_model_that_breaks_is_told(site: Path, tmp_path: Path) -> None:
    """A validator may raise whatever it likes: it is a problem of the hook, whose text keeps secrets."""
    validator = "\n    @classmethod\n    def model_validate(cls, _):\n        raise RuntimeError('no network')\n"
    install(site, "hookline-chat", CHAT.replace("    room: str\n", f"    room: str\n{validator}"), {"chat": "Chat"})
    assert "RuntimeError" in refusal(load(tmp_path, hook("chat", 'room = "x"')))


def test_secrets_of_a_plug_in_are_masked(site: Path, tmp_path: Path) -> None:
    """P15: what its model calls secret, and what stands in the files that it names, is never shown."""
    install(site, "hookline-chat", CHAT, {"chat": "Chat"})
    (tmp_path / "token").write_text(f"{CANARY}-from-file\n")
    settings = load(tmp_path, hook("chat", f'room = "merge"\ntoken_file = "token"\npin = "{CANARY}-pin"'))
    shown = str(settings.redacted())
    assert "merge" in shown
    assert CANARY not in shown
    for secret in (f"{CANARY}-from-file", f"{CANARY}-pin"):
        assert CANARY not in settings.redactor().redact(f"refused: {secret}")


def test_options_of_a_kind_that_cannot_be_judged_are_masked(site: Path, tmp_path: Path) -> None:
    """P15: without its model nobody can say which of its options are secrets."""
    install(site, "hookline-chat", "import package_that_is_missing", {"chat": "Chat"})
    assert CANARY not in str(load(tmp_path, hook("chat", f'pin = "{CANARY}"')).redacted())


def test_a_file_that_a_plug_in_would_miss_is_told_by_the_check(site: Path, tmp_path: Path) -> None:
    """`config check` looks for the files that options name, as it does for ours."""
    install(site, "hookline-chat", CHAT, {"chat": "Chat"})
    text = '[kafka.common]\n"bootstrap.servers" = "127.0.0.1:1"\n' + hook("chat", 'room = "x"\ntoken_file = "token"')
    assert [problem.what for problem in check_settings(load(tmp_path, text)) if "token_file" in problem.what]
    (tmp_path / "token").write_text("a secret\n")
    assert check_settings(load(tmp_path, text)) == []
