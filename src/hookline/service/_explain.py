"""Turns what pydantic found into problems that a person can repair, without the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from hookline.service._problems import Problem, nearest
from hookline.service._sources import Location, dotted, spoken
from hookline.service._tables import LATER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_WORDS: dict[str, str] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table"),
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "path_type": "must be a path",
    "too_short": "must have at least {min_length} member",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be {le:g} or less",
    **dict.fromkeys(("literal_error", "enum"), "must be {expected}"),
    "union_tag_invalid": "kind must be one of {expected_tags}",
    "union_tag_not_found": "kind is missing",
}
"""What pydantic's types of errors mean, to follow a key; names in braces are of the error's context."""


def explain(
    error: ValidationError,
    model: type[BaseModel],
    place: Callable[[Location], str],
    *,
    under: Location = (),
    tables: Mapping[str, Any] | None = None,
) -> list[Problem]:
    """Say each error by key and place.

    ``under`` is where the validated table stands, ``tables`` all tables as they were given, for the names in them.
    """
    details = error.errors(include_url=False, include_input=False)
    return [_problem(each, model, place, under, tables) for each in details]


def _problem(
    details: ErrorDetails,
    model: type[BaseModel],
    place: Callable[[Location], str],
    under: Location,
    tables: Mapping[str, Any] | None,
) -> Problem:
    inner, known = _walk(model, details["loc"])
    location = (*under, *inner)
    where, key = place(location), spoken(location, tables)
    if details["type"] == "extra_forbidden":
        return _unknown(location, where, known, tables)
    if details["type"] == "missing":
        return Problem(f"{key} is missing", where, "set it")
    message = _message(details)
    return Problem(f"{key}{' ' if message.startswith('must ') else ': '}{message}" if key else message, where)


def _message(details: ErrorDetails) -> str:
    words = _WORDS.get(details["type"])
    if words is None:
        return details["msg"].removeprefix("Value error, ")
    return words.format(**details.get("ctx", {})).replace("'", '"')


def _unknown(location: Location, where: str, known: frozenset[str], tables: Mapping[str, Any] | None) -> Problem:
    member, _, key = spoken(location, tables).rpartition(": ")
    head = f"{member}: " if member else ""
    later = LATER.get(dotted(tuple(part for part in location if isinstance(part, str))))
    if later:
        return Problem(f"{head}{key} ({later}) is not available in this version", where, "remove it")
    return Problem(f"{head}unknown key {key}", where, nearest(str(location[-1]), known))


def _walk(annotation: Any, location: Location) -> tuple[Location, frozenset[str]]:
    """Drop pydantic's own marks (tags of a union, ``[key]``) and name the keys known beside the last one."""
    path: list[str | int] = []
    known: frozenset[str] = frozenset()
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            known = frozenset(annotation.model_fields)
            path.append(part)
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field else None
        elif isinstance(part, int):
            path.append(part)
            annotation = next(iter(get_args(annotation)), None)
        elif tagged := _tagged(annotation, part):
            annotation = tagged
        elif part != "[key]":
            path.append(part)
    return tuple(path), known


def _tagged(annotation: Any, tag: str) -> type[BaseModel] | None:
    """Find the member of a union whose ``kind`` is the tag."""
    if isinstance(annotation, type):
        kind = annotation.model_fields.get("kind") if issubclass(annotation, BaseModel) else None
        return annotation if kind and tag in get_args(kind.annotation) else None
    return next((found for member in get_args(annotation) if (found := _tagged(member, tag))), None)
