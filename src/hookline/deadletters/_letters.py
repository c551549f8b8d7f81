"""A dead letter as it lies in its topic: the record, what it says about itself, and its event when it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hookline.contract import UNKNOWN_ORIGIN, DeadLetter, Event, MalformedRecordError, Origin, Subject, decode_record
from hookline.deadletters._incidents import IncidentKey, Sighting
from hookline.deadletters._pages import UNKNOWN

if TYPE_CHECKING:
    from hookline.kafka import Record

_HTTP_STATUSES = range(100, 600)
_MAX_SUBJECTS_PAGED = 8


@dataclass(frozen=True)
class StoredLetter:
    """One record of a dead-letter topic, read with tolerance: nothing about it can make reading fail.

    ``event`` is None when key, value and headers make none. Not slotted: what is derived is kept.
    """

    record: Record
    letter: DeadLetter
    event: Event | None

    @classmethod
    def read(cls, record: Record) -> StoredLetter:
        """Read a record of a dead-letter topic, whoever wrote it."""
        letter = DeadLetter.from_record(record.key, record.value, record.headers)
        return cls(record, letter, _event_of(letter))

    @cached_property
    def id(self) -> str:
        """The letter's name for people: partition/offset in its topic."""
        return f"{self.record.partition}/{self.record.offset}"

    @cached_property
    def position(self) -> Origin:
        """Where the letter lies: its own topic, partition and offset."""
        return Origin(self.record.topic, self.record.partition, self.record.offset)

    @cached_property
    def origin(self) -> Origin | None:
        """Where the record stood when it first failed; None when the letter does not say."""
        return None if self.letter.origin == UNKNOWN_ORIGIN else self.letter.origin

    @cached_property
    def failure(self) -> tuple[str, Origin] | None:
        """Who read which record when it failed; None when the letter does not say. Of such letters one that covers another is a copy of it."""
        return None if self.letter.source == UNKNOWN_ORIGIN else (self.letter.group, self.letter.source)

    @cached_property
    def hooks(self) -> tuple[str, ...]:
        """The hooks that failed, sorted, each once."""
        return tuple(sorted({failure.hook for failure in self.letter.failures}))

    def covers(self, other: StoredLetter) -> bool:
        """Tell whether whoever republishes this letter runs all hooks that another is about; one that names none is about all."""
        return not self.hooks or (bool(other.hooks) and set(other.hooks) <= set(self.hooks))

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """What the letter is about, each once: the hooks that failed, what they attached, and the event's own subject."""
        own = (Subject("subject", self.event.subject),) if self.event and self.event.subject else ()
        return tuple(dict.fromkeys((*self.letter.subjects, *own)))

    @cached_property
    def failed_at_ms(self) -> int | None:
        """When it failed; for a record that does not say so, when it was written."""
        return self.letter.failed_at_ms or self.record.timestamp_ms

    @cached_property
    def sighting(self) -> Sighting:
        """What the letter adds to its incident."""
        failures = self.letter.failures
        return Sighting(
            key=IncidentKey(
                source=self.event.source if self.event else UNKNOWN,
                type=self.event.type if self.event else UNKNOWN,
                hooks=self.hooks,
                code=self.letter.code,
            ),
            position=str(self.position),
            failed_at_ms=self.failed_at_ms,
            letter_class=str(self.letter.letter_class),
            host=next((failure.host for failure in failures if failure.host), None),
            http_status=next(
                (failure.http_status for failure in failures if failure.http_status in _HTTP_STATUSES), None
            ),
            exception=next((failure.exception for failure in failures if failure.exception), None),
            subjects=tuple(str(each) for each in self.subjects if each.type != "hook")[:_MAX_SUBJECTS_PAGED],
        )


def _event_of(letter: DeadLetter) -> Event | None:
    try:
        return decode_record(letter.key, letter.value, letter.headers)
    except MalformedRecordError:
        return None
