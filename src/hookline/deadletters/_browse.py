"""The dead letters of a domain, for whoever looks after them: list, show, plan, execute."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from hookline.deadletters._clock import Clock
from hookline.deadletters._errors import PlanRefusedError, UnknownDeadLetterError
from hookline.deadletters._execute import Execution, Fate, Mandate, Report, Result
from hookline.deadletters._filter import Filter
from hookline.deadletters._letters import StoredLetter
from hookline.deadletters._plan import Plan, Planner
from hookline.deadletters._republished import RepublishedIndex
from hookline.deadletters._rows import Detail, Row
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Iterable

    from hookline.deadletters._execute import Sender
    from hookline.deadletters._plan import PlannedLetter
    from hookline.kafka import Record

_SKEW_MS = 600_000
_log = get_logger(__name__)


class ReadTopic(Protocol):
    """Reads a topic once, from ``since_ms`` (record time; None: from the start) up to where it ended when reading began.

    `hookline.kafka.TopicReader.stream` is one.
    """

    def __call__(self, topic: str, since_ms: int | None) -> AsyncGenerator[Record, None]:
        """Return the records, each partition in order."""


class DeadLetters:
    """A domain's dead letters on Kafka alone: it reads without a group and commits nothing, so looking changes nothing.

    ``hook_topics`` are the only topics that anything is ever republished to; the dead-letter topic never is. ``max_redrives`` bounds how often one event may go
    round. ``redact`` is applied to messages that are shown.
    """

    def __init__(
        self,
        read: ReadTopic,
        *,
        dead_letter_topic: str,
        hook_topics: Collection[str],
        redact: Callable[[str], str] = str,
        max_redrives: int = 20,
        clock: Clock | None = None,
    ) -> None:
        self._read = read
        self._topic = dead_letter_topic
        self._hook_topics = frozenset(hook_topics) - {dead_letter_topic}
        self._redact = redact
        self._max_redrives = max_redrives
        self._clock = clock or Clock()

    async def list_rows(self, chosen: Filter | None = None) -> list[Row]:
        """List the chosen dead letters, oldest first, each with whether it was republished before."""
        chosen = chosen or Filter()
        letters, index = await self._look(chosen)
        return [
            Row.of(stored, republished=index.contains(stored), redact=self._redact)
            for stored in letters[: chosen.limit]
        ]

    async def show(self, id: str) -> Detail:
        """Show the whole of one dead letter; raises `UnknownDeadLetterError`."""
        letters, index = await self._look(Filter(ids=(id,)))
        if not letters:
            raise UnknownDeadLetterError(id)
        row = Row.of(letters[0], republished=index.contains(letters[0]), redact=self._redact)
        return Detail(row, letters[0], self._redact)

    async def plan(
        self, chosen: Filter, *, again: bool = False, all_hooks: bool = False, operation: str | None = None
    ) -> Plan:
        """Plan to republish the chosen letters; sends nothing.

        Leaves out what was republished before unless ``again``, which also lets an identity run that has completed since. Only the hooks that failed run again
        unless ``all_hooks``. Give the ``operation`` of an interrupted run with ``again`` to leave out what that run has sent.
        """
        created_ms = int(self._clock.wall() * 1000)
        letters, index = await self._look(chosen)
        planner = Planner(
            self._hook_topics,
            self._topic,
            index,
            again=again,
            all_hooks=all_hooks,
            max_redrives=self._max_redrives,
            resumes=operation,
        )
        planned, left_out = planner.sort(letters, chosen)
        return Plan(operation or uuid.uuid4().hex[:12], created_ms, again, all_hooks, tuple(planned), tuple(left_out))

    async def execute(
        self, plan: Plan, sender: Sender, *, reason: str, operator: str, stopping: asyncio.Event | None = None
    ) -> Report:
        """Send a plan's letters to their hook topics, each confirmed before the next of its subject, and report on every one.

        Looks at the hook topics once more first, so that a plan executed twice, or beside another, sends a letter once. Needs a reason: raises
        `PlanRefusedError` without. Set ``stopping`` to end early: what is on its way is awaited.
        """
        if not reason.strip():
            raise PlanRefusedError("republishing needs a reason")
        mandate = Mandate(self._redact(reason), operator, int(self._clock.wall() * 1000))
        sent_before = await self._sent_before(plan)
        execution = Execution(plan, sender, mandate, stopping or asyncio.Event())
        results = await execution.run([planned for planned in plan.letters if planned.stored.id not in sent_before])
        report = Report(plan.operation, tuple(_result(planned, results, sent_before) for planned in plan.letters))
        self._note(report, mandate)
        return report

    def _note(self, report: Report, mandate: Mandate) -> None:
        counts = {str(fate): count for fate, count in report.counts.items()}
        _log.info("republished", operation=report.operation, operator=mandate.operator, reason=mandate.reason, **counts)

    async def _look(self, chosen: Filter) -> tuple[list[StoredLetter], RepublishedIndex]:
        """Read the chosen letters, oldest first, and what is known to be republished of them."""
        index = RepublishedIndex()
        letters: list[StoredLetter] = []
        async for stored in self._letters(None if chosen.since_ms is None else chosen.since_ms - _SKEW_MS):
            index.add_letters((stored,))
            if chosen.matches(stored):
                letters.append(stored)
        letters = oldest_first(letters)
        await self._look_back(index, {stored.origin.topic for stored in letters if stored.origin}, _oldest(letters))
        return letters, index

    async def _letters(self, since_ms: int | None) -> AsyncGenerator[StoredLetter, None]:
        async with aclosing(self._read(self._topic, since_ms)) as records:
            async for record in records:
                yield StoredLetter.read(record)

    async def _look_back(self, index: RepublishedIndex, topics: Iterable[str], since_ms: int | None) -> None:
        for topic in sorted(self._hook_topics & set(topics)):
            async with aclosing(self._read(topic, None if since_ms is None else since_ms - _SKEW_MS)) as records:
                async for record in records:
                    index.add_headers(record.headers)

    async def _sent_before(self, plan: Plan) -> set[str]:
        index = RepublishedIndex()
        index.add_letters(planned.stored for planned in plan.letters)
        await self._look_back(index, plan.per_topic, plan.created_ms)
        return {
            planned.stored.id
            for planned in plan.letters
            if index.was_sent_by(planned.stored, plan.operation) or (not plan.again and index.contains(planned.stored))
        }


def _result(planned: PlannedLetter, results: dict[str, Result], sent_before: set[str]) -> Result:
    id = planned.stored.id
    if id in sent_before:
        return Result(id, Fate.SENT_BEFORE)
    return results.get(id) or Result(id, Fate.NOT_SENT)


def oldest_first(letters: Iterable[StoredLetter]) -> list[StoredLetter]:
    """Merge partitions by the time their records were written, keeping each partition's own order whatever its clocks said."""
    latest: dict[int, int] = {}
    timed = []
    for stored in sorted(letters, key=lambda stored: (stored.record.partition, stored.record.offset)):
        partition = stored.record.partition
        latest[partition] = max(stored.record.timestamp_ms or 0, latest.get(partition, 0))
        timed.append((latest[partition], partition, stored.record.offset, stored))
    return [stored for *_, stored in sorted(timed, key=lambda item: item[:3])]


def _oldest(letters: Iterable[StoredLetter]) -> int | None:
    times = [stored.record.timestamp_ms for stored in letters]
    return min((time for time in times if time is not None), default=None) if None not in times else None
