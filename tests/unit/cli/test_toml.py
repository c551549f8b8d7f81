"""Settings written as TOML are read back as they were, and nothing in them is obeyed by a terminal."""

from __future__ import annotations

import tomllib

import pytest

from hookline.cli._toml import toml_lines

TABLES: dict[str, object] = {
    "domain": "d",
    "empty": [],
    "list": ["a", 1, True, {"x y": [0.5]}],
    "kafka": {"common": {"bootstrap.servers": "h:1"}, "admin": {}},
    "hooks": [{"name": "a", "headers": {"x": "y"}, "rows": [{"n": 1}]}, {"name": "b"}],
}


def text_of(tables: dict[str, object], place: str = "hookline.toml") -> str:
    return "\n".join(toml_lines(tables, lambda *_: place))


def test_tables_are_read_back() -> None:
    """Tables, lists of tables and values within lists stand where TOML finds them again."""
    assert tomllib.loads(text_of(TABLES)) == TABLES


def test_what_is_not_set_is_a_comment() -> None:
    """TOML has no null, so a key without a value is left out of the document, and still told."""
    assert tomllib.loads(text_of({"app": None, "domain": "d"})) == {"domain": "d"}
    assert "app" in text_of({"app": None})


@pytest.mark.parametrize("hostile", ['"', "\\", "\x1b[2J\x07", "a\nb = 1", "\u202e", "żółw 亀", "#"])
def test_no_text_breaks_the_document(hostile: str) -> None:
    """Quotes, line ends and controls in a key, a value or a place change neither its meaning nor the terminal."""
    text = text_of({hostile: hostile, "t": {hostile: [hostile]}}, place=hostile)
    assert tomllib.loads(text) == {hostile: hostile, "t": {hostile: [hostile]}}
    assert all(char.isprintable() or char == "\n" for char in text)


def test_a_lone_surrogate_is_replaced() -> None:
    """It has no spelling in TOML."""
    assert tomllib.loads(text_of({"a": "\ud800"})) == {"a": "\ufffd"}
