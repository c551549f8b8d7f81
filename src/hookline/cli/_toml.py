"""Settings written as TOML, each value with the place it came from in a comment."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ._options import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Place: TypeAlias = "tuple[str | int, ...]"

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def toml_lines(
    table: Mapping[str, Any], origin: Callable[..., str], at: Place = (), head: tuple[str, ...] = ()
) -> Iterator[str]:
    """Return the lines of a document; `origin` tells where the value at a place was read from.

    What is not set has no spelling in TOML, so it is a comment. Text that a terminal would obey is escaped.
    """
    below = {key: value for key, value in table.items() if _is_table(value) or _is_list_of_tables(value)}
    for key, value in table.items():
        if key not in below:
            yield _line(key, value, origin(*at, key))
    for key, value in below.items():
        place, name = (*at, key), ".".join((*head, _key(key)))
        if isinstance(value, list):
            for index, member in enumerate(value):
                yield f"\n[[{name}]]"
                yield from toml_lines(member, origin, (*place, index), (*head, _key(key)))
            continue
        yield f"\n[{name}]"
        yield from toml_lines(value, origin, place, (*head, _key(key)))


def _line(key: str, value: object, place: str) -> str:
    if value is None:
        return f"# {_key(key)} is not set"
    return f"{_key(key)} = {_value(value)}  # {printable(place)}"


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value) if isinstance(value, bool | int | float) else _text(str(value))


def _text(text: str) -> str:
    return '"' + "".join(map(_char, text)) + '"'


def _char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    is_surrogate = not char.encode("utf-8", "ignore")  # TOML has no spelling for a lone one
    return "\\uFFFD" if is_surrogate else f"\\U{ord(char):08x}"
