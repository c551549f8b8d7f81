"""Dead letters grouped into incidents: who is told, when, and which letter may be let go.

The rule that keeps a letter from being hidden: it may be acknowledged when its number was told by an accepted page, or while another letter, itself not
acknowledged, answers for the incident's next update. So of the letters that join between two pages only the first is held back; after a crash it is delivered
again and pages at once.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MANY = "(many)"


@dataclass(frozen=True, slots=True)
class IncidentKey:
    """What makes dead letters one incident: the same source, type, failing hooks and code."""

    source: str
    type: str
    hooks: tuple[str, ...]
    code: str

    def digest(self, domain: str) -> str:
        """Name the incident in 16 hex digits, the same in every process and after every restart."""
        parts = (domain, self.source, self.type, self.code, *self.hooks)
        joined = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_EVERYTHING_ELSE = IncidentKey(source=MANY, type=MANY, hooks=(), code=MANY)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What an incident learns from one dead letter; ``position`` is where the letter lies in the dead-letter topic."""

    key: IncidentKey
    position: str
    failed_at_ms: int | None
    letter_class: str
    host: str | None = None
    http_status: int | None = None
    exception: str | None = None
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a pager has accepted of an incident: the count it was told, and when (monotonic seconds)."""

    count: int
    at: float


@dataclass(slots=True)
class Incident:
    """One cause, counted. Belongs to one event loop; ``lock`` is held by the task that decides about a letter or pages.

    ``told`` holds each pager's last accepted page. ``answering`` is the position of the unacknowledged letter that answers for the next update, and
    ``answering_number`` the highest number that it answers for: its own, or that of a letter let go on its account.
    """

    key: IncidentKey
    serial: int
    sample: Sighting
    seen_at: float
    opened_at_ms: int
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    count: int = 0
    first_failed_at_ms: int | None = None
    last_failed_at_ms: int | None = None
    told: dict[str, Told] = field(default_factory=dict)
    answering: str | None = None
    answering_number: int = 0

    def add(self, sighting: Sighting) -> int:
        """Count a letter in and return its number."""
        self.count += 1
        if sighting.failed_at_ms is not None:
            self.first_failed_at_ms = _least(self.first_failed_at_ms, sighting.failed_at_ms)
            self.last_failed_at_ms = _greatest(self.last_failed_at_ms, sighting.failed_at_ms)
        return self.count

    def owes(self, position: str, number: int) -> int:
        """Return the number that must be told before this letter may go: its own, or the highest it answers for."""
        return max(number, self.answering_number) if self.answering == position else number

    def untold(self, number: int, pagers: Iterable[str]) -> list[str]:
        """Return the pagers that have not been told of the letter with this number."""
        return [pager for pager in pagers if pager not in self.told or self.told[pager].count < number]


class Step(Enum):
    """What a letter does next."""

    RELEASE = "release"
    PAGE = "page"
    WAIT = "wait"


class IncidentBook:
    """The incidents of one reconciler. Belongs to one event loop; does no I/O and has no clock: the caller gives ``now`` in monotonic seconds.

    ``window_seconds``: a letter joins an incident whose last letter is no older than this; a later one opens it anew and pages at once.
    ``update_seconds``: the least time between two pages of one incident. ``limit`` bounds the incidents at one time; letters of further causes share one last
    incident, so that event types taken from thin air do not become a page each.
    """

    def __init__(self, *, window_seconds: float = 300.0, update_seconds: float = 60.0, limit: int = 500) -> None:
        self.window_seconds = window_seconds
        self.update_seconds = update_seconds
        self._limit = limit
        self._incidents: OrderedDict[IncidentKey, Incident] = OrderedDict()
        self._serials = count(1)

    def __len__(self) -> int:
        return len(self._incidents)

    def __iter__(self) -> Iterator[Incident]:
        return iter(tuple(self._incidents.values()))

    def join(self, sighting: Sighting, now: float, now_ms: int) -> tuple[Incident, int]:
        """Count a letter into its incident, opening it if need be, and return the letter's number there.

        A letter that answers for the incident and is delivered again keeps its number.
        """
        self.forget_old(now)
        incident = self._open_incident(sighting, now, now_ms)
        self._touch(incident, now)
        if incident.answering == sighting.position:
            return incident, incident.answering_number
        return incident, incident.add(sighting)

    def rejoin(self, serial: int, sighting: Sighting, now: float) -> Incident | None:
        """Return the incident a waiting letter was counted into; None when it is no longer remembered."""
        for key in (sighting.key, _EVERYTHING_ELSE):
            incident = self._incidents.get(key)
            if incident is not None and incident.serial == serial:
                self._touch(incident, now)
                return incident
        return None

    def next_step(self, incident: Incident, position: str, number: int, *, now: float, pagers: tuple[str, ...]) -> Step:
        """Decide about a letter: let it go, page first, or hold it back as the one that answers for the next update.

        Called, like `accepted`, by one task of the incident at a time: a letter that is let go was counted before the next page is written.
        """
        number = incident.owes(position, number)
        untold = incident.untold(number, pagers)
        if not untold:
            return Step.RELEASE
        if self.due(incident, untold, now):
            return Step.PAGE
        if incident.answering is None:
            incident.answering = position
        incident.answering_number = max(number, incident.answering_number)
        return Step.WAIT if incident.answering == position else Step.RELEASE

    def due(self, incident: Incident, pagers: Iterable[str], now: float) -> list[str]:
        """Return those pagers that may be told now: never told of this incident, or long enough ago."""
        return [pager for pager in pagers if self._seconds_to_page(incident, pager, now) <= 0.0]

    def seconds_to_update(self, incident: Incident, pagers: Iterable[str], now: float) -> float:
        """Return how long until the first of these pagers may be told again."""
        return min((self._seconds_to_page(incident, pager, now) for pager in pagers), default=0.0)

    def accepted(self, incident: Incident, pager: str, told: Told, *, pagers: tuple[str, ...]) -> None:
        """Note that a pager accepted a page of the incident."""
        incident.told[pager] = told
        if incident.answering is not None and not incident.untold(incident.answering_number, pagers):
            incident.answering, incident.answering_number = None, 0

    def forget_old(self, now: float) -> None:
        """Drop the incidents whose last letter, or last try to page, is too old to matter."""
        while self._incidents:
            oldest = next(iter(self._incidents.values()))
            if now <= oldest.seen_at + self.window_seconds:
                return
            del self._incidents[oldest.key]

    def _open_incident(self, sighting: Sighting, now: float, now_ms: int) -> Incident:
        key = sighting.key
        if key not in self._incidents and len(self._incidents) >= self._limit:
            key = _EVERYTHING_ELSE
        incident = self._incidents.get(key)
        if incident is None:
            incident = Incident(key, next(self._serials), sighting, seen_at=now, opened_at_ms=now_ms)
            self._incidents[key] = incident
        return incident

    def _seconds_to_page(self, incident: Incident, pager: str, now: float) -> float:
        told = incident.told.get(pager)
        return 0.0 if told is None else max(0.0, told.at + self.update_seconds - now)

    def _touch(self, incident: Incident, now: float) -> None:
        incident.seen_at = now
        self._incidents.move_to_end(incident.key)


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _greatest(one: int | None, other: int) -> int:
    return other if one is None else max(one, other)
