"""Labels: which there are, what they may say, and how many values each may take.

Label values may come from events, so from anyone: each label is either a closed set of words or a bounded number of
values, and what does not fit is "other". No id, key, offset or error text is a label.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER: Final = "other"
UNKNOWN: Final = "unknown"
MAX_VALUE_CHARS: Final = 128

# Controls, surrogates and line ends: one such value would make every later scrape fail, or be unreadable.
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Label:
    """Describe a label: closed when it lists its `values`, else open to `limit` values beside the declared ones."""

    name: str
    values: tuple[str, ...] = ()
    limit: int = 0

    @property
    def closed(self) -> bool:
        """Whether every value is known beforehand."""
        return bool(self.values)


class Bound:
    """Fold any value into the bounded set of one label. Safe from any thread.

    The first values that come are kept until the limit is reached; declared ones are always kept.
    """

    def __init__(self, label: Label) -> None:
        self.label = label
        self._kept: dict[str, str] = {value: value for value in label.values}
        self._declared: set[str] = set(label.values)
        self._room = label.limit
        self._lock = threading.Lock()

    def fold(self, value: object) -> str:
        """Return the label value for `value`: itself, cleaned, or "other"."""
        text = value if type(value) is str else str(value if value is not None else "")
        kept = self._kept.get(text)
        return kept if kept is not None else self._admit(clean_value(text))

    def declare(self, values: Iterable[str]) -> None:
        """Keep `values` for good, whatever events bring."""
        for value in map(clean_value, values):
            self._declared.add(value)
            self._kept[value] = value

    def known(self) -> tuple[str, ...]:
        """Return the values that are certain beforehand, sorted."""
        return tuple(sorted(self._declared))

    def _admit(self, value: str) -> str:
        with self._lock:
            if value in self._kept:
                return value
            if self._room <= 0:
                return OTHER
            self._room -= 1
            self._kept[value] = value
            return value


def clean_value(text: str) -> str:
    """Return `text` as a label value: printable, at most 128 characters, never empty."""
    return _UNPRINTABLE.sub("\ufffd", text[:MAX_VALUE_CHARS]).strip() or UNKNOWN
