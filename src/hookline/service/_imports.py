"""Finds the objects that settings name as ``package.module:attribute``."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from hookline.errs import line_with_cause, location
from hookline.service._problems import Problem, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hookline.errs import Redactor


def import_object(path: str, *, key: str, where: str, folders: Sequence[Path], redactor: Redactor) -> object:
    """Import what ``path`` names; modules in ``folders`` are found after those that are installed.

    Raises `SettingsError` that names the module, what failed and what to do; texts of errors go through ``redactor``.
    Whatever the module raises while it is imported counts as failed, also `SystemExit`.
    """
    module_name, _, attributes = path.partition(":")
    _make_importable(folders)
    found: object = _import_module(module_name, key, where, redactor)
    for name in attributes.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            what = f'{key}: module "{module_name}" has no "{attributes}"'
            raise SettingsError([Problem(what, where, "check the name after the colon")]) from None
    return found


def _make_importable(folders: Sequence[Path]) -> None:
    for folder in folders:
        resolved = str(folder.resolve())
        if resolved not in sys.path:
            sys.path.append(resolved)


def _import_module(name: str, key: str, where: str, redactor: Redactor) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        what = f'{key}: module "{name}" cannot be imported: there is no module "{missing}"'
        if missing in _parents(name):
            raise SettingsError([Problem(what, where, "install it, or run where it stands")]) from error
        raise SettingsError([Problem(f"{what}{_at(error, redactor)}", where, f'install "{missing}"')]) from error
    except (Exception, SystemExit) as error:
        what = f'{key}: module "{name}" failed while it was imported: {told(error, redactor)}'
        raise SettingsError([Problem(what, where)]) from error


def _parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[: index + 1]) for index in range(len(parts))}


def told(error: BaseException, redactor: Redactor) -> str:
    """Say on one line what somebody's code raised, its text without secrets, and where in that code."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {redactor.redact(error.msg)}, at {error.filename}:{error.lineno}"
    return f"{line_with_cause(error, redactor=redactor)}{_at(error, redactor)}"


def _at(error: BaseException, redactor: Redactor) -> str:
    place = location(error, redactor=redactor)
    return f", at {place}" if place else ""
