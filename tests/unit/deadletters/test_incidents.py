"""Grouping: one cause is one incident, and no letter is acknowledged that nobody answers for (case 20, reconciler-paging)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.deadletters import IncidentBook, IncidentKey, PageNotAcceptedError, PageWriter, Sighting, UpdateOwedError
from hookline.deadletters._paging import Paging, Ticket
from hookline.telemetry import Metrics
from tests.unit.deadletters.making import FakePager, StillClock


def sighting(number: int, cause: str = "http_status") -> Sighting:
    key = IncidentKey(source="shop", type="batch.failed", hooks=("ci",), code=cause)
    return Sighting(key=key, position=f"shop-hook_dlq/0/{number}", failed_at_ms=number, letter_class="permanent")


@dataclass
class Desk:
    """Paging as the reconciler drives it: letters are tried, and tried again until they are released."""

    pagers: list[FakePager] = field(default_factory=lambda: [FakePager()])
    time: StillClock = field(default_factory=StillClock)
    book: IncidentBook = field(default_factory=lambda: IncidentBook(window_seconds=300, update_seconds=60, limit=20))
    waiting: dict[int, tuple[Sighting, Ticket]] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    last_error: PageNotAcceptedError | None = None

    def __post_init__(self) -> None:
        self.paging = Paging(
            self.pagers,
            book=self.book,
            writer=PageWriter("shop", str),
            metrics=Metrics(domain="shop"),
            clock=self.time.clock,
        )

    async def arrive(self, number: int, cause: str = "http_status") -> None:
        """Deliver a letter for the first time."""
        seen = sighting(number, cause)
        await self._try(number, seen, self.paging.count(seen))

    async def retry_all(self) -> None:
        """Deliver every waiting letter once more."""
        for number, (seen, ticket) in tuple(self.waiting.items()):
            await self._try(number, seen, ticket)

    async def _try(self, number: int, seen: Sighting, ticket: Ticket) -> None:
        try:
            await self.paging.release(seen, ticket)
        except PageNotAcceptedError as error:
            self.last_error = error
            self.waiting[number] = seen, ticket
        else:
            self.waiting.pop(number, None)
            self.released.add(number)


async def test_the_first_letter_pages_at_once_and_is_released_by_it() -> None:
    """The first letter of a cause is released by its own page."""
    desk = Desk()
    await desk.arrive(1)
    assert desk.released == {1}
    assert [(page.count, page.update) for page in desk.pagers[0].pages] == [(1, False)]


async def test_ten_thousand_letters_of_one_cause_are_one_incident() -> None:
    """10,000 letters of one cause make two pages, the second with the count; only one letter waits for it meanwhile."""
    desk = Desk()
    for number in range(10_000):
        await desk.arrive(number)
    assert len(desk.waiting) == 1
    desk.time.seconds += 60
    await desk.retry_all()
    assert [(page.count, page.update) for page in desk.pagers[0].pages] == [(1, False), (10_000, True)]
    assert {page.incident for page in desk.pagers[0].pages} == {desk.pagers[0].pages[0].incident}
    assert len(desk.released) == 10_000


async def test_ten_causes_are_ten_incidents() -> None:
    """Each cause pages at once and under a name of its own."""
    desk = Desk()
    for number in range(10):
        await desk.arrive(number, f"cause-{number}")
    assert len({page.incident for page in desk.pagers[0].pages}) == 10
    assert len(desk.released) == 10


async def test_causes_beyond_the_limit_share_one_incident() -> None:
    """Made-up event types cannot page once each: beyond the limit they are one incident with a count."""
    desk = Desk()
    for number in range(200):
        await desk.arrive(number, f"cause-{number}")
    assert len(desk.pagers[0].pages) == 21
    assert len(desk.waiting) == 1


async def test_a_pager_outage_holds_every_letter_and_loses_none() -> None:
    """While the pager refuses nothing is released; when it is back one page releases all."""
    desk = Desk([FakePager(down=True)])
    for number in range(50):
        await desk.arrive(number)
    assert not desk.released
    desk.pagers[0].down = False
    desk.time.seconds += 60
    await desk.retry_all()
    assert len(desk.released) == 50
    assert [page.count for page in desk.pagers[0].pages] == [50]


async def test_a_refusing_pager_is_left_alone_for_as_long_as_it_asks() -> None:
    """A 429 with Retry-After is honoured by all letters together, not tried by each."""
    desk = Desk([FakePager(down=True, retry_after_seconds=30)])
    for number in range(50):
        await desk.arrive(number, f"cause-{number % 5}")
    assert desk.pagers[0].tries == 1
    assert desk.last_error is not None
    assert desk.last_error.delay_seconds == 30


async def test_a_working_pager_is_not_paged_again_because_another_is_down() -> None:
    """With two pagers the letter waits for both; the one that has accepted is not told twice."""
    up, down = FakePager("up"), FakePager("down", down=True)
    desk = Desk([up, down])
    await desk.arrive(1)
    for _ in range(3):
        desk.time.seconds += 61
        await desk.retry_all()
    assert not desk.released
    assert len(up.pages) == 1
    down.down = False
    desk.time.seconds += 61
    await desk.retry_all()
    assert desk.released == {1}


async def test_the_letter_that_answers_waits_for_all_that_were_let_go_on_its_account() -> None:
    """Pagers that were told at different times: nobody is let go on the account of a letter that leaves before them."""
    one, two = FakePager("one", down=True), FakePager("two")
    desk = Desk([one, two])
    await desk.arrive(1)
    await desk.arrive(2)
    one.down, desk.time.seconds = False, 1
    await desk.retry_all()
    await desk.arrive(3)
    assert desk.released == {1, 3}
    desk.time.seconds += 61
    await desk.retry_all()
    assert desk.released == {1, 2, 3}
    assert [pager.pages[-1].count for pager in (one, two)] == [3, 3]


async def test_a_letter_after_the_window_opens_the_incident_anew() -> None:
    """When a cause was quiet for the window, the next letter pages at once, counts from 1, and keeps the incident's name."""
    desk = Desk()
    await desk.arrive(1)
    desk.time.seconds += 301
    await desk.arrive(2)
    first, second = desk.pagers[0].pages
    assert (second.count, second.update, second.incident) == (1, False, first.incident)


async def test_the_letter_that_answers_keeps_its_number_when_it_is_delivered_again() -> None:
    """A partition that leaves and returns does not count the waiting letter twice."""
    desk = Desk()
    for number in (1, 2, 2):
        await desk.arrive(number)
    desk.time.seconds += 60
    await desk.retry_all()
    assert desk.pagers[0].pages[-1].count == 2


async def test_letters_that_arrive_during_a_page_wait_for_its_outcome() -> None:
    """A letter that was counted after the page was written is not released by it."""
    desk = Desk()
    gate, begun = asyncio.Event(), asyncio.Event()

    class Slow(FakePager):
        async def page(self, page: object) -> None:
            begun.set()
            await gate.wait()
            await FakePager.page(self, page)  # type: ignore[arg-type] # the page is passed through unread

    desk = Desk([Slow()])
    first = asyncio.create_task(desk.arrive(1))
    await begun.wait()
    second = asyncio.create_task(desk.arrive(2))
    gate.set()
    await asyncio.gather(first, second)
    assert desk.released == {1}
    assert isinstance(desk.last_error, UpdateOwedError)


async def test_without_a_pager_every_letter_is_released() -> None:
    """The counter and its alert rule are the page then."""
    desk = Desk([])
    for number in range(5):
        await desk.arrive(number)
    assert len(desk.released) == 5


def test_two_pagers_of_one_name_are_refused() -> None:
    """Names tell pagers apart in metrics and in what each was told."""
    with pytest.raises(ValueError, match="same name"):
        Desk([FakePager(), FakePager()])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("letter"), st.integers(0, 2)),
        st.tuples(st.just("time"), st.sampled_from([1, 30, 61, 400])),
        st.tuples(st.just("pager"), st.integers(0, 1)),
        st.tuples(st.just("retry"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_nothing_is_hidden_by_a_crash_at_any_moment(steps: list[tuple[str, int]]) -> None:
    """P1, P9: whatever happens, every released letter was told of, or an unreleased letter of its cause will page after a crash."""
    asyncio.run(_play(steps))


async def _play(steps: list[tuple[str, int]]) -> None:
    desk = Desk([FakePager("one"), FakePager("two")])
    causes: dict[int, int] = {}
    told: dict[tuple[str, int], int] = {}
    for number, (kind, value) in enumerate(steps):
        match kind:
            case "letter":
                causes[number] = value
                await desk.arrive(number, str(value))
            case "time":
                desk.time.seconds += value
            case "pager":
                desk.pagers[value].down = not desk.pagers[value].down
            case _:
                await desk.retry_all()
        _note_told(desk, causes, told)
        _check_nobody_is_hidden(desk, causes, told)
    await _check_all_are_told_in_the_end(desk, causes)


def _note_told(desk: Desk, causes: dict[int, int], told: dict[tuple[str, int], int]) -> None:
    """Note how many letters of its cause had come when a page was written."""
    for pager in desk.pagers:
        for page in pager.pages:
            told[pager.name, int(page.code)] = sum(1 for cause in causes.values() if cause == int(page.code))
        pager.pages.clear()


def _check_nobody_is_hidden(desk: Desk, causes: dict[int, int], told: dict[tuple[str, int], int]) -> None:
    for cause in set(causes.values()):
        letters = [number for number in sorted(causes) if causes[number] == cause]
        known = min(told.get((pager.name, cause), 0) for pager in desk.pagers)
        untold = letters[known:]
        if any(number in desk.released for number in untold):
            assert any(number in desk.waiting for number in letters)


async def _check_all_are_told_in_the_end(desk: Desk, causes: dict[int, int]) -> None:
    for pager in desk.pagers:
        pager.down = False
    for _ in range(3):
        desk.time.seconds += 61
        await desk.retry_all()
    assert desk.released == set(causes)


@given(st.lists(st.sampled_from([0, 1, 20, 59, 61]), max_size=60))
def test_updates_keep_their_distance(waits: list[int]) -> None:
    """Between two pages of one incident there are at least the update seconds."""
    desk = Desk()

    async def play() -> list[int]:
        for number, seconds in enumerate(waits):
            desk.time.seconds += seconds
            await desk.arrive(number)
            await desk.retry_all()
        return [page.paged_at_ms for page in desk.pagers[0].pages]

    times = asyncio.run(play())
    assert all(later - earlier >= 60_000 for earlier, later in pairwise(times))
