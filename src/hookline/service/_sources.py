"""Where settings come from: one TOML file, and the environment over it.

Both are sources in the sense of pydantic-settings. They keep, for every value, the place it was read from, so that a
problem can name it. Unknown variables are problems here, because pydantic never sees them.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel
from pydantic_settings import PydanticBaseSettingsSource

from hookline.service._problems import Problem, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic.fields import FieldInfo
    from pydantic_settings import BaseSettings

Location = tuple[str | int, ...]

PREFIX = "HOOKLINE_"
DELIMITER = "__"
_CONFIG = "HOOKLINE_CONFIG"
_TEST_PREFIX = "HOOKLINE_TEST_"
_IN_A_LIST = 2
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
# Kubernetes adds these to every container when a Service is called hookline or hookline-something.
_SERVICE_LINK = re.compile(
    r"HOOKLINE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)


class Source(PydanticBaseSettingsSource):
    """Values by key, the place each was read from, and what was wrong on the way."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        self.values: dict[str, Any] = {}
        self.origins: dict[Location, str] = {}
        self.problems: list[Problem] = []

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one top-level key, as pydantic-settings asks for it."""
        del field
        return self.values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return all values that this source has."""
        return self.values


class FileSource(Source):
    """A TOML file, or nothing when no path is given."""

    def __init__(self, settings_cls: type[BaseSettings], path: Path | None) -> None:
        super().__init__(settings_cls)
        if path is None:
            return
        self.values = self._read(path)
        self.origins = {location: str(path) for location in leaves(self.values)}

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            self._refuse(path, f"cannot be read: {error.strerror}", "check the path given with --config")
        except UnicodeDecodeError as error:
            self._refuse(path, f"is not UTF-8 at byte {error.start}", "save it as UTF-8")
        except tomllib.TOMLDecodeError as error:
            self._refuse(path, f"is not TOML: {error}", "see https://toml.io for the form")
        except RecursionError:
            self._refuse(path, "is nested too deeply", "flatten it")
        return {}

    def _refuse(self, path: Path, what: str, fix: str) -> None:
        self.problems.append(Problem(what, str(path), fix))


class EnvironmentSource(Source):
    """Variables ``HOOKLINE_A__B``: a text for a single value, JSON for a table or a list."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        # Shorter names first, so that HOOKLINE_KAFKA__COMMON goes over HOOKLINE_KAFKA.
        for variable in sorted(environ, key=lambda name: (name.count(DELIMITER), name)):
            if _is_setting(variable):
                self._take(variable, environ[variable])

    def _take(self, variable: str, text: str) -> None:
        path = tuple(variable.removeprefix(PREFIX).lower().split(DELIMITER))
        try:
            value = _decoded(self.settings_cls, path, text)
        except _UnreadableError as error:
            self.problems.append(Problem(str(error), variable, error.fix))
            return
        overlay: Any = value
        for name in reversed(path):
            overlay = {name: overlay}
        self.values = merged(self.values, overlay)
        for location in leaves(value, path):
            self.origins[location] = variable


def _is_setting(variable: str) -> bool:
    if not variable.startswith(PREFIX) or variable.startswith(_TEST_PREFIX):
        return False
    return variable != _CONFIG and _SERVICE_LINK.fullmatch(variable) is None


class _UnreadableError(Exception):
    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


def _decoded(model: type[BaseModel], path: tuple[str, ...], text: str) -> Any:
    annotation: Any = model
    for name in path:
        fields = _fields(annotation)
        if name not in fields:
            fix = nearest(_variable(path), _variables(model)) if fields else _AS_JSON
            raise _UnreadableError("unknown variable", fix)
        annotation = fields[name].annotation
    return _json(text) if _is_compound(annotation) else text


_AS_JSON = "give the table that it belongs to as JSON, in the variable of that table"


def _variable(path: tuple[str, ...]) -> str:
    return (PREFIX + DELIMITER.join(path)).upper()


def _variables(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[str]:
    for name, field in _fields(model).items():
        yield _variable((*path, name))
        if isinstance(field.annotation, type):
            yield from _variables(field.annotation, (*path, name))


def _fields(annotation: Any) -> dict[str, FieldInfo]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.model_fields
    return {}


def _is_compound(annotation: Any) -> bool:
    if get_origin(annotation) in {dict, list, tuple}:
        return True
    if isinstance(annotation, type):
        return issubclass(annotation, (BaseModel, dict, list, tuple))
    return any(_is_compound(member) for member in get_args(annotation) if not isinstance(member, str))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _UnreadableError(
            "is not JSON", """write it as JSON, such as '{"bootstrap.servers": "host:9092"}'"""
        ) from error


def is_file_reference(value: object) -> bool:
    """Whether a value is ``{ file = "..." }``: it stands for the text of that file."""
    return isinstance(value, dict) and value.keys() == {"file"} and isinstance(value["file"], str)


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one table over another: tables are merged key by key, everything else is replaced."""
    result = dict(low)
    for key, value in high.items():
        below = result.get(key)
        result[key] = merged(below, value) if _is_table(below) and _is_table(value) else value
    return result


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and not is_file_reference(value)


def leaves(value: Any, location: Location = ()) -> Iterator[Location]:
    """Name the place of every single value within tables and lists; an empty one counts as a value."""
    if _is_table(value) and value:
        for key, member in value.items():
            yield from leaves(member, (*location, key))
    elif isinstance(value, list) and value:
        for index, member in enumerate(value):
            yield from leaves(member, (*location, index))
    else:
        yield location


def dotted(location: Location) -> str:
    """Write a place as people do: ``kafka.common."bootstrap.servers"``, ``hooks[0].url``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE.fullmatch(part) else f'"{part}"'
            text += f".{name}" if text else name
    return text


def spoken(location: Location, tables: Any = None) -> str:
    """Write a place as people say it: ``hook "ci": url``, ``pager 2: kind``; outside such lists as `dotted` does.

    ``tables`` holds the settings, or as much as is known of them: members of a list are called by their names there,
    by their number from 1 when they have none.
    """
    if len(location) < _IN_A_LIST or not isinstance(location[1], int):
        return dotted(location)
    member = f"{str(location[0]).removesuffix('s')} {_called(tables, str(location[0]), location[1])}"
    return f"{member}: {dotted(location[2:])}" if location[2:] else member


def _called(tables: Any, key: str, index: int) -> str:
    members = tables.get(key) if isinstance(tables, dict) else None
    member = members[index] if isinstance(members, list) and index < len(members) else None
    name = (member.get("name") or member.get("role")) if isinstance(member, dict) else None
    return f'"{name}"' if isinstance(name, str) and _NAME.fullmatch(name) else str(index + 1)


def place_of(origins: Mapping[Location, str], location: Location) -> str | None:
    """Name where a value was read from; for a table, where the first of its values was."""
    for length in range(len(location), 0, -1):
        if location[:length] in origins:
            return origins[location[:length]]
    below = (place for key, place in origins.items() if location and key[: len(location)] == location)
    return next(below, None)
