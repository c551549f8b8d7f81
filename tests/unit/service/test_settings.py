from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from hookline.consume import EngineSettings, RetryPolicy
from hookline.service import ListenAddress, Settings, SettingsError, load_settings
from hookline.service._moments import moment_of

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL = 'domain = "orders"\n'
BROKER = '[kafka.common]\n"bootstrap.servers" = "127.0.0.1:9092"\n'

# The file of the project's own example, less the keys that a later version brings.
EXAMPLE = """
domain = "submitqueue"
app = "my_package.wiring:hooks"
isolation = "shared"
drain_seconds = 20

[kafka.common]
"bootstrap.servers" = "127.0.0.1:9092"

[retry]
max_attempts = 5
initial_seconds = 1.0
max_seconds = 60.0
dependency_seconds = 21600

[http]
listen = "127.0.0.1:8190"

[[hooks]]
name = "ci"
kind = "webhook"
types = ["batch.*", "request.landed"]
url = "https://ci.example.com/hooks"
secret_file = "/run/secrets/ci"
timeout_seconds = 15
allow_private_addresses = false
"""


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    path = folder / "hookline.toml"
    path.write_text(text)
    return load_settings(path, environ or {})


def problems(folder: Path, text: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load(folder, text, environ)
    return str(caught.value)


def test_the_file_of_the_documentation_loads(tmp_path: Path) -> None:
    """Every key that the first page shows is read."""
    settings = load(tmp_path, EXAMPLE)
    assert settings.app == "my_package.wiring:hooks"
    assert settings.http.address == ListenAddress("127.0.0.1", 8190)
    assert settings.hooks[0].types == ["batch.*", "request.landed"]
    assert settings.hooks[0].options == {
        "url": "https://ci.example.com/hooks",
        "secret_file": "/run/secrets/ci",
        "allow_private_addresses": False,
    }
    assert settings.stage_policy(()).hooks["ci"].timeout_seconds == 15.0


def test_names_are_made_from_the_domain(tmp_path: Path) -> None:
    """Topics and groups follow the domain."""
    settings = load(tmp_path, MINIMAL)
    assert (settings.hook_topic(), settings.dead_letter_topic()) == ("orders-hook", "orders-hook_dlq")
    assert (settings.hook_group(), settings.dead_letter_group()) == ("orders-hook", "orders-hook-dlq")


def test_names_can_be_given(tmp_path: Path) -> None:
    """[topics] and [groups] replace what the domain would give, one by one."""
    settings = load(tmp_path, MINIMAL + '[topics]\nhook = "h"\n[groups]\ndead_letters = "g"\n')
    assert (settings.hook_topic(), settings.dead_letter_topic()) == ("h", "orders-hook_dlq")
    assert (settings.hook_group(), settings.dead_letter_group()) == ("orders-hook", "g")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[topics]\nhook = "x"\ndead_letters = "x"\n', "hook topic and dead-letter topic"),
        ('[topics]\nhook = "orders-hook_dlq"\n', "hook topic and dead-letter topic"),
        ('[topics]\nhook = "a.b"\ndead_letters = "a_b"\n', "hook topic and dead-letter topic"),
        ('[groups]\nhook = "x"\ndead_letters = "x"\n', "consumer group"),
        (
            '[[pagers]]\nkind = "webhook"\nurl = "http://a"\n[[pagers]]\nkind = "webhook"\nurl = "http://b"\n',
            "two pagers",
        ),
        ('[[hooks]]\nname = "a"\nkind = "log"\n[[hooks]]\nname = "a"\nkind = "noop"\n', "two hooks"),
    ],
)
def test_what_must_differ_is_refused_when_equal(tmp_path: Path, text: str, named: str) -> None:
    """Dead letters cannot feed themselves, and two readers or two hooks cannot share a name."""
    assert named in problems(tmp_path, MINIMAL + text)


@pytest.mark.parametrize("domain", ["", "with space", "a/b", "^regex", ".", "..", "x" * 241, "ö"])
def test_a_domain_that_is_no_topic_name_is_refused(tmp_path: Path, domain: str) -> None:
    """Both topics of a domain are names that Kafka accepts, and never a pattern."""
    assert "hookline.toml" in problems(tmp_path, f'domain = "{domain}"\n')


def test_the_longest_domain_is_accepted(tmp_path: Path) -> None:
    """240 characters leave room for the longest suffix."""
    assert len(load(tmp_path, f'domain = "{"x" * 240}"\n').dead_letter_topic()) == 249


@pytest.mark.parametrize("start", ['"earliest"', '"latest"', '"2026-11-30T10:00:00+01:00"', "2026-11-30T10:00:00Z"])
def test_where_a_new_group_begins_may_be_a_word_or_a_time(tmp_path: Path, start: str) -> None:
    """TOML's own times are taken too; a hook may say it for itself."""
    settings = load(tmp_path, f'{MINIMAL}start = {start}\n[[hooks]]\nname = "a"\nkind = "log"\nstart = {start}\n')
    assert settings.start is not None
    assert settings.start == settings.hooks[0].start
    assert moment_of(settings.start) in {"earliest", "latest", 1_796_029_200_000, 1_796_032_800_000}


@pytest.mark.parametrize(
    "text",
    ["start = 5\n", 'start = "now"\n', "start = 2026-11-30T10:00:00\n", 'isolation = "own"\n', "isolation = true\n"],
)
def test_a_start_or_an_isolation_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    """A time without its zone is nobody's time; a domain shares, or has a group for each hook."""
    assert text.partition(" ")[0] in problems(tmp_path, MINIMAL + text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("isolaton = 1\n", '"isolation"'),
        ("[retry]\nmax_atempts = 1\n", '"max_attempts"'),
        ("[kafka.comon]\na = 1\n", '"common"'),
        ('[[pagers]]\nkind = "webhook"\nurll = "http://x"\n', '"url"'),
        ("[[hook]]\nname = 1\n", '"hooks"'),
        ("[dead_letters]\nlog_payloads = true\n", '"log_payload"'),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(tmp_path: Path, text: str, named: str) -> None:
    """A typing error is an error, with its place and what was probably meant."""
    text = problems(tmp_path, MINIMAL + text)
    assert str(tmp_path / "hookline.toml") in text
    assert f"did you mean {named}?" in text


@pytest.mark.parametrize(
    "text",
    [
        "drain_seconds = -1",
        "drain_seconds = nan",
        "drain_seconds = true",
        "[retry]\nmax_attempts = 0",
        "[retry]\nmax_attempts = 1.5",
        "[retry]\ninitial_seconds = 0",
        "[retry]\ninitial_seconds = 5\nmax_seconds = 4",
        "[retry]\ndependency_seconds = inf",
        '[http]\nlisten = "127.0.0.1"',
        '[http]\nlisten = "127.0.0.1:65536"',
        '[http]\nlisten = "::1:80"',
        '[http]\nlisten = "http://x:80"',
        '[log]\nformat = "xml"',
        '[log]\nredact = ["("]',
        'app = "module"',
        'app = "mod:"',
        '[kafka]\noauth = "a b:c"',
        '[kafka.common]\n"bootstrap.servers" = ["a"]',
        '[[hooks]]\nname = "a"\nkind = "log"\ntypes = []',
        '[[hooks]]\nname = "a"\nkind = "log"\ntimeout_seconds = 0',
        '[[hooks]]\nkind = "log"',
        '[[pagers]]\nkind = "pagerduty"',
        '[[pagers]]\nurl = "http://x"',
        '[[pagers]]\nkind = "alertmanager"\nurl = "x"',
        '[[pagers]]\nkind = "alertmanager"\nurl = "http://x"\nlabels = { "a b" = "c" }',
        "hooks = 3",
    ],
)
def test_a_value_out_of_bounds_is_refused(tmp_path: Path, text: str) -> None:
    """No value passes that would fail later, or mean something else; it is said in words of our own."""
    said = problems(tmp_path, f"{MINIMAL}{text}\n")
    assert said.count("\n") == 0
    assert not any(words in said for words in ("Input should", "Value error", "valid "))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """One run names everything that is wrong, in file and environment."""
    environ = {"HOOKLINE_RETRY__MAX_ATEMPTS": "3", "HOOKLINE_LOG__LEVEL": "loud"}
    text = problems(tmp_path, 'drain_seconds = "x"\n[kafka.common]\na = { file = "gone" }\n', environ)
    assert len(text.splitlines()) == 5
    for named in ("HOOKLINE_RETRY__MAX_ATEMPTS", "HOOKLINE_LOG__LEVEL", "domain", "drain_seconds", "gone"):
        assert named in text


def test_what_the_kinds_of_hooks_refuse_is_told_with_the_rest(tmp_path: Path) -> None:
    """Who mends the settings need not mend them twice: an unknown kind and an option of a kind are among the problems."""
    hooks = '[[hooks]]\nname = "a"\nkind = "webhok"\n[[hooks]]\nkind = "webhook"\nurll = "http://x"\n'
    text = problems(tmp_path, MINIMAL + "drain_seconds = -1\n" + hooks)
    named = ("drain_seconds", 'did you mean "webhook"?', "hook 2: name", "hook 2: unknown key urll", "hook 2: url ")
    assert [word for word in named if word not in text] == []
    assert len(text.splitlines()) == len(named)


@pytest.mark.parametrize(("members", "called"), [('name = "ci"\n', '"ci"'), ("", "2"), ("name = 3\n", "2")])
def test_a_hook_is_called_by_its_name_or_counted_from_one(tmp_path: Path, members: str, called: str) -> None:
    """People count from one, and know their hooks by name."""
    text = f'{MINIMAL}[[hooks]]\nname = "a"\nkind = "log"\n[[hooks]]\nkind = "log"\ntimeout_seconds = 0\n{members}'
    assert f"hook {called}: timeout_seconds" in problems(tmp_path, text)


def test_without_a_file_it_is_said_that_none_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts in the wrong folder is told the folder, not only which setting is missing."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as caught:
        load_settings(None, {})
    [problem] = caught.value.problems
    assert str(tmp_path) in problem.where
    assert "--config" in problem.where
    with pytest.raises(SettingsError, match=re.escape(str(tmp_path))):
        load_settings(None, {"HOOKLINE_DOMAIN": "d"}).client_config()


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("common", "group.id"),
        ("consumer", "enable.auto.commit"),
        ("consumer", "auto.offset.reset"),
        ("producer", "acks"),
    ],
)
def test_an_option_that_hookline_owns_is_refused_by_name(tmp_path: Path, table: str, key: str) -> None:
    """The engine's own options cannot be set from outside, wherever they stand."""
    text = problems(tmp_path, f'{MINIMAL}[kafka.{table}]\n"{key}" = "x"\n')
    assert f"kafka.{table}" in text
    assert f'"{key}"' in text


def test_client_options_pass_verbatim(tmp_path: Path) -> None:
    """Clients get librdkafka's own names, and numbers and booleans in its spelling."""
    text = (
        BROKER
        + '"socket.timeout.ms" = 6000\n"log.connection.close" = false\n[kafka.consumer]\n"fetch.wait.max.ms" = 10\n'
    )
    settings = load(tmp_path, MINIMAL + text)
    options = settings.client_config().consumer("g")
    assert settings.kafka.common["socket.timeout.ms"] == "6000"
    assert options["log.connection.close"] == "false"
    assert options["fetch.wait.max.ms"] == "10"


def test_without_a_broker_there_is_no_client(tmp_path: Path) -> None:
    """A missing bootstrap address is said by its key, not found by a client that waits for ever."""
    settings = load(tmp_path, MINIMAL)
    with pytest.raises(SettingsError, match=r"bootstrap\.servers"):
        settings.client_config()
    assert settings.with_bootstrap("h:1").client_config().bootstrap == "h:1"


def test_a_client_knows_where_its_address_was_set(tmp_path: Path) -> None:
    """An address that leads nowhere can be mended where it stands; one that the program chose stands nowhere."""
    settings = load(tmp_path, MINIMAL + BROKER)
    assert settings.client_config().origin == str(tmp_path / "hookline.toml")
    variable = {"HOOKLINE_KAFKA__COMMON": '{"bootstrap.servers": "h:1"}'}
    assert load(tmp_path, MINIMAL + BROKER, variable).client_config().origin == "HOOKLINE_KAFKA__COMMON"
    assert settings.for_embedded("h:1").client_config().origin == ""


def test_another_broker_replaces_every_other_address(tmp_path: Path) -> None:
    """with_bootstrap leaves no client with an address of the file, whatever its spelling."""
    text = MINIMAL + BROKER + '"metadata.broker.list" = "a:1"\n[kafka.producer]\n"bootstrap.servers" = "b:1"\n'
    config = load(tmp_path, text).with_bootstrap("h:1").client_config()
    assert config.producer()["bootstrap.servers"] == config.consumer("g")["bootstrap.servers"] == "h:1"
    assert "metadata.broker.list" not in config.producer()


def test_settings_made_in_code_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The constructor is pure: no file, no environment."""
    monkeypatch.setenv("HOOKLINE_DRAIN_SECONDS", "3")
    assert Settings(domain="d").drain_seconds == 20.0


def test_settings_cannot_change() -> None:
    """A value that was checked stays as it was."""
    settings = Settings(domain="d")
    with pytest.raises(ValidationError):
        settings.domain = "e"
    with pytest.raises(ValidationError):
        settings.retry.max_attempts = 9


def test_defaults_are_those_of_the_engine() -> None:
    """Leaving a key out gives what the engine itself would take."""
    settings, engine, policy = Settings(domain="d"), EngineSettings(), RetryPolicy()
    assert settings.consume.model_dump() == {
        "concurrency": engine.concurrency,
        "window_records": engine.window_records,
        "window_bytes": engine.window_bytes,
        "order": engine.order,
        "dedupe_window": engine.dedupe_window,
        "recall_seconds": engine.recall_seconds,
        "revoke_seconds": engine.revoke_seconds,
        "max_crashes": engine.max_crashes,
    }
    assert settings.retry.model_dump() == {
        "max_attempts": policy.max_attempts,
        "initial_seconds": policy.initial_seconds,
        "max_seconds": policy.max_seconds,
        "dependency_seconds": policy.dependency_seconds,
    }


@pytest.mark.parametrize("text", ["domain = ", '\ufeffdomain = "a"\n[x', "a = 1\na = 2", f"a = {'[' * 5000}"])
def test_a_file_that_is_not_toml_is_one_problem(tmp_path: Path, text: str) -> None:
    """What cannot be read at all is the only thing said."""
    assert len(problems(tmp_path, text).splitlines()) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A wrong --config path is said with the path."""
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "gone.toml", {})
    assert [problem.where for problem in caught.value.problems] == [str(tmp_path / "gone.toml")]


def test_bytes_that_are_not_text_are_one_problem(tmp_path: Path) -> None:
    """A file in another encoding is refused, not guessed."""
    (tmp_path / "x.toml").write_bytes(b'domain = "\xff"')
    with pytest.raises(SettingsError):
        load_settings(tmp_path / "x.toml", {})


def test_redacted_settings_are_plain_data(tmp_path: Path) -> None:
    """What `config show` prints is JSON."""
    shown = load(tmp_path, EXAMPLE).redacted()
    assert json.loads(json.dumps(shown)) == shown
