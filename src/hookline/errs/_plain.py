"""Somebody's values made fit for a header: JSON-shaped, redacted, clean, bounded, whatever they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Final

from hookline.errs._redact import MASK
from hookline.errs._text import TRUNCATED, window_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.errs._redact import Redactor

MAX_ITEMS: Final = 32
_MAX_NAME_BYTES: Final = 256
_MAX_TEXT_BYTES: Final = 1024
_MAX_DEPTH: Final = 4
_MAX_NODES: Final = 256
_MAX_INT_BITS: Final = 64
_QUOTES_BYTES: Final = 2
_SOME_VALUE: Final = "some-value"


class PlainWriter:
    """Makes values plain until a number of bytes is written, as JSON counts them.

    `has_cut` tells that something did not fit. What is asked of it never raises.
    """

    def __init__(self, redactor: Redactor, max_bytes: int) -> None:
        self._redact = redactor.redact
        self._left_bytes = max_bytes
        self._left_nodes = _MAX_NODES
        self.has_cut = False

    def add(self, members: dict[str, object], name: object, value: object, depth: int = _MAX_DEPTH) -> None:
        """Add a member if there is none of its name and it fits; at most 32."""
        shown = self.name(name)
        if shown in members:
            return
        if len(members) >= MAX_ITEMS or not self.takes(shown):
            self.has_cut = True
            return
        members[shown] = MASK if hides(self._redact, shown, _SOME_VALUE) else self._value(shown, value, depth)

    def name(self, value: object) -> str:
        """Return the text of a name, at most 256 bytes."""
        return window_of(_read(value, _MAX_NAME_BYTES), _MAX_NAME_BYTES, self._redact)

    def takes(self, text: str) -> bool:
        """Tell whether a text still fits, and count it."""
        count = len(json.dumps(text)) + _QUOTES_BYTES
        self._left_nodes -= 1
        if count > self._left_bytes or self._left_nodes < 0:
            self.has_cut = True
            return False
        self._left_bytes -= count
        return True

    def _value(self, name: str, value: object, depth: int) -> object:
        try:
            return self._shaped(name, value, depth)
        except BaseException as failed:  # noqa: BLE001  # somebody's value may raise anything, wherever it is touched
            return _unreadable(failed)

    def _shaped(self, name: str, value: object, depth: int) -> object:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Mapping) and depth:
            return self._mapped(value, depth - 1)
        if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes | bytearray) and depth:
            return self._listed(name, value, depth - 1)
        return self._scalar(name, value)

    def _mapped(self, value: Mapping[object, object], depth: int) -> dict[str, object]:
        members: dict[str, object] = {}
        for name, each in islice(value.items(), MAX_ITEMS + 1):
            self.add(members, name, each, depth)
        return members

    def _listed(self, name: str, values: Iterable[object], depth: int) -> list[object]:
        listed: list[object] = []
        for value in islice(values, MAX_ITEMS + 1):
            if len(listed) >= MAX_ITEMS or not self.takes(""):
                self.has_cut = True
                break
            listed.append(self._value(name, value, depth))
        return [listed[0], MASK] if self._is_secret_pair(listed) else listed

    def _is_secret_pair(self, listed: list[object]) -> bool:
        """Tell whether it is a name and its secret: headers come as pairs."""
        is_pair = len(listed) == len(("name", "value"))
        return is_pair and isinstance(listed[0], str) and hides(self._redact, listed[0], _SOME_VALUE)

    def _scalar(self, name: str, value: object) -> object:
        number = _number(value)
        if number is not None:
            text = str(number)
        else:
            text = window_of(_read(value, _MAX_TEXT_BYTES), _MAX_TEXT_BYTES, self._redact)
        if hides(self._redact, name, text):
            return MASK
        if not self.takes(text):
            return TRUNCATED
        return text if number is None else number


def hides(redact: Callable[[str], str], name: str, text: str) -> bool:
    """Tell whether a member is a secret: what hides it in `name=text` hides it when it stands alone."""
    return redact(f"{name}={text}") != f"{name}={redact(text)}"


def redacted(value: object, redact: Callable[[str], str]) -> object:
    """Return a JSON document through a redactor, names and values, for one that another program may have written."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): _redacted_member(str(name), each, redact) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(each, redact) for each in value]
    return value


def _redacted_member(name: str, value: object, redact: Callable[[str], str]) -> object:
    text = value if isinstance(value, str) else _SOME_VALUE
    is_secret = hides(redact, name, _SOME_VALUE) or hides(redact, name, text)
    return MASK if is_secret else redacted(value, redact)


def _number(value: object) -> int | float | None:
    if isinstance(value, int) and int.bit_length(value) <= _MAX_INT_BITS:
        return int.__index__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__float__(value)
    return None


def _read(value: object, max_bytes: int) -> str:
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bytes | bytearray):
            return bytes(value[: max_bytes * 4]).decode("utf-8", "backslashreplace")
        if isinstance(value, int) and int.bit_length(value) > _MAX_INT_BITS:
            return f"(an integer of {int.bit_length(value)} bits)"
        return str.__str__(str(value))
    except BaseException as failed:  # noqa: BLE001  # somebody's __str__ may raise anything, SystemExit too
        return _unreadable(failed)


def _unreadable(failed: BaseException) -> str:
    return f"(it cannot be read: {type(failed).__name__})"
