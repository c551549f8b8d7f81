"""The payload on its three ways: from a publisher, from a Struct, from foreign JSON.

A Struct's numbers are doubles. Reading, an integral one up to 2**53 is an int, so that a comment does not say
"batch 4.0"; what JSON cannot hold becomes protobuf's own JSON spelling ("NaN", "Infinity", "-Infinity"), so that
nothing behind the codec stumbles over it. Publishing, whatever would change on the way is refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from hookline.contract._errors import InvalidEventError
from hookline.contract._readonly import EMPTY, JsonValue, ReadOnlyDict, ReadOnlyList

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.struct_pb2 import ListValue, Struct, Value

__all__ = [
    "MAX_EXACT_INTEGER",
    "MAX_FOREIGN_DEPTH",
    "MAX_PAYLOAD_DEPTH",
    "check_publishable",
    "freeze",
    "freeze_foreign",
    "read_struct",
    "write_struct",
]

MAX_EXACT_INTEGER: Final = 2**53

# An object costs three (Struct, map entry, Value), an array two of the 100 levels at which protobuf's parsers stop:
# 32 objects fit, with room for an envelope; 34 no longer parse.
MAX_PAYLOAD_DEPTH: Final = 32

# Foreign JSON never becomes a Struct; its bound keeps hooks that walk or copy it clear of Python's recursion limit.
MAX_FOREIGN_DEPTH: Final = 128

_Path = tuple[str | int, ...]


# ── what a publisher hands in ────────────────────────────────────────────────────────────────────────────────────


def freeze(payload: Mapping[str, Any] | None, *, max_depth: int = MAX_FOREIGN_DEPTH) -> Mapping[str, Any]:
    """Copy a payload into read-only form; None is the empty payload.

    Takes mappings, lists, tuples and JSON's scalars, subclasses of them as their plain value. Raises
    InvalidEventError on anything else (naming the place), and on nesting deeper than `max_depth`.
    """
    if payload is None:
        return EMPTY
    if not _is_mapping(payload):
        raise InvalidEventError("payload", f"must be an object, not {payload.__class__.__name__}")
    frozen: Mapping[str, Any] = _freeze(payload, (), max_depth)
    return frozen


def _freeze(value: Any, path: _Path, levels: int) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return value if value.__class__ is str else str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if levels <= 0:
        raise InvalidEventError(_spell(path), "is nested too deep")
    if _is_mapping(value):
        return ReadOnlyDict((_key(key, path), _freeze(item, (*path, key), levels - 1)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return ReadOnlyList([_freeze(item, (*path, place), levels - 1) for place, item in enumerate(value)])
    raise InvalidEventError(_spell(path), f"{value.__class__.__name__} is no JSON value; write it as a string")


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "items"))


def _key(key: object, path: _Path) -> str:
    if not isinstance(key, str):
        raise InvalidEventError(_spell(path), f"has a key that is no string but {key.__class__.__name__}")
    return key if key.__class__ is str else str.__str__(key)


def check_publishable(payload: Mapping[str, Any]) -> None:
    """Refuse, with InvalidEventError, what would change between publisher and hook.

    That is: a number that is not finite, an integer beyond 2**53 in size, text that is no Unicode, and nesting
    deeper than MAX_PAYLOAD_DEPTH (objects and arrays counted, the payload itself the first).
    """
    _check(payload, (), MAX_PAYLOAD_DEPTH)


def _check(value: Any, path: _Path, levels: int) -> None:
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, float):
        _check_finite(value, path)
    elif isinstance(value, int):
        _check_exact(value, path)
    elif value is not None:
        _check_members(value, path, levels)


def _check_members(value: dict[str, Any] | list[Any], path: _Path, levels: int) -> None:
    if levels <= 0:
        raise InvalidEventError(_spell(path), f"is nested deeper than {MAX_PAYLOAD_DEPTH}")
    if isinstance(value, list):
        for place, item in enumerate(value):
            _check(item, (*path, place), levels - 1)
        return
    for key, item in value.items():
        _check_text(key, path)
        _check(item, (*path, key), levels - 1)


def _check_text(text: str, path: _Path) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidEventError(_spell(path), "holds a lone surrogate, which is no text") from error


def _check_finite(number: float, path: _Path) -> None:
    if not math.isfinite(number):
        raise InvalidEventError(_spell(path), "is not a finite number")


def _check_exact(number: int, path: _Path) -> None:
    if not -MAX_EXACT_INTEGER <= number <= MAX_EXACT_INTEGER:
        raise InvalidEventError(_spell(path), "is an integer beyond 2**53; write it as a string")


def _spell(path: _Path) -> str:
    shown = "payload" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path[:8])
    return shown.encode("ascii", "backslashreplace").decode()


# ── Struct ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read_struct(struct: Struct) -> ReadOnlyDict:
    """Read a Struct as a read-only dict. Total: every Struct that protobuf parsed has a reading."""
    return ReadOnlyDict([(key, _read_value(value)) for key, value in struct.fields.items()])


def _read_value(value: Value) -> JsonValue:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return _read_number(value.number_value)
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return read_struct(value.struct_value)
    if kind == "list_value":
        return ReadOnlyList([_read_value(item) for item in value.list_value.values])
    return None


def _read_number(number: float) -> int | float | str:
    if number.is_integer() and -MAX_EXACT_INTEGER <= number <= MAX_EXACT_INTEGER:
        return int(number)
    return number if math.isfinite(number) else _spell_number(number)


def _spell_number(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def write_struct(payload: Mapping[str, Any], struct: Struct) -> None:
    """Write a checked payload into an empty Struct."""
    for key, value in payload.items():
        _write_value(value, struct.fields[key])


def _write_value(value: Any, target: Value) -> None:
    if isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int | float):
        target.number_value = value
    elif isinstance(value, dict):
        target.struct_value.SetInParent()
        write_struct(value, target.struct_value)
    elif isinstance(value, list):
        _write_list(value, target.list_value)
    else:
        target.null_value = 0  # type: ignore[assignment]  # NULL_VALUE, the only value of its enum


def _write_list(values: list[Any], target: ListValue) -> None:
    target.SetInParent()
    for value in values:
        _write_value(value, target.values.add())


# ── foreign JSON ─────────────────────────────────────────────────────────────────────────────────────────────────


def freeze_foreign(value: Any, levels: int = MAX_FOREIGN_DEPTH) -> Any:
    """Freeze what json.loads returned; big integers stay, what is no Unicode text or no number is spelled out.

    Raises ValueError on nesting deeper than `levels`.
    """
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _spell_number(value)
    if not isinstance(value, dict | list):
        return value
    if levels <= 0:
        raise ValueError(f"the data is nested deeper than {MAX_FOREIGN_DEPTH}")
    if isinstance(value, list):
        return ReadOnlyList([freeze_foreign(item, levels - 1) for item in value])
    return ReadOnlyDict([(repair_text(key), freeze_foreign(item, levels - 1)) for key, item in value.items()])


def repair_text(text: str) -> str:
    """Return the text with each lone surrogate (which JSON can spell and UTF-8 cannot) as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
