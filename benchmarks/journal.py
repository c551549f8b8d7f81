"""When each event of a run reached a hook: written by a system, read by the harness.

A line is subject, version and the machine's monotonic time in seconds, which all processes share.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Seen", "latencies_ms", "read_journal", "write_journal"]

Seen = tuple[str, int, float]


def write_journal(path: str, seen: Iterable[Seen]) -> None:
    """Write all entries at once: while a run goes on nobody touches a file."""
    lines = (f"{subject} {version} {at:.7f}\n" for subject, version, at in seen)
    Path(path).write_text("".join(lines), encoding="utf-8")


def read_journal(path: Path) -> list[Seen]:
    """Read the entries, in the order in which they were written."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(subject, int(version), float(at)) for subject, version, at in map(str.split, lines)]


def latencies_ms(seen: Iterable[Seen], intended: Mapping[tuple[str, int], float]) -> list[float]:
    """Tell how long after its intended time of publishing each event was seen, of those that `intended` names.

    From the intended time, not from the actual one: a publisher that is late must not hide a wait.
    """
    return [
        1_000 * (at - intended[subject, version]) for subject, version, at in seen if (subject, version) in intended
    ]
