"""From a counted letter to an accepted page: every pager of a domain, its refusals and its repeats."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.deadletters._errors import PageNotAcceptedError, UpdateOwedError
from hookline.deadletters._incidents import IncidentBook, Step, Told
from hookline.telemetry import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.deadletters._clock import Clock
    from hookline.deadletters._incidents import Incident, Sighting
    from hookline.deadletters._pagers import Pager
    from hookline.deadletters._pages import Page, PageWriter
    from hookline.telemetry import Metrics

_FIRST_REST_SECONDS = 1.0
_LONGEST_REST_SECONDS = 60.0
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A letter's place in its incident."""

    serial: int
    number: int


@dataclass(slots=True)
class _Line:
    """A pager and how it has answered lately; it is left alone until ``rests_until`` (monotonic seconds)."""

    pager: Pager
    failures: int = 0
    rests_until: float = 0.0

    def refused(self, error: BaseException, now: float) -> None:
        asked = error.delay_seconds if isinstance(error, PageNotAcceptedError) else None
        backoff = min(_FIRST_REST_SECONDS * 2.0 ** min(self.failures, 16), _LONGEST_REST_SECONDS)
        self.failures += 1
        self.rests_until = now + max(backoff, asked or 0.0)

    def answered(self) -> None:
        self.failures, self.rests_until = 0, 0.0


class Paging:
    """Tells every pager of every incident. Belongs to one event loop.

    A letter is released when all pagers have accepted a page that counts it, or when another unacknowledged letter answers for the next one (see
    `IncidentBook`). Without a pager every letter is released: the counter and its alert rule are the page then.
    """

    def __init__(
        self, pagers: Sequence[Pager], *, book: IncidentBook, writer: PageWriter, metrics: Metrics, clock: Clock
    ) -> None:
        self._lines = {pager.name: _Line(pager) for pager in pagers}
        if len(self._lines) < len(pagers):
            raise ValueError("two pagers have the same name")
        self._names = tuple(self._lines)
        self._book = book
        self._writer = writer
        self._metrics = metrics
        metrics.declare(pager=self._names)
        self._clock = clock
        self._standing: dict[tuple[str, str, str | None], tuple[Page, float]] = {}
        self.accepted_pages = 0

    @property
    def repeats(self) -> bool:
        """Whether any pager forgets and must be told again."""
        return any(line.pager.keep_seconds > 0 for line in self._lines.values())

    def count(self, sighting: Sighting) -> Ticket:
        """Count a letter into its incident."""
        incident, number = self._book.join(sighting, self._clock.monotonic(), self._wall_ms())
        return Ticket(incident.serial, number)

    async def release(self, sighting: Sighting, ticket: Ticket) -> Ticket:
        """Return when the letter may be acknowledged; else raise `PageNotAcceptedError` with the time to come back.

        Returns the ticket to come with: a new one when the letter's incident was forgotten meanwhile.
        """
        incident = self._book.rejoin(ticket.serial, sighting, self._clock.monotonic())
        if incident is None:
            ticket = self.count(sighting)
            incident = self._book.rejoin(ticket.serial, sighting, self._clock.monotonic())
        if incident is not None:
            async with incident.lock:
                await self._settle(incident, sighting.position, ticket.number)
        return ticket

    async def repeat_standing_pages(self) -> None:
        """Send the pages that stand with a forgetful pager once more, and drop those whose time is over. Never raises for a pager."""
        now = self._clock.monotonic()
        self._standing = {key: (page, until) for key, (page, until) in self._standing.items() if now < until}
        for (name, _, _), (page, _) in tuple(self._standing.items()):
            await self._tell([self._lines[name]], page)

    async def _settle(self, incident: Incident, position: str, number: int) -> None:
        while True:
            now = self._clock.monotonic()
            step = self._book.next_step(incident, position, number, now=now, pagers=self._names)
            if step is Step.RELEASE:
                return
            owed = incident.owes(position, number)
            if step is Step.WAIT:
                delay = self._book.seconds_to_update(incident, incident.untold(owed, self._names), now)
                raise UpdateOwedError("the incident's next update page is not due yet", delay_seconds=delay)
            await self._page(incident, owed, now)

    async def _page(self, incident: Incident, number: int, now: float) -> None:
        due = [self._lines[name] for name in self._book.due(incident, incident.untold(number, self._names), now)]
        awake = [line for line in due if line.rests_until <= now]
        page = self._writer.write(incident, self._wall_ms())
        failed = await self._tell(awake, page)
        for line in (line for line in awake if line not in failed):
            self._accept(incident, line, page)
        if failed or len(awake) < len(due):
            self._refuse([*failed, *(line for line in due if line not in awake)])

    async def _tell(self, lines: Sequence[_Line], page: Page) -> list[_Line]:
        """Send one page to some pagers together and return those that did not accept it."""
        results = await asyncio.gather(*(line.pager.page(page) for line in lines), return_exceptions=True)
        failed = []
        for line, error in zip(lines, results, strict=True):
            self._metrics.pages_total.inc(pager=line.pager.name, result="ok" if error is None else "error")
            if error is None:
                line.answered()
                continue
            self._say_refused(line, page, error)
            line.refused(error, self._clock.monotonic())
            failed.append(line)
        return failed

    def _say_refused(self, line: _Line, page: Page, error: BaseException) -> None:
        """Warn once for each rest of a pager: the incidents that tried it at the same time met the same refusal."""
        rested = line.rests_until <= self._clock.monotonic()
        say = _log.warning if rested else _log.debug
        say("page not accepted", pager=line.pager.name, incident=page.incident, error=_safe_text(error))

    def _accept(self, incident: Incident, line: _Line, page: Page) -> None:
        now = self._clock.monotonic()
        self.accepted_pages += 1
        self._book.accepted(incident, line.pager.name, Told(page.count, now), pagers=self._names)
        if line.pager.keep_seconds > 0:
            self._standing[line.pager.name, page.incident, page.host] = (page, now + line.pager.keep_seconds)

    def _refuse(self, lines: Sequence[_Line]) -> None:
        delay = max(line.rests_until for line in lines) - self._clock.monotonic()
        names = ", ".join(line.pager.name for line in lines)
        raise PageNotAcceptedError(f"no page accepted yet by {names}", delay_seconds=max(delay, 0.0))

    def _wall_ms(self) -> int:
        return int(self._clock.wall() * 1000)


def _safe_text(error: BaseException) -> str:
    # Our own errors name pager and status; anybody else's text may hold an address with a token.
    return str(error) if isinstance(error, PageNotAcceptedError) else type(error).__name__
