"""A plan carried out: every record confirmed, order per subject kept, stopped cleanly by the first error that is not the letter's own."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from hookline.deadletters._republished import AT_HEADER, LETTER_HEADER
from hookline.deadletters._text import one_line, rfc3339
from hookline.kafka import InvalidRecordError, ProduceError, RecordTooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.contract import Headers, JsonValue
    from hookline.deadletters._plan import Plan, PlannedLetter
    from hookline.kafka import Acknowledgement

_BY_HEADER, _REASON_HEADER = "hookline-redrive-by", "hookline-redrive-reason"
_MANDATE_HEADERS = frozenset({AT_HEADER, _BY_HEADER, _REASON_HEADER})
_OWN_HEADERS = _MANDATE_HEADERS | {LETTER_HEADER}
_OWN_FAULTS = (RecordTooLargeError, InvalidRecordError)
_AT_ONCE = 64


class Sender(Protocol):
    """What is asked of a producer: send one record and return when the broker has confirmed it, else raise `ProduceError`."""

    async def send(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> Acknowledgement:
        """Send and await the confirmation."""


class Fate(StrEnum):
    """What became of a planned letter."""

    CONFIRMED = "confirmed"
    FAILED = "failed"
    SENT_BEFORE = "sent_before"
    NOT_SENT = "not_sent"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one letter: ``target`` is where it was confirmed, ``error`` the code of what failed."""

    id: str
    fate: Fate
    target: str | None = None
    error: str | None = None

    def document(self) -> dict[str, JsonValue]:
        """Return the result as JSON."""
        return {"id": self.id, "result": str(self.fate), "target": self.target, "error": self.error}


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a plan, letter by letter in its order. What is not confirmed may be planned and executed again."""

    operation: str
    results: tuple[Result, ...]

    @property
    def counts(self) -> Counter[Fate]:
        """How many letters had which fate."""
        return Counter(result.fate for result in self.results)

    @property
    def is_complete(self) -> bool:
        """Whether every letter stands in its hook topic now."""
        return not self.counts.keys() & {Fate.FAILED, Fate.NOT_SENT}

    def document(self) -> dict[str, JsonValue]:
        """Return the report as JSON."""
        return {
            "operation": self.operation,
            "republished": self.counts[Fate.CONFIRMED],
            **{str(fate): self.counts[fate] for fate in Fate if fate is not Fate.CONFIRMED},
            "results": [result.document() for result in self.results],
        }


@dataclass(frozen=True, slots=True)
class Mandate:
    """Who republishes and why; both go into the records, on one bounded line each."""

    reason: str
    operator: str
    at_ms: int


@dataclass(slots=True)
class Execution:
    """One run over a plan. Subjects go side by side; within one, a letter is sent when its predecessor was confirmed.

    A letter that is too large is sent once more without who, when and why. One that is too large still, or can never be written, fails alone and holds back the rest of its subject. Any other error, and ``stopping``, halts the run: what is on its way is
    awaited, nothing more is sent.
    """

    plan: Plan
    sender: Sender
    mandate: Mandate
    stopping: asyncio.Event
    _results: dict[str, Result] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def run(self, letters: Sequence[PlannedLetter]) -> dict[str, Result]:
        """Send the letters and return what became of each, by id."""
        async with asyncio.TaskGroup() as subjects:
            for subject in _by_subject(letters):
                subjects.create_task(self._send_subject(subject))
        return self._results

    async def _send_subject(self, letters: Sequence[PlannedLetter]) -> None:
        for planned in letters:
            async with self._slots:
                if self.stopping.is_set() or not await self._send(planned):
                    return

    async def _send(self, planned: PlannedLetter) -> bool:
        id = planned.stored.id
        try:
            written = await self._write(planned)
        except ProduceError as error:
            self._results[id] = Result(id, Fate.FAILED, error=error.code)
            if not isinstance(error, _OWN_FAULTS):
                self.stopping.set()
            return False
        self._results[id] = Result(id, Fate.CONFIRMED, target=f"{written.topic}/{written.partition}/{written.offset}")
        return True

    async def _write(self, planned: PlannedLetter) -> Acknowledgement:
        letter, headers = planned.stored.letter, redrive_headers(planned, self.plan, self.mandate)
        try:
            return await self.sender.send(planned.topic, letter.key, letter.value, headers)
        except RecordTooLargeError:
            # The event was written once, near the topic's limit: what is only for people must not keep it out.
            needed = tuple(header for header in headers if header[0] not in _MANDATE_HEADERS)
            return await self.sender.send(planned.topic, letter.key, letter.value, needed)


def redrive_headers(planned: PlannedLetter, plan: Plan, mandate: Mandate) -> Headers:
    """Return the headers of a republished record: the producer's own, the contract's redrive headers, and which letter it was, by whom, when and why."""
    headers = planned.stored.letter.republished(hooks=planned.hooks, operation=plan.operation, again=plan.again)
    told = {
        LETTER_HEADER: str(planned.stored.position),
        AT_HEADER: rfc3339(mandate.at_ms) or "",
        _BY_HEADER: one_line(mandate.operator),
        _REASON_HEADER: one_line(mandate.reason),
    }
    kept = tuple((name, value) for name, value in headers if name not in _OWN_HEADERS)
    return (*kept, *((name, text.encode("utf-8", "replace")) for name, text in told.items()))


def _by_subject(letters: Sequence[PlannedLetter]) -> list[list[PlannedLetter]]:
    subjects: dict[tuple[str, object], list[PlannedLetter]] = defaultdict(list)
    for planned in letters:
        key = planned.stored.letter.key
        subjects[planned.topic, planned.stored.id if key is None else key].append(planned)
    return list(subjects.values())
