from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookline.service import Settings, SettingsError, check_settings, load_settings

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "c4n4ry"


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    path = folder / "hookline.toml"
    path.write_text(f'domain = "orders"\n{text}')
    return load_settings(path, environ or {})


@pytest.mark.parametrize(
    ("content", "value"),
    [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), (" a ", " a "), ("", ""), ("a\r", "a\r")],
)
def test_a_value_is_the_text_of_its_file(tmp_path: Path, content: str, value: str) -> None:
    """One newline at the end is the editor's, everything else is the value."""
    (tmp_path / "secret").write_bytes(content.encode())
    settings = load(tmp_path, '[kafka.common]\n"sasl.password" = { file = "secret" }\n')
    assert settings.kafka.common["sasl.password"] == value


def test_any_value_may_stand_in_a_file(tmp_path: Path) -> None:
    """References work for every key, within lists, for numbers, and in the environment."""
    for name, text in {"domain": "d", "attempts": "7", "url": "http://x/", "id": "e"}.items():
        (tmp_path / name).write_text(f"{text}\n")
    text = '[retry]\nmax_attempts = { file = "attempts" }\n[[hooks]]\nname = "a"\nkind = "webhook"\nurl = { file = "url" }\n'
    environ = {"HOOKLINE_KAFKA__COMMON": '{"client.id": {"file": "id"}}'}
    settings = load(tmp_path, text, environ)
    assert settings.retry.max_attempts == 7
    assert settings.hooks[0].options == {"url": "http://x/"}
    assert settings.kafka.common == {"client.id": "e"}


def test_a_reference_that_is_replaced_is_not_read(tmp_path: Path) -> None:
    """A value from the environment stands in for a file that is not mounted, and the other way round."""
    (tmp_path / "there").write_text("t")
    text = '[kafka.common]\na = { file = "gone" }\nb = "text"\n'
    environ = {"HOOKLINE_KAFKA__COMMON": '{"a": "env", "b": {"file": "there"}}'}
    assert load(tmp_path, text, environ).kafka.common == {"a": "env", "b": "t"}


@pytest.mark.parametrize("name", ["gone", "folder", "loop", "binary", "a\\u0000b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    """Key, place and path of a secret that is missing, or that the system does not let be read, are told."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f'[kafka.common]\n"sasl.password" = {{ file = "{name}" }}\n')
    (problem,) = caught.value.problems
    assert 'kafka.common."sasl.password"' in problem.what
    assert problem.where == str(tmp_path / "hookline.toml")
    assert str(tmp_path) in problem.what


SECRETS = f"""
app = "x:y"
[kafka.common]
"bootstrap.servers" = "h:1"
"sasl.mechanism" = "PLAIN"
"sasl.username" = "{CANARY}1"
"sasl.password" = "{CANARY}2"
"sasl.oauthbearer.client.secret" = "{CANARY}3"
"ssl.key.password" = "{CANARY}4"
"ssl.keystore.password" = "{CANARY}5"
"ssl.key.pem" = "{CANARY}6"
"ssl.ca.location" = "/etc/ca.pem"
[[hooks]]
name = "a"
kind = "webhook"
url = "https://user:{CANARY}7@example.com/hook?token={CANARY}8"
secret = "{CANARY}9"
headers = {{ Authorization = "Bearer {CANARY}10", X-Other = "{CANARY}11" }}
dsn = "postgres://u:{CANARY}12@h/db"
note = "password={CANARY}13"
[[pagers]]
kind = "webhook"
url = "https://hooks.slack.com/services/T0/B0/{CANARY}14AbCdEfGhIjKlMnOp"
secret_file = "/run/secrets/pager"
headers = {{ x-key = "{CANARY}15" }}
[log]
redact = [{{ file = "pattern" }}]
"""


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """P15: neither the redacted settings nor any repr holds a credential, by key, by URL or from a file."""
    (tmp_path / "pattern").write_text(f"{CANARY}16")
    settings = load(tmp_path, SECRETS)
    everything = [json.dumps(settings.redacted()), repr(settings), str(settings), str(settings.origins())]
    everything += [repr(part) for part in (settings.kafka, settings.hooks, settings.pagers, settings.log)]
    assert [text for text in everything if CANARY in text] == []


def test_what_is_no_secret_is_shown(tmp_path: Path) -> None:
    """Masking leaves what an operator needs: hosts, names of files, the mechanism."""
    (tmp_path / "pattern").write_text("x")
    shown = json.dumps(load(tmp_path, SECRETS).redacted())
    for text in ("h:1", "PLAIN", "/etc/ca.pem", "example.com/hook", "/run/secrets/pager", "hooks.slack.com", "X-Other"):
        assert text in shown


def test_secrets_are_told_to_a_redactor(tmp_path: Path) -> None:
    """P15: whoever masks logs can ask for the texts that must not appear, those within URLs too."""
    (tmp_path / "pattern").write_text(f"{CANARY}16")
    texts = load(tmp_path, SECRETS).secret_texts()
    assert {f"{CANARY}{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16)} <= texts
    assert f"{CANARY}14AbCdEfGhIjKlMnOp" in texts


def test_words_are_not_told_to_a_redactor(tmp_path: Path) -> None:
    """A user name, or a secret of a few letters, would mask half of every log line."""
    text = '[kafka.common]\n"sasl.username" = "orders"\n"sasl.password" = "hook"\n'
    assert load(tmp_path, text).secret_texts() == frozenset()


BAD = f"""
drain_seconds = "{CANARY}"
isolation = "{CANARY}"
app = "{CANARY}"
"{"k" * 3}" = "{CANARY}"
[kafka]
oauth = "{CANARY}"
[kafka.common]
"sasl.password" = ["{CANARY}"]
[http]
listen = "{CANARY}"
[retry]
max_attempts = "{CANARY}"
[log]
level = "{CANARY}"
redact = ["({CANARY}"]
[[hooks]]
name = "{CANARY} "
kind = "log"
types = "{CANARY}"
[[pagers]]
kind = "webhook"
url = "{CANARY}"
secret_file = 5
"""


def test_no_error_holds_a_value(tmp_path: Path) -> None:
    """P15: whatever is wrong with a value, the value is not repeated, neither by us nor by pydantic."""
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, BAD)
    assert len(caught.value.problems) == 14
    assert CANARY not in str(caught.value)
    assert CANARY not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_secrets_of_a_pager_are_read_by_line(tmp_path: Path) -> None:
    """A file holds one secret a line, the newest first, and several files follow each other."""
    (tmp_path / "one").write_text("whsec_YWFh\n\n YmJi \n")
    (tmp_path / "two").write_text("Y2Nj")
    settings = load(tmp_path, '[[pagers]]\nkind = "webhook"\nurl = "http://x"\nsecret_file = ["one", "two"]\n')
    assert settings.pager_keys(0) == (b"aaa", b"bbb", b"ccc")


@pytest.mark.parametrize("name", ["gone", "empty", "binary"])
def test_a_pager_without_its_secret_is_named(tmp_path: Path, name: str) -> None:
    """A secret file that is missing, empty or no text is an error, never an unsigned page."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff")
    settings = load(tmp_path, f'[[pagers]]\nkind = "webhook"\nurl = "http://x"\nsecret_file = "{name}"\n')
    with pytest.raises(SettingsError, match=r'pager "webhook": secret_file'):
        settings.pager_keys(0)


def test_a_pagers_secret_that_cannot_sign_is_named_by_key_and_file(tmp_path: Path) -> None:
    """P15: a line that is no secret is an error that names key and file, found by a check too, and is not repeated."""
    (tmp_path / "pager").write_text(f"whsec_YWFh\n{CANARY} !\n")
    text = '[[pagers]]\nkind = "webhook"\nurl = "http://x"\nsecret_file = "pager"\n'
    settings = load(tmp_path, f'[kafka.common]\n"bootstrap.servers" = "x:9092"\n{text}')
    [problem] = check_settings(settings)
    assert 'pager "webhook": secret_file' in problem.what
    assert str(tmp_path / "pager") in problem.what
    assert CANARY not in str(problem)
