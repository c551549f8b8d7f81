"""Know an exception by its name, so that errs need not import the library that defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errs._walk import peek

if TYPE_CHECKING:
    from collections.abc import Collection


def named(error: BaseException, packages: Collection[str], classes: Collection[str]) -> bool:
    """Tell whether the MRO of `error` has a class of one of these names from one of these top-level packages."""
    return any(kind.__name__ in classes and _package(kind) in packages for kind in type(error).__mro__)


def from_package(error: BaseException, packages: Collection[str]) -> bool:
    """Tell whether any class in the MRO of `error` comes from one of these top-level packages."""
    return any(_package(kind) in packages for kind in type(error).__mro__)


def _package(kind: type) -> str:
    module = peek(kind, "__module__")
    return module.partition(".")[0] if isinstance(module, str) else ""
