"""What can be wrong with settings, said so that a person can repair it.

    Exception
    └── SettingsError         one or more problems; the service does not start with them

A problem never carries a value from the settings: it may be a secret.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what it is, where it stands, and what to do about it."""

    what: str
    where: str
    fix: str = ""

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}"
        return f"{line}; {self.fix}" if self.fix else line


class SettingsError(Exception):
    """Settings that cannot be used; ``problems`` lists all that was found, in the order of the file.

    ``str()`` is one line for each problem.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant; all of them when none is near."""
    names = {spelling.lower(): spelling for spelling in sorted(known)}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{names[close[0]]}"?'
    return f"known here: {', '.join(names.values())}" if names else "remove it"
