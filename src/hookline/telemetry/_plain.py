"""Field values made fit for a log line: JSON-shaped, redacted, bounded, whatever they are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from itertools import islice
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")

Redact: TypeAlias = Callable[[str], str]

MASK: Final = "[redacted]"
CUT: Final = "… [cut]"
MAX_FIELD_CHARS: Final = 4096
_WINDOW_CHARS: Final = 65_536
_GUARD_CHARS: Final = 1024
_MAX_NAME_CHARS: Final = 256
_MAX_DEPTH: Final = 64
_MAX_NODES: Final = 100_000
_MAX_INT_BITS: Final = 4096

_SECRET_NAME: Final = re.compile(
    r"(?:.*[._-])?(?:authorization|cookie|password|passwd|passphrase|secret|token|credentials?"
    r"|(?:api|access|private|account)[._-]?key)",
    re.IGNORECASE,
)


class Plain:
    """Turn the fields of one line into plain values; one instance for each line.

    `whole` leaves long strings as they are: the event that an operator must be able to put back.
    """

    def __init__(self, redact: Redact, *, whole: bool = False) -> None:
        self._redact = redact
        self._whole = whole
        self._inside: set[int] = set()
        self._nodes = 0

    def value(self, value: object) -> object:
        """Return `value` as str, int, float, bool, None, list or dict. Never raises."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            return CUT
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, Mapping | list | tuple | AbstractSet):
            return self._container(value)
        return self.text(readable(value))

    def text(self, text: str) -> str:
        """Return `text` redacted, then cut."""
        if self._whole:
            return self._redact(text)
        window = self._redact(str.__getitem__(text, slice(0, _WINDOW_CHARS)))
        # A secret that the window cut in two may stand at its end.
        shown = window if len(text) <= _WINDOW_CHARS else window[:-_GUARD_CHARS] + CUT
        return shown if len(shown) <= MAX_FIELD_CHARS else shown[: MAX_FIELD_CHARS - len(CUT)] + CUT

    def _container(
        self, value: Mapping[object, object] | list[object] | tuple[object, ...] | AbstractSet[object]
    ) -> object:
        if id(value) in self._inside or len(self._inside) >= _MAX_DEPTH:
            return "[circular or too deep]"
        self._inside.add(id(value))
        try:
            return (
                self._mapping(value) if isinstance(value, Mapping) else [self.value(each) for each in self._few(value)]
            )
        finally:
            self._inside.discard(id(value))

    def _mapping(self, value: Mapping[object, object]) -> dict[str, object]:
        return {self.text(readable(name)): self.named(name, each) for name, each in self._few(value.items())}

    def _few(self, values: Iterable[T]) -> Iterator[T]:
        return islice(values, max(_MAX_NODES - self._nodes, 1))

    def named(self, name: object, value: object) -> object:
        """Return the value of a member: hidden when its name says that it is a secret."""
        if isinstance(name, str) and _SECRET_NAME.fullmatch(name[:_MAX_NAME_CHARS]):
            return MASK
        return self.value(value)


def readable(value: object) -> str:
    """Return the text of any value. Never raises."""
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value).decode("utf-8", "backslashreplace")
        if isinstance(value, datetime | date):
            return value.isoformat()
        return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    except BaseException as failed:  # noqa: BLE001  # somebody's __str__ may raise anything, SystemExit too; a log line must survive it
        return f"({type(value).__name__} cannot be shown: {type(failed).__name__})"


def _number(value: float) -> object:
    if isinstance(value, int):
        # Python refuses to print an integer of more than 4,300 digits.
        return int(value) if value.bit_length() <= _MAX_INT_BITS else f"(an integer of {value.bit_length()} bits)"
    return float(value) if math.isfinite(value) else str(float(value))
