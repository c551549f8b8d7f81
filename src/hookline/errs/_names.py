"""Know an exception by its name, so that errs need not import the library that defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")

# Read past a metaclass that overrides them.
_mro_of: Final[Any] = type.__dict__["__mro__"].__get__
_name_of: Final[Any] = type.__dict__["__name__"].__get__
_module_of: Final[Any] = type.__dict__["__module__"].__get__


def names(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield (top-level package, class name) of every class in the MRO of `error` that is no builtin."""
    for kind in _mro_of(type(error)):
        module = _module_of(kind)
        if module != "builtins" and isinstance(module, str):
            yield module.partition(".")[0], _name_of(kind)


def lookup(error: BaseException, table: Mapping[tuple[str, str], T]) -> T | None:
    """Return what `table` says of the first class in the MRO of `error` that it knows."""
    return next((table[name] for name in names(error) if name in table), None)


def packages(error: BaseException) -> set[str]:
    """Return the top-level packages that the classes of `error` come from."""
    return {package for package, _ in names(error)}
