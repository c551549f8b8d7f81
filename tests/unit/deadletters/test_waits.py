"""Pages about hooks whose events wait: who is told, when, and how often."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hookline.deadletters import AlertmanagerPager, Receiver, WaitingPager
from hookline.hooks import HookTrouble, TroubleKind
from hookline.telemetry import Metrics
from tests.unit.deadletters.making import FakePager, StillClock

PAGE_AFTER = 300.0


class Memory:
    """What all processes know."""

    def __init__(self) -> None:
        self.told: set[tuple[str, str, int]] = set()

    def is_told(self, hook: str, pager: str, closed_at_ms: int) -> bool:
        """Tell whether it was told."""
        return (hook, pager, closed_at_ms) in self.told

    def tell(self, hook: str, pager: str, closed_at_ms: int) -> None:
        """Note that it was told."""
        self.told.add((hook, pager, closed_at_ms))


@dataclass
class Desk:
    """Pagers, a clock and a book of what was told."""

    pagers: list[FakePager] = field(default_factory=lambda: [FakePager()])
    time: StillClock = field(default_factory=StillClock)
    memory: Memory | None = None

    def __post_init__(self) -> None:
        self.metrics = Metrics(domain="orders")
        self.waiting = WaitingPager(
            self.pagers,
            domain="orders",
            metrics=self.metrics,
            redact=lambda text: text.replace("hunter2", "***"),
            page_after_seconds=PAGE_AFTER,
            memory=self.memory,
            clock=self.time.clock,
        )

    async def look(self, *troubles: HookTrouble, after: float = 2.0) -> int:
        """Look once more, after so many seconds; tells how many pages the first pager has by then."""
        self.time.seconds += after
        await self.waiting.look(troubles)
        return len(self.pagers[0].pages)


def trouble(kind: TroubleKind = TroubleKind.BREAKER, seconds: float = 1_000.0, hook: str = "notify") -> HookTrouble:
    """Make a trouble."""
    return HookTrouble(hook, kind, seconds, "token hunter2 was refused", waiting=7)


async def test_a_dependency_is_told_once_it_has_been_away_for_so_long_and_once_only() -> None:
    """P9: an outage is one page, also when a breaker opens for it in the middle."""
    desk = Desk()
    assert await desk.look(trouble(TroubleKind.DEPENDENCY, seconds=PAGE_AFTER - 1)) == 0
    assert await desk.look(trouble(TroubleKind.DEPENDENCY, seconds=PAGE_AFTER + 1)) == 1
    for _ in range(100):
        assert await desk.look(trouble(seconds=PAGE_AFTER + 9), after=30) == 1
    assert desk.metrics.value("pages_total", pager="desk", result="ok") == 1


async def test_a_hook_that_only_a_person_can_release_is_told_at_once() -> None:
    """P9: nothing gets better by waiting."""
    desk = Desk()
    assert await desk.look(trouble(TroubleKind.HELD, seconds=0)) == 1
    page = desk.pagers[0].pages[0]
    assert page.command == "hookline gate open --hook notify --config hookline.toml"
    assert (page.cause, page.waiting, page.domain) == ("held", 7, "orders")


async def test_each_hook_is_an_incident_and_its_name_is_the_same_everywhere() -> None:
    """A receiver that folds pages of several replicas folds them by the incident."""
    one, other = Desk(), Desk()
    for desk in (one, other):
        assert await desk.look(trouble(hook="a"), trouble(hook="b"), trouble(TroubleKind.HELD, hook="a")) == 3
    assert len({page.incident for page in one.pagers[0].pages}) == 3
    assert [page.incident for page in one.pagers[0].pages] == [page.incident for page in other.pagers[0].pages]


async def test_what_was_over_for_a_minute_is_news_again() -> None:
    """A dependency that comes and goes is not told each time, and one that goes away next week is."""
    desk = Desk()
    assert await desk.look(trouble()) == 1
    await desk.look(after=30)
    assert await desk.look(trouble(), after=20) == 1
    await desk.look(after=61)
    assert await desk.look(trouble(), after=1) == 2


async def test_a_pager_that_refuses_is_asked_again_and_the_others_are_not() -> None:
    """P9: somebody hears of it in the end."""
    desk = Desk([FakePager("down", down=True), FakePager("up")])
    await desk.look(trouble())
    assert await desk.look(trouble()) == 0
    desk.pagers[0].down = False
    assert await desk.look(trouble()) == 1
    assert len(desk.pagers[1].pages) == 1
    assert desk.metrics.value("pages_total", pager="down", result="error") == 2


async def test_a_pager_that_forgets_is_told_again_while_it_lasts() -> None:
    """An alert that is not repeated ends by itself."""
    desk = Desk([FakePager(keep_seconds=3_600)])
    assert await desk.look(trouble()) == 1
    assert await desk.look(trouble(), after=30) == 1
    assert await desk.look(trouble(), after=31) == 2


def held(seconds: float = 0.0, *, closed_at_ms: int = 1_796_032_800_000, is_own: bool = True) -> HookTrouble:
    """Make a hook that hookline holds."""
    return HookTrouble("notify", TroubleKind.HELD, seconds, "guard", 7, closed_at_ms, is_own)


async def test_a_held_hook_is_one_page_for_all_processes_and_over_restarts() -> None:
    """P9: whoever closed it tells of it; nobody else does, however long it lasts and however often a process begins."""
    memory = Memory()
    assert await Desk(memory=memory).look(held()) == 1
    for seconds in (0.0, 9.0, 11.0, 100_000.0):
        assert await Desk(memory=memory).look(held(seconds, is_own=False)) == 0


async def test_a_held_hook_is_told_by_another_when_its_closer_does_not() -> None:
    """P9: a process that ends between closing and telling leaves it to the others, who give it ten seconds."""
    desk = Desk(memory=Memory())
    assert await desk.look(held(9.0, is_own=False)) == 0
    assert await desk.look(held(11.0, is_own=False)) == 1
    assert desk.pagers[0].pages[0].opened_at_ms == 1_796_032_800_000


async def test_a_hook_that_is_held_again_is_told_again() -> None:
    """What was told of one closing says nothing of the next, nor of one without a time."""
    memory = Memory()
    assert await Desk(memory=memory).look(held()) == 1
    assert await Desk(memory=memory).look(held(closed_at_ms=1_796_032_800_001)) == 1
    for _ in range(2):
        assert await Desk(memory=memory).look(held(closed_at_ms=0, is_own=False)) == 1


async def test_only_the_pagers_that_were_not_told_are_told_after_a_restart() -> None:
    """One pager that was down is told by whatever process is there, one that forgets by every one."""
    memory = Memory()
    await Desk(
        [FakePager("desk"), FakePager("down", down=True), FakePager("alerts", keep_seconds=3_600)], memory=memory
    ).look(held())
    desk = Desk([FakePager("desk"), FakePager("down"), FakePager("alerts", keep_seconds=3_600)], memory=memory)
    await desk.look(held(60.0, is_own=False))
    assert [len(pager.pages) for pager in desk.pagers] == [0, 1, 1]


async def test_secrets_of_errors_are_in_no_page() -> None:
    """P15: what a hook said of its failure passes the redactor."""
    desk = Desk()
    await desk.look(trouble())
    page = desk.pagers[0].pages[0]
    assert "hunter2" not in json.dumps([page.document(), page.labels(), page.annotations()])


async def test_an_alert_keeps_its_labels_while_it_lasts() -> None:
    """Alertmanager knows an alert by its labels: what changes is no label, or each page would be an alert of its own."""
    desk = Desk([FakePager(keep_seconds=3_600)])
    await desk.look(trouble(seconds=1_000))
    await desk.look(trouble(seconds=2_000), after=1_000)
    pager = AlertmanagerPager(Receiver("desk", "http://127.0.0.1:9", client=None))  # type: ignore[arg-type] # sends nothing
    first, second = (pager.alert(page) for page in desk.pagers[0].pages)
    assert first["labels"] == second["labels"]
    assert first["startsAt"] == second["startsAt"]
