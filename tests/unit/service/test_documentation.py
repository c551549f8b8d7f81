from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from pydantic import BaseModel

from hookline.integrations import KINDS
from hookline.kafka import OWNED_KEYS
from hookline.service import Settings, build_hooks, load_settings
from hookline.service._tables import LATER, AlertmanagerPagerTable, HookTable, WebhookPagerTable

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
PAGERS: dict[str, type[BaseModel]] = {"webhook": WebhookPagerTable, "alertmanager": AlertmanagerPagerTable}


def _section(title: str) -> str:
    return PAGE.split(f"### {title}\n")[1].split("\n### ")[0]


def _rows(text: str, cells: int) -> list[tuple[str, ...]]:
    rows = [
        tuple(cell.strip().strip("`") for cell in line.strip("| ").split(" | "))
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    return [row for row in rows if len(row) == cells]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default: Any = field.get_default(call_default_factory=True)
    return "none" if default is None else json.dumps(default)


def _keys(model: type[BaseModel], prefix: str = "") -> dict[str, str]:
    keys: dict[str, str] = {}
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            keys |= _keys(inner, f"{prefix}{name}.")
        elif name not in {"hooks", "pagers"} or prefix:
            keys[f"{prefix}{name}"] = _default(field)
    return keys


def test_every_key_is_documented_with_its_default() -> None:
    """The page has exactly the keys that the file may have, and the defaults that are taken."""
    documented = {key: default for key, default, _ in _rows(PAGE.split("## Keys")[1], 3)}
    assert documented == _keys(Settings) | _keys(HookTable, "hooks.")


def test_every_option_of_a_kind_is_documented_with_its_default() -> None:
    """The options of the kinds of hooks that ship are all on the page."""
    documented = {(kind, key): default for kind, key, default, _ in _rows(_section("Hooks"), 4)}
    assert documented == {
        (kind, key): default for kind, hook in KINDS.items() for key, default in _keys(hook.Options).items()
    }


def test_every_key_of_a_pager_is_documented_with_its_default() -> None:
    """The keys of every kind of pager are all on the page, but for the kind itself."""
    documented = {(kind, key): default for kind, key, default, _ in _rows(_section("Dead letters and pagers"), 4)}
    expected = {
        (kind, key): default for kind, table in PAGERS.items() for key, default in _keys(table).items() if key != "kind"
    }
    assert documented == expected


def test_every_kind_is_named() -> None:
    """The row of `hooks.kind` names all kinds that ship, and pagers of all kinds are described."""
    row = next(line for line in PAGE.splitlines() if line.startswith("| `hooks.kind`"))
    assert set(re.findall(r"`(\w+)`", row.split(" | ")[2])) == set(KINDS)
    assert {get_args(table.model_fields["kind"].annotation)[0] for table in PAGERS.values()} == set(PAGERS)


def test_what_is_refused_is_documented() -> None:
    """Keys of a later version, and options that hookline owns, are named on the page."""
    assert {key.removeprefix("hooks.") for key in LATER} <= set(re.findall(r"`([\w.]+)`", PAGE))
    refused = PAGE.split("Refused by name")[1].split("\n### ")[0]
    assert set(re.findall(r"`([\w.]+)`", refused)) <= set(OWNED_KEYS)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_loads(tmp_path: Path, text: str) -> None:
    """What the page shows can be copied: it loads, and its hooks can be made."""
    for reference in re.findall(r'file = "([^"]+)"', text):
        (tmp_path / reference).parent.mkdir(exist_ok=True)
        (tmp_path / reference).write_text("https://chat.example.com/hook\n")
    path = tmp_path / "hookline.toml"
    path.write_text(text if text.startswith("domain") else f'domain = "example"\n{text}')
    assert build_hooks(load_settings(path, {})) is not None


def test_the_variables_of_the_page_work() -> None:
    """Each variable that the page shows is read into the key beside it."""
    section = PAGE.split("## Where values come from")[1].split("**Secrets.**")[0].replace("   |", "|")
    rows = _rows(section, 3)
    settings = load_settings(None, {"HOOKLINE_DOMAIN": "d"} | {variable: value for _, variable, value in rows})
    assert len(rows) == 4
    assert {key: settings.origin(*key.split(".")) for key, _, _ in rows} == {key: variable for key, variable, _ in rows}
