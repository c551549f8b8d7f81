from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hookline.contract import Event
from hookline.hooks import hooks_of
from hookline.service import (
    Problem,
    Settings,
    SettingsError,
    build_hooks,
    check_connections,
    check_settings,
    load_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KAFKA = '[kafka.common]\n"bootstrap.servers" = "127.0.0.1:1"\n'
HOOKS_MODULE = """
from hookline.hooks import Hooks

class Hook:
    def __init__(self, name):
        self.name = name
    async def handle(self, event):
        pass

class Resolver:
    def for_event(self, event):
        return [Hook(event.type)]

hooks = Hooks({"*": [Hook("from-code")]})
resolver = Resolver()
not_hooks = 5

class nested:
    hooks = hooks

def factory(settings):
    return Hooks({"*": [Hook(settings.domain)]})

def broken(settings):
    raise RuntimeError("password=c4n4ry")

def leaves(settings):
    raise SystemExit(3)

def nothing(settings):
    return None

async def awaited(settings):
    return hooks
"""


@pytest.fixture(autouse=True)
def modules_of_one_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test imported, and where from."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in {name for name in sys.modules if name.startswith("wiring")} - before:
        del sys.modules[name]


def load(folder: Path, text: str, module: str = HOOKS_MODULE) -> Settings:
    (folder / "wiring.py").write_text(module)
    (folder / "hookline.toml").write_text(f'domain = "orders"\n{text}')
    return load_settings(folder / "hookline.toml", {})


def names(settings: Settings, event_type: str) -> list[str]:
    event = Event.versioned(source="s", type=event_type, subject="a", version=1)
    return [hook.name for hook in build_hooks(settings).for_event(event)]


def problem_of(settings: Settings) -> str:
    with pytest.raises(SettingsError) as caught:
        build_hooks(settings)
    (problem,) = caught.value.problems
    return f"{problem.what}; {problem.fix}"


def test_hooks_of_the_file_get_the_types_they_want(tmp_path: Path) -> None:
    """A hook of the file runs for its types, for all when it names none, and once when several match."""
    text = '[[hooks]]\nname = "a"\nkind = "noop"\ntypes = ["batch.*", "batch.failed"]\n[[hooks]]\nname = "b"\nkind = "log"\n'
    settings = load(tmp_path, text)
    assert names(settings, "batch.failed") == ["a", "b"]
    assert names(settings, "request.landed") == ["b"]


def test_hooks_of_the_file_get_the_sources_and_conditions_they_want(tmp_path: Path) -> None:
    """A hook of the file runs for its sources, and when its condition holds; all of what it says must agree."""
    text = (
        '[[hooks]]\nname = "a"\nkind = "noop"\nsources = ["/ci/*", "s"]\nwhen = "version == 1"\n'
        '[[hooks]]\nname = "b"\nkind = "noop"\nsources = ["/ci/*"]\n'
        '[[hooks]]\nname = "c"\nkind = "noop"\ntypes = ["batch.*"]\nwhen = "version > 1"\n'
    )
    assert names(load(tmp_path, text), "batch.failed") == ["a"]


@pytest.mark.parametrize("text", ["payload.count >", "paylod.count > 1", "lower(type)", ""])
def test_a_condition_that_cannot_be_used_is_told_with_its_place(tmp_path: Path, text: str) -> None:
    """A slip in a condition is a problem of that hook's key, in the file where it stands, when settings are read."""
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f'[[hooks]]\nname = "a"\nkind = "noop"\nwhen = "{text}"\n')
    (problem,) = caught.value.problems
    assert problem.what.startswith('hook "a": when')
    assert problem.where == str(tmp_path / "hookline.toml")


@pytest.mark.parametrize(
    ("app", "expected"),
    [("hooks", "from-code"), ("nested.hooks", "from-code"), ("resolver", "x.y"), ("factory", "orders")],
)
def test_hooks_come_from_code(tmp_path: Path, app: str, expected: str) -> None:
    """`app` names a Hooks, any object with for_event, or a factory that takes the settings; its module stands beside the file."""
    assert names(load(tmp_path, f'app = "wiring:{app}"\n'), "x.y") == [expected]


def test_app_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the working directory is importable, wherever the settings file stands."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "wiring_here.py").write_text(HOOKS_MODULE)
    monkeypatch.chdir(tmp_path)
    assert names(load(elsewhere, 'app = "wiring_here:hooks"\n'), "x") == ["from-code"]


def test_hooks_of_file_and_code_run_together(tmp_path: Path) -> None:
    """`app` stands beside [[hooks]], and both are listed."""
    settings = load(tmp_path, 'app = "wiring:hooks"\n[[hooks]]\nname = "a"\nkind = "noop"\n')
    assert sorted(names(settings, "x")) == ["a", "from-code"]
    assert {hook.name for hook in hooks_of(build_hooks(settings))} == {"a", "from-code"}


def test_no_hooks_at_all_is_allowed(tmp_path: Path) -> None:
    """A domain may have no hooks yet."""
    assert names(load(tmp_path, ""), "x") == []


def test_two_hooks_of_one_name_fail(tmp_path: Path) -> None:
    """A dead letter must name one hook: file and code may not share a name."""
    assert "from-code" in problem_of(
        load(tmp_path, 'app = "wiring:hooks"\n[[hooks]]\nname = "from-code"\nkind = "noop"\n')
    )


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    """A typing error in a kind is told with the nearest kind, or all of them."""
    assert '"webhook"' in problem_of(load(tmp_path, '[[hooks]]\nname = "a"\nkind = "webhok"\n'))
    assert "audit, log, noop" in problem_of(load(tmp_path, '[[hooks]]\nname = "a"\nkind = "zzzzzz"\n'))


def test_an_option_that_the_kind_does_not_know_is_named(tmp_path: Path) -> None:
    """Keys of a hook are checked by its kind, with the nearest known one."""
    text = problem_of(load(tmp_path, '[[hooks]]\nname = "a"\nkind = "webhook"\nurl = "http://x"\nsecret_fil = "/x"\n'))
    assert 'hook "a": unknown key secret_fil' in text
    assert '"secret_file"' in text


def test_every_hook_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """One run names all of them, and the app beside them."""
    text = 'app = "gone:hooks"\n[[hooks]]\nname = "a"\nkind = "x"\n[[hooks]]\nname = "b"\nkind = "webhook"\n'
    with pytest.raises(SettingsError) as caught:
        build_hooks(load(tmp_path, text))
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ('kind = "audit"\npath = "x"', "x"),
        ('kind = "warehouse"\nurl = "sqlite:///sub/x"', "sub/x"),
        ('kind = "warehouse"\nurl = "sqlite:////x"', "/x"),
    ],
)
def test_paths_start_from_the_folder_of_the_file(tmp_path: Path, options: str, file: str) -> None:
    """A relative path among a hook's options is beside the settings file, wherever the process runs."""
    (hook,) = hooks_of(build_hooks(load(tmp_path, f'[[hooks]]\nname = "a"\n{options}\n')))
    assert hook.options.path == tmp_path / file  # type: ignore[attr-defined]  # the kinds' own attribute


@pytest.mark.parametrize(
    ("app", "named"),
    [
        ("gone_module:hooks", 'no module "gone_module"'),
        ("wiring.deep:hooks", 'no module "wiring.deep"'),
        ("wiring:gone", "gone"),
        ("wiring:not_hooks", "int"),
        ("wiring:nothing", "NoneType"),
        ("wiring:broken", "RuntimeError"),
        ("wiring:leaves", "SystemExit"),
        ("wiring:awaited", "async"),
        ("wiring:Resolver", "TypeError"),
    ],
)
def test_an_app_that_cannot_be_used_is_told(tmp_path: Path, app: str, named: str) -> None:
    """Module, attribute, result: what failed is named, and no text that may hold a secret."""
    text = problem_of(load(tmp_path, f'app = "{app}"\n'))
    assert named in text
    assert app.split(":", maxsplit=1)[0] in text
    assert "c4n4ry" not in text


@pytest.mark.parametrize(
    ("module", "named"),
    [
        ("import package_that_is_missing", 'install "package_that_is_missing"'),
        ("raise ValueError('password=c4n4ry')", "ValueError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("def (", "SyntaxError"),
        ("\nraise ValueError('no queue')", "no queue"),
        ("\nraise ValueError", "wiring.py:2"),
        ("\ndef (", "wiring.py:2"),
        ("\nimport package_that_is_missing", "wiring.py:2"),
    ],
)
def test_a_module_that_fails_to_import_is_told(tmp_path: Path, module: str, named: str) -> None:
    """A hook module that cannot be imported is a problem of the settings, with its own words and line, and no secret."""
    text = problem_of(load(tmp_path, 'app = "wiring:hooks"\n', module))
    assert named in text
    assert '"wiring"' in text
    assert "c4n4ry" not in text


MISTAKES = """
from hookline.hooks import Hooks

class Misspelt:
    name = "misspelt"
    async def handel(self, event):
        pass

class Good:
    name = "good"
    async def handle(self, event):
        pass

class Listing:
    hooks = [Misspelt()]
    def for_event(self, event):
        return self.hooks

listing = Listing()

def misspelt(settings):
    return Hooks({"*": [Misspelt()]})

def twice(settings):
    return Hooks({"*": [Good(), Good()]})
"""


@pytest.mark.parametrize(
    ("app", "module", "named"),
    [
        ("misspelt", MISTAKES, "handel"),
        ("twice", MISTAKES, "'good'"),
        ("listing", MISTAKES, "handel"),
        ("hooks", f"{MISTAKES}hooks = misspelt(None)", "handel"),
        ("hooks", f"{MISTAKES}hooks = Hooks({{'*': Good}})", "[Good()]"),
        ("hooks", f"{MISTAKES}hooks = twice(None)", "'good'"),
    ],
)
def test_a_mistake_in_a_hook_is_told_with_what_to_write(tmp_path: Path, app: str, module: str, named: str) -> None:
    """What cannot be a hook is a problem of the settings, in the words of the room that refused it, and with the line."""
    text = problem_of(load(tmp_path, f'app = "wiring:{app}"\n', module))
    assert named in text
    assert f'"wiring:{app}"' in text
    assert "wiring.py:" in text or app == "listing"


def test_what_a_factory_raises_is_told_with_its_line(tmp_path: Path) -> None:
    """A person finds the line of their own code that failed."""
    line = HOOKS_MODULE.splitlines().index('    raise RuntimeError("password=c4n4ry")') + 1
    assert f"wiring.py:{line}" in problem_of(load(tmp_path, 'app = "wiring:broken"\n'))


def test_check_finds_nothing_in_good_settings(tmp_path: Path) -> None:
    """Good settings have no problems, and checking them opens nothing."""
    text = f'app = "wiring:factory"\n{KAFKA}[[hooks]]\nname = "a"\nkind = "audit"\npath = "audit.jsonl"\n'
    assert check_settings(load(tmp_path, text)) == []
    assert not (tmp_path / "audit.jsonl").exists()


def test_check_gathers_the_problems_of_every_part(tmp_path: Path) -> None:
    """Broker, oauth, hooks and secrets of pagers are checked in one run."""
    text = '[kafka]\noauth = "wiring:gone"\n' + KAFKA
    text += '[[hooks]]\nname = "a"\nkind = "x"\n[[pagers]]\nkind = "webhook"\nurl = "http://x"\nsecret_file = "gone"\n'
    assert len(check_settings(load(tmp_path, text))) == 3
    assert len(check_settings(load(tmp_path, ""))) == 1


@pytest.mark.parametrize("name", ["wiring:not_hooks", "gone:x"])
def test_an_oauth_callable_that_cannot_be_used_is_told(tmp_path: Path, name: str) -> None:
    """The callable for tokens is imported before any client is made."""
    with pytest.raises(SettingsError, match=r"kafka\.oauth"):
        load(tmp_path, f'[kafka]\noauth = "{name}"\n{KAFKA}').client_config()


def test_the_oauth_callable_is_on_every_client(tmp_path: Path) -> None:
    """Consumer, producer and admin clients all get it."""
    config = load(tmp_path, f'[kafka]\noauth = "wiring:factory"\n{KAFKA}').client_config()
    assert all("oauth_cb" in options for options in (config.consumer("g"), config.producer(), config.admin()))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('"sesion.timeout.ms" = 6000\n', "sesion.timeout.ms"),
        ('"security.protocol" = "sasl"\n', "security.protocol"),
        ('[kafka.consumer]\n"fetch.wait.max.ms" = "soon"\n', "fetch.wait.max.ms"),
        ('[kafka.producer]\n"linger" = 5\n', "linger"),
    ],
)
def test_check_names_a_client_option_that_is_none(tmp_path: Path, text: str, named: str) -> None:
    """An option that librdkafka does not know, or whose value it refuses, is found without a broker, and told once."""
    (problem,) = check_settings(load(tmp_path, KAFKA + text))
    assert f'"{named}"' in problem.what


@pytest.mark.parametrize("option", ['"max.in.flight" = 10', '"message.send.max.retries" = 0', '"linger" = 5'])
@pytest.mark.parametrize("check", [check_settings, check_connections])
def test_check_judges_the_producer_as_it_will_be_made(
    tmp_path: Path, option: str, check: Callable[[Settings], list[Problem]]
) -> None:
    """P1: an option that does not go with a confirmed publish is found by a check, and by a start that waits for it."""
    (problem,) = check(load(tmp_path, f"{KAFKA}[kafka.producer]\n{option}\n"))
    assert "kafka.producer" in problem.what
