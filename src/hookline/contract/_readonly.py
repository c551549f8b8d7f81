"""Payloads that nobody can change: a dict and a list that refuse."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EMPTY", "JsonValue", "ReadOnlyDict", "ReadOnlyList"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_REFUSAL: Final = "an event is read-only, every hook sees the same one: work on copy.deepcopy(event.payload)"


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError(_REFUSAL)


class ReadOnlyDict(dict[str, Any]):
    """A dict that refuses every change with TypeError.

    Equal to, and JSON-serialisable as, the plain dict. copy.copy and copy.deepcopy give plain dicts that may be
    changed.
    """

    __slots__ = ()

    __delitem__ = __setitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        """Return a plain, shallow copy; what is nested stays read-only."""
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Return an ordinary dict that may be changed at every level."""
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[type[ReadOnlyDict], tuple[dict[str, Any]]]:
        """Pickle as a read-only dict."""
        return ReadOnlyDict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that refuses every change with TypeError; the companion of ReadOnlyDict."""

    __slots__ = ()

    __delitem__ = __setitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        """Return a plain, shallow copy; what is nested stays read-only."""
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        """Return an ordinary list that may be changed at every level."""
        return [deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[type[ReadOnlyList], tuple[list[Any]]]:
        """Pickle as a read-only list."""
        return ReadOnlyList, (list(self),)


EMPTY: Final[Mapping[str, Any]] = ReadOnlyDict()
