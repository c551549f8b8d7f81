from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.service import SettingsError, load_settings

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
domain = "orders"
drain_seconds = 5
[kafka.common]
"bootstrap.servers" = "file:1"
"client.id" = "file"
[[hooks]]
name = "a"
kind = "log"
[[hooks]]
name = "b"
kind = "log"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "hookline.toml"
    path.write_text(FILE)
    return path


def test_a_variable_goes_over_the_file(path: Path) -> None:
    """HOOKLINE_A__B replaces the key b of the table a, as text, number or boolean."""
    environ = {
        "HOOKLINE_DRAIN_SECONDS": "7.5",
        "HOOKLINE_RETRY__MAX_ATTEMPTS": "9",
        "HOOKLINE_DEAD_LETTERS__LOG_PAYLOAD": "false",
    }
    settings = load_settings(path, environ)
    assert (settings.drain_seconds, settings.retry.max_attempts, settings.dead_letters.log_payload) == (7.5, 9, False)
    assert settings.domain == "orders"


def test_json_is_laid_over_a_table(path: Path) -> None:
    """A table given as JSON replaces the keys it has and leaves the others."""
    settings = load_settings(path, {"HOOKLINE_KAFKA__COMMON": '{"bootstrap.servers": "env:1"}'})
    assert settings.kafka.common == {"bootstrap.servers": "env:1", "client.id": "file"}


def test_the_deeper_variable_wins(path: Path) -> None:
    """HOOKLINE_KAFKA__COMMON goes over HOOKLINE_KAFKA, in whatever order they are set."""
    environ = {
        "HOOKLINE_KAFKA__COMMON": '{"client.id": "deep"}',
        "HOOKLINE_KAFKA": '{"common": {"client.id": "flat", "a": "1"}}',
    }
    assert load_settings(path, environ).kafka.common == {"bootstrap.servers": "file:1", "client.id": "deep", "a": "1"}


def test_a_list_is_replaced_whole(path: Path) -> None:
    """Lists are not merged: hooks from the environment are all the hooks there are, and none of the file is shown."""
    settings = load_settings(path, {"HOOKLINE_HOOKS": '[{"name": "c", "kind": "noop"}]'})
    assert [hook.name for hook in settings.hooks] == ["c"]
    assert {place for key, place in settings.origins().items() if key.startswith("hooks")} == {"HOOKLINE_HOOKS"}


def test_settings_need_no_file() -> None:
    """The environment alone is enough."""
    settings = load_settings(None, {"HOOKLINE_DOMAIN": "d", "HOOKLINE_KAFKA__COMMON": '{"bootstrap.servers": "x:1"}'})
    assert settings.client_config().bootstrap == "x:1"


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("HOOKLINE_DOMIAN", "HOOKLINE_DOMAIN"),
        ("HOOKLINE_RETRY__MAX_ATEMPTS", "HOOKLINE_RETRY__MAX_ATTEMPTS"),
        ("HOOKLINE_RETRY_MAX_ATTEMPTS", "HOOKLINE_RETRY__MAX_ATTEMPTS"),
        ("HOOKLINE_CONFIGS", "HOOKLINE_CONSUME"),
        ("HOOKLINE_KAFKA__COMON", "HOOKLINE_KAFKA__COMMON"),
    ],
)
def test_an_unknown_variable_is_named_with_the_nearest_known_one(path: Path, variable: str, nearest: str) -> None:
    """A typing error in a variable's name is an error."""
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {variable: "canary"})
    (problem,) = caught.value.problems
    assert problem.where == variable
    assert f'"{nearest}"' in problem.fix
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "variable", ["HOOKLINE_KAFKA__COMMON__BOOTSTRAP_SERVERS", "HOOKLINE_KAFKA__COMMON__bootstrap.servers"]
)
def test_there_is_no_spelling_of_dots(path: Path, variable: str) -> None:
    """An option of librdkafka is not made from a variable's name: the table is given as JSON."""
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {variable: "x:1"})
    assert "JSON" in str(caught.value)


@pytest.mark.parametrize("variable", ["HOOKLINE_HOOKS__0__NAME", "HOOKLINE_DOMAIN__X"])
def test_what_is_no_table_has_no_members(path: Path, variable: str) -> None:
    """A list is given whole, and a single value has nothing below it."""
    with pytest.raises(SettingsError):
        load_settings(path, {variable: "x"})


@pytest.mark.parametrize("text", ["{", "canary", "", "[" * 100_000])
def test_json_that_is_none_is_named(path: Path, text: str) -> None:
    """A table that is not JSON is an error of its variable, without its text."""
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {"HOOKLINE_KAFKA__COMMON": text})
    (problem,) = caught.value.problems
    assert problem.where == "HOOKLINE_KAFKA__COMMON"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "variable",
    [
        "HOOKLINE_CONFIG",
        "HOOKLINE_TEST_BOOTSTRAP",
        "HOOKLINE_SERVICE_HOST",
        "HOOKLINE_SERVICE_PORT_HTTP",
        "HOOKLINE_PORT",
        "HOOKLINE_PORT_8190_TCP_ADDR",
        "HOOKLINE_ORDERS_SERVICE_HOST",
        "HOOKLINE_ORDERS_PORT_8190_TCP",
        "HOOKLINER",
        "KAFKA",
    ],
)
def test_variables_of_others_are_left_alone(path: Path, variable: str) -> None:
    """Variables of the tests, of the command line and of Kubernetes' service links are no settings."""
    assert load_settings(path, {variable: "x"}).domain == "orders"


def test_a_wrong_value_is_told_with_its_variable(path: Path) -> None:
    """A value out of bounds names the variable it came from, not the file."""
    with pytest.raises(SettingsError) as caught:
        load_settings(path, {"HOOKLINE_RETRY__MAX_ATTEMPTS": "0"})
    assert [problem.where for problem in caught.value.problems] == ["HOOKLINE_RETRY__MAX_ATTEMPTS"]


def test_every_value_tells_where_it_came_from(path: Path) -> None:
    """File, variable or default: each value names its place."""
    settings = load_settings(path, {"HOOKLINE_KAFKA__COMMON": '{"client.id": "x"}'})
    assert settings.origin("kafka", "common", "client.id") == "HOOKLINE_KAFKA__COMMON"
    assert settings.origin("kafka", "common", "bootstrap.servers") == str(path)
    assert settings.origin("retry", "max_attempts") == "default"
    assert settings.origins()['kafka.common."client.id"'] == "HOOKLINE_KAFKA__COMMON"


def test_the_real_environment_is_read_when_none_is_given(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.environ at the time of the call, not at import."""
    monkeypatch.setenv("HOOKLINE_DOMAIN", "late")
    assert load_settings(path).domain == "late"
