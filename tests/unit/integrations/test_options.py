from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from hookline import integrations
from hookline.integrations import (
    KINDS,
    AuditOptions,
    LogOptions,
    NoopOptions,
    NotOpenError,
    WarehouseOptions,
    WebhookOptions,
)
from tests.unit.integrations.events import failed_batch
from tests.unit.integrations.kinds import build

SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()
CANARY = "c4n4ryT0ken"
MINIMAL: dict[str, dict[str, object]] = {
    "noop": {},
    "log": {},
    "audit": {"path": "audit.jsonl"},
    "warehouse": {"url": "sqlite:///events.db"},
    "webhook": {"url": "https://ci.example.com/hooks"},
}


def test_all_names_are_exported() -> None:
    """The front door names every public class, and what it names exists."""
    assert all(hasattr(integrations, name) for name in integrations.__all__)
    assert set(KINDS) == set(MINIMAL)


@pytest.mark.parametrize("kind", sorted(MINIMAL))
def test_every_kind_is_built_from_its_keys(kind: str) -> None:
    """A kind and its keys make a hook of that name, and opening nothing."""
    hook = build(kind, "mine", MINIMAL[kind])
    assert (hook.name, hook.kind) == ("mine", kind)
    assert issubclass(hook.Options, BaseModel)


@pytest.mark.parametrize("kind", sorted(MINIMAL))
def test_an_unknown_key_is_refused(kind: str) -> None:
    """A key that the kind does not know is an error, never ignored."""
    with pytest.raises(ValidationError) as caught:
        build(kind, "mine", MINIMAL[kind] | {"surprise": 1})
    assert [error["loc"] for error in caught.value.errors()] == [("surprise",)]


@pytest.mark.parametrize("model", [NoopOptions, LogOptions, AuditOptions, WarehouseOptions, WebhookOptions])
def test_every_option_is_described(model: type[BaseModel]) -> None:
    """Each key says what it is for."""
    assert all(field.description for field in model.model_fields.values())


@pytest.mark.parametrize("kind", ["audit", "warehouse", "webhook"])
async def test_a_hook_that_is_not_open_does_not_pretend(kind: str) -> None:
    """P1: handle() outside the hook's context raises, so that the event is not taken as done."""
    with pytest.raises(NotOpenError):
        await build(kind, "mine", MINIMAL[kind]).handle(failed_batch())


async def test_a_noop_does_nothing() -> None:
    """A noop takes every event."""
    await build("noop", "mine", {}).handle(failed_batch())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ci.example.com/hooks",
        "ftp://ci.example.com/",
        "file:///etc/passwd",
        "http://",
        "https:///hooks",
        "https://ci.example.com:0/",
        "https://ci.example.com:99999/",
        "https://ci.example.com/a b",
        "https://ci.example.com/\r\nHost: x",
        "https://ci.example.com\\@10.0.0.1/",
        "https://[::1/",
        "\thttps://ci.example.com/",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    """Only an absolute http or https URL that one parser reads is accepted."""
    with pytest.raises(ValidationError):
        WebhookOptions(url=url)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-type",
        "Content-Length",
        "TRANSFER-ENCODING",
        "Connection",
        "Proxy-Authorization",
        "webhook-id",
        "te",
        "a b",
        "a:b",
        "",
    ],
)
def test_headers_of_ours_and_of_http_cannot_be_set(name: str) -> None:
    """Framing, Host, proxy and signature headers are not for configuration; nor is what is no header name."""
    with pytest.raises(ValidationError):
        WebhookOptions.model_validate({"url": "https://ci.example.com", "headers": {name: "x"}})


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\x00b", " a", "", "snow ☃", "a\x85b"])
def test_header_values_cannot_inject(value: str) -> None:
    """CR, LF, NUL, other controls and what is not Latin-1 are refused."""
    with pytest.raises(ValidationError):
        WebhookOptions.model_validate({"url": "https://ci.example.com", "headers": {"x-team": value}})


def test_secrets_come_from_one_place() -> None:
    """Secret and secret_file together are refused; one or several of either are taken."""
    with pytest.raises(ValidationError):
        WebhookOptions.model_validate({"url": "https://x.example", "secret": SECRET, "secret_file": "f"})
    one = WebhookOptions.model_validate({"url": "https://x.example", "secret": SECRET})
    several = WebhookOptions.model_validate({"url": "https://x.example", "secret_file": ["new", "old"]})
    assert len(one.secret) == 1
    assert several.secret_file == (Path("new"), Path("old"))


@pytest.mark.parametrize(
    "options",
    [
        {"url": f"ftp://user:{CANARY}@x.example/?token={CANARY}"},
        {"url": "https://x.example", "secret": f"{CANARY}!"},
        {"url": "https://x.example", "headers": {"authorization": f"Bearer {CANARY}\n"}},
        {"url": f"https://user:{CANARY}@x.example/?token={CANARY}", "surprise": CANARY},
        {"url": f"https://user:{CANARY}@[x/?token={CANARY}"},
    ],
)
def test_a_refused_webhook_does_not_show_its_secrets(options: dict[str, object]) -> None:
    """P15: no error about the options holds a credential, a token or a secret."""
    with pytest.raises(ValidationError) as caught:
        WebhookOptions.model_validate(options)
    assert CANARY not in str(caught.value)


def test_options_show_no_secrets() -> None:
    """P15: neither repr nor str of the options holds a credential."""
    options = WebhookOptions.model_validate(
        {
            "url": f"https://user:{CANARY}@x.example/?token={CANARY}",
            "secret": f"whsec_{CANARY}a",
            "headers": {"authorization": f"Bearer {CANARY}"},
        }
    )
    assert CANARY not in repr(options) + str(options)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{CANARY}@db/x",
        "events.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://host/x.db",
        "sqlite:///x.db?mode=ro",
    ],
)
def test_other_databases_are_refused_without_their_password(url: str) -> None:
    """P15: only a SQLite file is accepted, and the refusal does not show the URL."""
    with pytest.raises(ValidationError) as caught:
        WarehouseOptions(url=url)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(("url", "path"), [("sqlite:///a/b.db", "a/b.db"), ("sqlite:////var/b.db", "/var/b.db")])
def test_a_database_path_is_relative_or_absolute(url: str, path: str) -> None:
    """Three slashes begin a relative path, four an absolute one."""
    assert WarehouseOptions(url=url).path == Path(path)


@pytest.mark.parametrize("table", ["", "a b", 'x"; DROP TABLE y; --', "1st", "é", "x" * 64, "events\n"])
def test_a_table_is_an_identifier(table: str) -> None:
    """A table's name cannot carry SQL."""
    with pytest.raises(ValidationError):
        WarehouseOptions(url="sqlite:///x.db", table=table)
