"""What a republished record says about itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from hookline.contract._headers import Headers, read_text

__all__ = ["Origin", "Redrive", "redrive_headers", "strip_reserved"]

AGAIN: Final = "hookline-redrive-again"
HOOKS: Final = "hookline-redrive-hooks"
OPERATION: Final = "hookline-redrive-operation"
ORIGIN: Final = "hookline-origin"
REDRIVES: Final = "hookline-redrives"
RESERVED: Final = ("__dlq.", "hookline-")

_TELLING: Final = frozenset({REDRIVES, HOOKS})
_MAX_DIGITS: Final = 19


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Where a record stood. Its text is `topic/partition/offset`; a topic's name holds no slash."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """Return `topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Origin:
        """Read `topic/partition/offset`; raises ValueError on anything else."""
        parts = text.rsplit("/", 2)
        if len(parts) != len(("topic", "partition", "offset")) or not parts[0]:
            raise ValueError("an origin is topic/partition/offset")
        return cls(parts[0], _count(parts[1]), _count(parts[2]))


@dataclass(frozen=True, slots=True)
class Redrive:
    """Why this record is here a second time.

    `redrives` counts how often it was republished. `hooks` names the only hooks to run, None means all that the
    event resolves to. `operation` is the operator's operation id, `again` says to run even if the identity has
    completed since, `origin` where the record stood when it first failed.
    """

    redrives: int
    hooks: tuple[str, ...] | None
    operation: str | None
    again: bool
    origin: Origin | None

    @classmethod
    def from_headers(cls, headers: Headers) -> Redrive | None:
        """Read the headers of a republished record; None when it is none.

        Total: an unreadable list of hooks means all of them, since hooks are idempotent and silence would be loss. So
        does an empty one: to run none would settle the event as done.
        """
        for name, _ in headers:
            if name in _TELLING:
                break
        else:
            return None
        found = dict(headers)
        operation = found.get(OPERATION)
        return cls(
            redrives=max(read_count(found.get(REDRIVES)) or 0, 1),
            hooks=_read_hooks(found.get(HOOKS)),
            operation=None if operation is None else read_text(operation),
            again=found.get(AGAIN) == b"true",
            origin=read_origin(found.get(ORIGIN)),
        )


def redrive_headers(redrive: Redrive) -> Headers:
    """Write the headers of a republished record."""
    headers = [(REDRIVES, str(redrive.redrives))]
    if redrive.hooks:  # no hooks at all is read as all of them
        headers.append((HOOKS, json.dumps(list(redrive.hooks), separators=(",", ":"))))
    if redrive.operation is not None:
        headers.append((OPERATION, redrive.operation))
    if redrive.origin is not None:
        headers.append((ORIGIN, str(redrive.origin)))
    if redrive.again:
        headers.append((AGAIN, "true"))
    return tuple((name, text.encode("utf-8", "replace")) for name, text in headers)


def strip_reserved(headers: Headers) -> Headers:
    """Return the producer's own headers, in order: without `__dlq.*` and `hookline-*`, which are ours to write."""
    return tuple(header for header in headers if not header[0].startswith(RESERVED))


def read_count(data: bytes | None) -> int | None:
    """Read a non-negative decimal number; None when it is none."""
    try:
        return _count((data or b"").decode("ascii"))
    except ValueError:
        return None


def read_origin(data: bytes | None) -> Origin | None:
    """Read an origin header; None when it is missing or unreadable."""
    try:
        return None if data is None else Origin.parse(data.decode())
    except ValueError:
        return None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise ValueError("is no decimal number")
    return int(text)


def _read_hooks(data: bytes | None) -> tuple[str, ...] | None:
    try:
        names = json.loads(data or b"null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names) or None
