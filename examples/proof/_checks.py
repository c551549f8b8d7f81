"""Compares what was sent with what the hooks wrote down."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Document: TypeAlias = Mapping[str, Any]
"""An event as JSON: id, source, type, subject, payload, and perhaps more."""

_SELECT = "SELECT source, id, type, subject, payload FROM hook_events"


@dataclass(frozen=True, slots=True)
class Proof:
    """What was sent and what came of it, in numbers."""

    published: int
    audited: int
    warehouse: int
    each_once: bool
    in_order: bool
    unchanged: bool
    dead_letters: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every event stands in the audit file and in the warehouse, once, in order and as it was sent."""
        complete = 0 < self.published == self.audited == self.warehouse
        return complete and self.each_once and self.in_order and self.unchanged and self.dead_letters == 0


def check(
    sent: Sequence[Document], lines: Sequence[Document], rows: Sequence[Document], *, dead_letters: int, seconds: float
) -> Proof:
    """Hold the lines of the audit file and the rows of the warehouse against what was sent, by identity."""
    identities = Counter(map(_identity, sent))
    audited, stored = Counter(map(_identity, lines)), Counter(map(_identity, rows))
    return Proof(
        published=len(sent),
        audited=len(audited),
        warehouse=len(stored),
        each_once=identities == audited == stored,
        in_order=_in_order(sent, lines),
        unchanged=_unchanged(sent, [*lines, *rows]),
        dead_letters=dead_letters,
        seconds=round(seconds, 1),
    )


def audit_lines(path: Path) -> list[Document]:
    """Read an audit file, the first event first."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def warehouse_rows(path: Path) -> list[Document]:
    """Read the events of a warehouse, in no order."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) | {"payload": json.loads(row["payload"])} for row in database.execute(_SELECT)]


def _identity(document: Document) -> tuple[str, str]:
    return document["source"], document["id"]


def _in_order(sent: Sequence[Document], lines: Sequence[Document]) -> bool:
    """Tell whether the events of each subject were written down as they were sent; what is missing has no order."""
    places = {_identity(document): place for place, document in enumerate(sent)}
    latest: dict[str, int] = {}
    for line in lines:
        subject = line["subject"]
        place = places.get(_identity(line), -1)
        if place < latest.get(subject, -1):
            return False
        latest[subject] = place
    return True


def _unchanged(sent: Sequence[Document], written: Sequence[Document]) -> bool:
    """Tell whether everything written says what was sent, in every member that both have."""
    originals = {_identity(document): document for document in sent}
    return all(_agree(originals.get(_identity(document), {}), document) for document in written)


def _agree(original: Document, written: Document) -> bool:
    return all(written[name] == value for name, value in original.items() if name in written)
