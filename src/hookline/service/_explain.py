"""Turns what pydantic found into problems that a person can repair, without the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from hookline.service._problems import Problem, nearest
from hookline.service._sources import Location, dotted
from hookline.service._tables import LATER

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


def explain(
    error: ValidationError, model: type[BaseModel], place: Callable[[Location], str], *, under: Location = ()
) -> list[Problem]:
    """Say each error by key and place; ``under`` is where the validated table stands."""
    return [_problem(details, model, place, under) for details in error.errors(include_url=False, include_input=False)]


def _problem(
    details: ErrorDetails, model: type[BaseModel], place: Callable[[Location], str], under: Location
) -> Problem:
    inner, known = _walk(model, details["loc"])
    location = (*under, *inner)
    where, key = place(location), dotted(location)
    if details["type"] == "extra_forbidden":
        return _unknown(location, where, known)
    if details["type"] == "missing":
        return Problem(f"{key} is missing", where, "set it")
    if details["type"] == "union_tag_not_found":
        return Problem(f"{key}.kind is missing", where, "set it")
    message = details["msg"].removeprefix("Value error, ")
    return Problem(f"{key}: {message}" if key else message, where)


def _unknown(location: Location, where: str, known: frozenset[str]) -> Problem:
    key = dotted(location)
    later = LATER.get(dotted(tuple(part for part in location if isinstance(part, str))))
    if later:
        return Problem(f"{key} ({later}) is not available in this version", where, "remove it")
    return Problem(f"unknown key {key}", where, nearest(str(location[-1]), known))


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
