"""Finds the objects that settings name as ``package.module:attribute``."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from hookline.service._problems import Problem, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def import_object(path: str, *, key: str, where: str, folders: Sequence[Path]) -> object:
    """Import what ``path`` names; modules in ``folders`` are found after those that are installed.

    Raises `SettingsError` that names the module, what failed and what to do. Whatever the module raises while it is
    imported counts as failed, also `SystemExit`.
    """
    module_name, _, attributes = path.partition(":")
    _make_importable(folders)
    found: object = _import_module(module_name, key, where)
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


def _import_module(name: str, key: str, where: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        what = f'{key}: module "{name}" cannot be imported: there is no module "{missing}"'
        fix = "install it, or run where it stands" if missing in _parents(name) else f'install "{missing}"'
        raise SettingsError([Problem(what, where, fix)]) from error
    except (Exception, SystemExit) as error:
        # The text of the error may hold a secret that the module was reading: its type and place are enough.
        what = f'{key}: module "{name}" failed while it was imported: {type(error).__name__}{raised_at(error)}'
        raise SettingsError([Problem(what, where, "import it by hand to see all of the error")]) from error


def _parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[: index + 1]) for index in range(len(parts))}


def raised_at(error: BaseException) -> str:
    """Name the file and line that raised, to follow the error's type; empty when nothing is known."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    return f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last else ""
