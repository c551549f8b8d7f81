"""Reads settings from a file and the environment into one value, or says all that is wrong with them."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from hookline.service._explain import explain
from hookline.service._hooks import problems_of_kinds
from hookline.service._problems import SettingsError
from hookline.service._secrets import FileValues
from hookline.service._settings import Settings
from hookline.service._sources import EnvironmentSource, FileSource, merged, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.service._sources import Location


def load_settings(path: Path | None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read ``hookline.toml`` at ``path``, lay the environment over it, and check all of it.

    ``environ`` is ``os.environ`` unless given. A value ``{ file = "..." }`` is read from that file; relative paths start
    from the folder of the settings file. Raises `SettingsError` with every problem found, each with its key and the file or
    variable it stands in, and never with a value.
    """
    file = FileSource(Settings, path)
    environment = EnvironmentSource(Settings, os.environ if environ is None else environ)
    origins = _origins(file, environment)
    folder = path.resolve().parent if path else Path.cwd()
    home = str(path) if path else f"no hookline.toml here ({folder}) and no --config given"

    def place(location: Location) -> str:
        return place_of(origins, location) or (home if location else str(path or "settings"))

    files = FileValues(folder, place)
    values = files.resolve(merged(file(), environment()))
    problems = [*file.problems, *environment.problems, *files.problems]
    if file.problems:  # nothing was read: what is missing says nothing
        raise SettingsError(problems)
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        problems += explain(error, Settings, place, tables=values)
    if settings is None or problems:
        raise SettingsError([*problems, *problems_of_kinds(values, place, folder)])
    return settings.loaded_from(folder, origins, frozenset(files.locations), home)


def _origins(file: FileSource, environment: EnvironmentSource) -> dict[Location, str]:
    """Keep, of the file's places, those that no variable has replaced."""
    over = {_replaced(location) for location in environment.origins}
    kept = {
        location: place
        for location, place in file.origins.items()
        if not any(location[: len(key)] == key or key[: len(location)] == location for key in over)
    }
    return kept | environment.origins


def _replaced(location: Location) -> Location:
    """Name what a variable replaces whole: a list, or a single value."""
    return tuple(itertools.takewhile(lambda part: isinstance(part, str), location))
