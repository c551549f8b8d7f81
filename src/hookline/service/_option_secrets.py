"""Which options of hooks are secrets: what their kinds call so, and what stands in files that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import SecretBytes, SecretStr

from hookline.errs import Redactor
from hookline.service._plugins import KindRefusedError, offer_of
from hookline.service._secrets import names_secret_file
from hookline.service._sources import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from hookline.service._sources import Location
    from hookline.service._tables import HookTable

_MOST_BYTES: Final = 65_536
_SHORTEST_SECRET: Final = 6
_SECRETS: Final = (SecretStr, SecretBytes)


def secret_places(hooks: Sequence[HookTable]) -> frozenset[Location]:
    """List the places of options that their kind types as secrets; imports the plug-ins that these hooks use."""
    return frozenset(place for index, table in enumerate(hooks) for place in _places(index, table, _model(table.kind)))


def unjudged_places(hooks: Sequence[HookTable]) -> frozenset[Location]:
    """List the places of all options of kinds that cannot be used: nobody can say which of them are secrets."""
    unknown = ((index, table) for index, table in enumerate(hooks) if _model(table.kind) is None)
    return frozenset(place for index, table in unknown for place in leaves(table.options, ("hooks", index)))


def secret_file_texts(hooks: Sequence[HookTable], folder: Path) -> Iterator[str]:
    """Yield what stands now in the files that options like ``token_file`` name, whole and line by line."""
    for table in hooks:
        for key, value in table.options.items():
            if names_secret_file(key):
                yield from (text for path in _paths(value) for text in _texts(folder / path))


def _model(kind: str) -> type[BaseModel] | None:
    offer = offer_of(kind)
    try:
        return None if offer is None else offer.load(Redactor()).Options
    except KindRefusedError:
        return None


def _places(index: int, table: HookTable, model: type[BaseModel] | None) -> Iterator[Location]:
    for name, field in ({} if model is None else model.model_fields).items():
        for key in {name, field.alias} & table.options.keys():
            if key is not None and _is_secret(field.annotation):
                yield from leaves(table.options[key], ("hooks", index, key))


def _is_secret(annotation: Any) -> bool:
    return annotation in _SECRETS or any(map(_is_secret, get_args(annotation)))


def _paths(value: object) -> list[str]:
    return [path for path in (value if isinstance(value, list) else [value]) if isinstance(path, str) and path]


def _texts(path: Path) -> Iterator[str]:
    try:
        if not path.is_file():  # a pipe would be waited for, and be empty for the hook
            return
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except (OSError, ValueError):  # told where the hook is made or entered
        return
    yield from {part for part in (text.strip(), *map(str.strip, text.splitlines())) if len(part) >= _SHORTEST_SECRET}
