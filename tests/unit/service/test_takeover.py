"""Which groups are placed and moved when hooks change groups or names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from hookline.consume import EngineMeter, Marks, RetryState, encode_marks
from hookline.hooks import Hooks, Place, write_roster
from hookline.hooks._memory import entry_of, read_saved, write_saved
from hookline.kafka import BrokerUnreachableError, GroupInUseError
from hookline.service import Settings, SettingsError
from hookline.service._groups import GroupKeeper
from hookline.service._isolation import Isolation
from hookline.service._takeover import TakeOver
from hookline.telemetry import Metrics
from tests.support.hooks import Script
from tests.unit.service.fake_groups import END, PARTITIONS, FakeGroups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.kafka import ClientConfig, Position

SHARED = "orders-hook"
CI, CHAT = f"{SHARED}.ci", f"{SHARED}.chat"
MINUTE = 29_700_000


def hook(name: str, **attributes: Any) -> Script:
    """Make a hook from code with attributes."""
    made = Script(name)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def settings_of(**more: Any) -> Settings:
    kafka = {"common": {"bootstrap.servers": "127.0.0.1:1"}}
    return Settings.model_validate({"domain": "orders", "kafka": kafka, **more})


def take_over(*hooks: Script, meter: EngineMeter | None = None, **settings: Any) -> TakeOver:
    return TakeOver("orders-hook", Isolation(settings_of(**settings), Hooks({"*": hooks})), meter)


def position(offset: int, *names: str, settled: int = 0, saved: bytes = b"") -> Position:
    """Write a commit of a group that runs these hooks, with so many settled beyond it, and a record in retry."""
    open_ranges = ((offset, offset + 1),) if settled or saved else ()
    states = ((offset, offset + 1, RetryState(2, MINUTE, saved)),) if saved else ()
    frontier = offset + 1 + settled if open_ranges else offset
    marks = Marks(frontier, open_ranges, states, clean=True, note=write_roster(names))
    return offset, encode_marks(marks, offset).text


def everywhere_at(offset: int) -> dict[int, int]:
    return dict.fromkeys(PARTITIONS, offset)


def everywhere(at: Position) -> dict[int, Position]:
    return dict.fromkeys(PARTITIONS, at)


def test_nothing_moves_where_nothing_changed() -> None:
    """A restart with the same settings commits nothing, in both modes, and on a topic that nobody has read."""
    shared = FakeGroups({SHARED: everywhere(position(5, "ci"))})
    own = FakeGroups({SHARED: everywhere(position(5)), CI: everywhere((7, ""))})
    assert take_over(Script("ci")).plan(shared) == []
    assert take_over(Script("ci")).plan(FakeGroups()) == []
    assert take_over(Script("ci"), isolation="per-hook").plan(own) == []


def test_a_hook_takes_over_where_the_shared_group_was() -> None:
    """P6: offsets and outcomes are copied, not whom the group runs; the shared group's stay as they were."""
    saved = write_saved([entry_of("ci", done=True)])
    before = {0: position(5, "ci", settled=3, saved=saved), 1: position(9, "ci")}
    groups = FakeGroups({SHARED: before})
    take_over(Script("ci"), isolation="per-hook").run(groups)
    assert groups.groups[SHARED] == before
    for number, at in before.items():
        there, own = Place.read(at), Place.read(groups.groups[CI][number])
        assert own == replace(there, marks=replace(there.marks, note=b""))


def test_nobody_is_condemned_for_what_another_group_was_charged_with() -> None:
    """P11: a record that took the process down in the shared group runs alone in each group that takes over, and is charged anew."""
    marks = Marks(7, ((5, 7),), (), clean=True, started=(6,), crashes=((5, 3),), note=write_roster(["ci", "chat"]))
    groups = FakeGroups({SHARED: everywhere((5, encode_marks(marks, 5).text))})
    take_over(Script("ci"), Script("chat"), isolation="per-hook").run(groups)
    for group in (CI, CHAT):
        for at in groups.groups[group].values():
            taken = Place.read(at).marks
            assert (taken.clean, taken.started, taken.crashes) == (False, (5, 6), ())


def test_a_renamed_hook_keeps_its_charges() -> None:
    """P11: it is the same hook, and what took the process down with it is found as soon as if it had kept its name."""
    at = (5, encode_marks(Marks(7, ((5, 7),), (), clean=False, crashes=((5, 2),)), 5).text)
    groups = FakeGroups({SHARED: everywhere(position(5)), CI: everywhere(at)})
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(groups)
    assert groups.groups[f"{SHARED}.build"] == everywhere(at)


@pytest.mark.parametrize("most", [60, 0])
@pytest.mark.parametrize("isolation", ["shared", "per-hook"])
def test_a_broker_that_takes_little_metadata_is_given_less(most: int, isolation: str) -> None:
    """P1, P6: half of it, then none; what is forgotten is run again. Nothing waits for ever, and no partition is left out."""
    groups = FakeGroups(_with_much_to_say(isolation))
    groups.most_characters = most
    metrics = Metrics(domain="test")
    take_over(Script("ci"), Script("chat"), meter=EngineMeter(metrics), isolation=isolation).run(groups)
    moved = [SHARED] if isolation == "shared" else [CI, CHAT]
    assert groups.groups.keys() == {SHARED, *moved}
    for group in moved:
        assert {number: offset for number, (offset, _) in groups.groups[group].items()} == dict.fromkeys(PARTITIONS, 5)
        assert {bool(text) for _, text in groups.groups[group].values()} == {most > 0}
    assert metrics.value("commit_metadata_lost_total", reason="refused") == len(moved) * (1 if most else 2)


def _with_much_to_say(isolation: str) -> dict[str, dict[int, Position]]:
    """Give groups that have done one record and not the next, at odd distances: about a hundred characters."""
    gaps = [6 + n * n % 37 + 40 * n for n in range(30)]
    marks = Marks(1_300, ((5, 6), *((gap, gap + 1) for gap in gaps)), (), clean=True)
    at = 5, encode_marks(replace(marks, note=write_roster(["ci", "chat"])), 5).text
    assert 60 < len(at[1]) <= 120
    own = 5, encode_marks(marks, 5).text
    return {SHARED: everywhere(at)} | ({CI: everywhere(own), CHAT: everywhere(own)} if isolation == "shared" else {})


def test_a_group_that_was_placed_in_part_is_placed_in_full() -> None:
    """P1, P6: where a move broke off the missing partitions follow, from the shared group, or from the former name's."""
    shared = {0: position(5, "ci"), 1: position(9, "ci", settled=2)}
    groups = FakeGroups({SHARED: shared, CI: {0: position(7)}})
    take_over(Script("ci"), isolation="per-hook").run(groups)
    assert {number: Place.read(at).offset for number, at in groups.groups[CI].items()} == {0: 7, 1: 9}
    assert Place.read(groups.groups[CI][1]).marks.is_settled(10)
    build = f"{SHARED}.build"
    groups = FakeGroups({SHARED: everywhere(position(40)), CI: everywhere(position(20)), build: {1: position(25)}})
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(groups)
    assert {number: Place.read(at).offset for number, at in groups.groups[build].items()} == {0: 20, 1: 25}
    assert groups.groups.keys() == {SHARED, build}


def test_a_partition_that_a_group_lacks_is_read_from_its_start_where_others_have_not_run_the_hook() -> None:
    """P1: a partition that was added says nothing of a hook that the shared group does not run."""
    for at in (position(40, "chat"), (40, "")):
        groups = FakeGroups({SHARED: everywhere(at), CI: {0: position(20)}})
        take_over(hook("ci", isolation="own"), Script("chat")).run(groups)
        assert groups.groups[CI] == {0: position(20)}


@pytest.mark.parametrize(
    ("answers", "is_new"),
    [
        ([("ci",), ("chat",)], False),
        ([("ci",), None], False),
        ([("chat",), None], True),
        ([("chat",), ("chat",)], True),
        ([None, None], False),
    ],
)
def test_one_word_tells_whether_the_shared_group_runs_a_hook(
    answers: list[tuple[str, ...] | None],
    is_new: bool,  # noqa: FBT001 - a parameter of pytest's
) -> None:
    """P1: a partition whose metadata was lost says nothing; where none says whom it runs, the group has run all."""
    shared = {number: (5, "") if names is None else position(5, *names) for number, names in enumerate(answers)}
    groups = FakeGroups({SHARED: shared})
    moves = take_over(hook("ci", isolation="own", start="latest"), Script("chat")).plan(groups)
    assert {offset for move in moves for offset, _ in move.positions.values()} == {END if is_new else 5}


def test_a_rename_that_was_taken_back_and_done_again_takes_nothing_back() -> None:
    """P6: while the hook had its old name again it went on there, and what it was done with stays done."""
    build = f"{SHARED}.build"
    groups = FakeGroups(
        {
            SHARED: everywhere(position(60)),
            build: everywhere(position(20)),
            CI: {0: position(30, settled=4), 1: position(10)},
        }
    )
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(groups)
    assert groups.groups.keys() == {SHARED, build}
    places = {number: Place.read(at) for number, at in groups.groups[build].items()}
    assert {number: place.offset for number, place in places.items()} == {0: 30, 1: 20}
    assert [places[0].marks.is_settled(offset) for offset in (29, 30, 34, 35)] == [True, False, True, False]


def test_what_the_old_name_began_behind_is_not_done() -> None:
    """P1: the old name was new again, and began where its start says: what lies before is the hook's work still."""
    build = f"{SHARED}.build"
    groups = FakeGroups({SHARED: everywhere(position(60)), build: everywhere(position(20))})
    take_over(hook("ci", start="latest"), isolation="per-hook").run(groups)
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(groups)
    assert groups.groups.keys() == {SHARED, build}
    assert {Place.read(at).offset for at in groups.groups[build].values()} == {20}


@pytest.mark.parametrize("isolation", [None, "own"])
def test_a_rename_that_is_told_late_loses_nothing(isolation: str | None) -> None:
    """P1: a hook that began anew under its new name does what its old one had left, once settings say whom it was."""
    groups = FakeGroups({SHARED: everywhere(position(60, "chat")), CI: everywhere(position(40, settled=5))})
    take_over(hook("build", isolation="own", start="latest"), Script("chat")).run(groups)
    assert {Place.read(at).offset for at in groups.groups[f"{SHARED}.build"].values()} == {END}
    take_over(hook("build", renamed_from="ci", isolation=isolation), Script("chat")).run(groups)
    target = f"{SHARED}.build" if isolation else SHARED
    assert groups.groups.keys() == {SHARED, target}
    places = [Place.read(at) for at in groups.groups[target].values()]
    assert {place.offset for place in places} == {40}
    assert not any(place.marks.is_settled(offset) for place in places for offset in (40, 46, 59, END - 1))
    assert isolation is None or all(place.marks.is_settled(45) for place in places)


def test_a_hook_shares_again_what_it_has_done_under_both_of_its_names() -> None:
    """P6: the groups of both names are joined before they go."""
    groups = FakeGroups(
        {SHARED: everywhere(position(60)), f"{SHARED}.build": everywhere(position(20)), CI: everywhere(position(30))}
    )
    take_over(hook("build", renamed_from="ci")).run(groups)
    assert groups.groups.keys() == {SHARED}
    assert {Place.read(at).offset for at in groups.groups[SHARED].values()} == {30}


@pytest.mark.parametrize(("names", "is_told"), [(("chat",), True), (("chat", "ci"), False), ((), False)])
def test_a_group_that_may_not_be_seen_is_told_where_it_may_have_something_left(
    names: tuple[str, ...],
    is_told: bool,  # noqa: FBT001 - a parameter of pytest's
    caplog: pytest.LogCaptureFixture,
) -> None:
    """P1: a hook that shares the group anew, and whose own one may not be seen, is named; who shares as before is not."""
    at = position(40, *names) if names else (40, "")
    groups = FakeGroups({SHARED: everywhere(at), CI: everywhere(position(20))})
    groups.hidden = {CI, CHAT}
    assert take_over(Script("ci"), Script("chat")).plan(groups) == []
    told = [record for record in caplog.records if "may not be seen" in record.getMessage()]
    assert [record.levelname for record in told] == (["WARNING"] if is_told else [])


def test_a_group_that_never_said_whom_it_ran_has_run_all() -> None:
    """P6: commits of a release before rosters are taken over too."""
    groups = FakeGroups({SHARED: everywhere((5, ""))})
    take_over(Script("ci"), isolation="per-hook").run(groups)
    assert groups.groups[CI] == everywhere((5, ""))


@pytest.mark.parametrize(("start", "offset"), [("earliest", 0), ("latest", END), ("1970-01-01T00:00:00.077Z", 77)])
def test_a_new_group_begins_where_its_start_says(start: str, offset: int) -> None:
    """P1: every partition is committed before the first poll, as the hook says, else as the domain does."""
    groups = FakeGroups({SHARED: everywhere(position(5))})
    take_over(hook("ci", start=start), Script("chat"), isolation="per-hook", start="latest").run(groups)
    for group, at in ((CI, offset), (CHAT, END)):
        assert {number: Place.read(each).offset for number, each in groups.groups[group].items()} == everywhere_at(at)


def test_a_new_group_without_a_start_is_refused_by_name() -> None:
    """P1: nobody guesses whether a hook wants what the topic holds; all that lack a start are told at once."""
    groups = FakeGroups({SHARED: everywhere(position(5, "ci"))})
    with pytest.raises(SettingsError) as refused:
        take_over(Script("ci"), Script("chat"), Script("audit"), isolation="per-hook").run(groups)
    assert [name in str(refused.value) for name in ("chat", "audit", '"ci"')] == [True, True, False]
    assert groups.groups.keys() == {SHARED}


def test_one_hook_may_have_a_group_of_its_own() -> None:
    """`isolation = "own"` moves that hook alone."""
    groups = FakeGroups({SHARED: everywhere(position(5, "ci", "chat"))})
    take_over(hook("ci", isolation="own"), Script("chat")).run(groups)
    assert groups.groups.keys() == {SHARED, CI}


def test_the_way_back_goes_on_where_the_last_was() -> None:
    """P5, P6: the shared group stands at the lowest offset with work; what is done beyond it is said; the groups go."""
    saved = write_saved([(entry_of("chat", done=False)[0], 0, 0, 3, 3, 0, 0)])
    groups = FakeGroups(
        {
            SHARED: everywhere(position(40)),
            CI: everywhere(position(20)),
            CHAT: everywhere(position(10, settled=5, saved=saved)),
        }
    )
    take_over(Script("ci"), Script("chat")).run(groups)
    assert groups.groups.keys() == {SHARED}
    for at in groups.groups[SHARED].values():
        place = Place.read(at)
        assert place.offset == 10
        assert place.runs("ci")
        assert place.runs("chat")
        assert [place.marks.is_settled(offset) for offset in (10, 11, 15, 16, 39)] == [False, True, True, False, False]
        state = place.marks.state_of(10)
        assert state is not None
        entries = read_saved(state.saved)
        assert entries[entry_of("chat", done=False)[0]][3] == 3
        assert entries[entry_of("", done=True)[0]] == entry_of("", done=True)


def test_a_partition_that_a_group_never_read_is_behind() -> None:
    """P1: where one group has committed nothing all that the partition holds is open for its hook."""
    groups = FakeGroups({SHARED: everywhere(position(40)), CI: {0: position(20)}})
    take_over(Script("ci")).run(groups)
    assert {number: offset for number, (offset, _) in groups.groups[SHARED].items()} == {0: 20, 1: 0}


def test_a_renamed_hook_keeps_its_group() -> None:
    """The old name's offsets move to the new name's group, and the old group goes."""
    groups = FakeGroups({SHARED: everywhere(position(5)), CI: everywhere(position(7))})
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(groups)
    assert groups.groups == {SHARED: everywhere(position(5)), f"{SHARED}.build": everywhere(position(7))}


def test_a_hook_may_be_renamed_and_change_groups_at_once() -> None:
    """P6: the shared group's roster, and a hook's own group, know it by its old name."""
    there = FakeGroups({SHARED: everywhere(position(5, "ci"))})
    take_over(hook("build", renamed_from="ci"), isolation="per-hook").run(there)
    assert {Place.read(each).offset for each in there.groups[f"{SHARED}.build"].values()} == {5}
    back = FakeGroups({SHARED: everywhere(position(9)), CI: everywhere(position(7))})
    take_over(hook("build", renamed_from="ci")).run(back)
    assert back.groups.keys() == {SHARED}
    assert {Place.read(each).offset for each in back.groups[SHARED].values()} == {7}


@pytest.mark.parametrize("isolation", ["shared", "per-hook"])
def test_a_crash_between_the_steps_only_repeats(isolation: str) -> None:
    """P1, P6: wherever the process goes down, the next one ends where an uninterrupted one would have."""
    before = {
        SHARED: everywhere(position(40, *(["ci", "chat"] if isolation == "per-hook" else []))),
        **({CI: everywhere(position(20)), CHAT: everywhere(position(30))} if isolation == "shared" else {}),
    }
    wanted = FakeGroups(before)
    take_over(Script("ci"), Script("chat"), isolation=isolation).run(wanted)
    for steps in count():
        groups = FakeGroups(before)
        groups.crash_after = steps
        try:
            take_over(Script("ci"), Script("chat"), isolation=isolation).run(groups)
        except SystemExit:
            groups.crash_after = None
            take_over(Script("ci"), Script("chat"), isolation=isolation).run(groups)
            assert groups.groups == wanted.groups, steps
        else:
            break
    assert steps >= 2


@pytest.mark.parametrize("isolation", ["shared", "per-hook"])
@pytest.mark.parametrize("renamed", [False, True])
def test_two_processes_that_begin_at_once_do_it_once(isolation: str, renamed: bool) -> None:  # noqa: FBT001 - a parameter
    """P1, P6: whenever one of them does it while the other looks, both end where one alone would have."""
    hooks = (hook("build", renamed_from="ci") if renamed else Script("ci")), Script("chat")
    before = {SHARED: everywhere(position(40, *(["chat", "ci"] if isolation == "per-hook" and not renamed else [])))}
    if isolation == "shared" or renamed:
        before |= {CI: everywhere(position(20)), CHAT: everywhere(position(30))}
    wanted = FakeGroups(before)
    take_over(*hooks, isolation=isolation).run(wanted)
    for look in range(1, 6):
        groups = FakeGroups(before)

        def other(groups: FakeGroups = groups) -> None:
            take_over(*hooks, isolation=isolation).run(groups)
            if isolation == "per-hook":  # its shared group has begun, and says that it runs nobody
                groups.groups[SHARED] = everywhere(position(40))

        groups.meanwhile = (look, other)
        take_over(*hooks, isolation=isolation).run(groups)
        assert {g: at for g, at in groups.groups.items() if g != SHARED or isolation == "shared"} == {
            g: at for g, at in wanted.groups.items() if g != SHARED or isolation == "shared"
        }, look


def test_a_group_that_was_left_behind_catches_up() -> None:
    """P6: a hook's group that could not be deleted takes nothing back when the hook has it again."""
    groups = FakeGroups({SHARED: everywhere(position(40, "ci")), CI: everywhere(position(20))})
    take_over(Script("ci"), isolation="per-hook").run(groups)
    assert {Place.read(each).offset for each in groups.groups[CI].values()} == {40}


def test_a_shared_group_that_runs_others_moves_nobody() -> None:
    """P1: the position of the shared group means nothing to a hook that it does not run, nor one that a tool has set."""
    for at in (position(40, "chat"), (40, "")):
        groups = FakeGroups({SHARED: everywhere(at), CI: everywhere(position(20))})
        take_over(hook("ci", isolation="own"), Script("chat")).run(groups)
        assert groups.groups[CI] == everywhere(position(20))


@pytest.mark.parametrize("busy", [SHARED, CI])
@pytest.mark.parametrize("isolation", ["shared", "per-hook"])
def test_a_group_with_members_is_left_alone(busy: str, isolation: str) -> None:
    """P6: what a member settles meanwhile would be forgotten, so neither source nor target may have any."""
    before = {SHARED: everywhere(position(40, "ci"))} | ({CI: everywhere(position(9))} if isolation == "shared" else {})
    groups = FakeGroups(before)
    groups.members.add(busy)
    with pytest.raises(GroupInUseError):
        take_over(Script("ci"), isolation=isolation).run(groups)
    assert groups.groups == before


def test_what_a_member_settles_that_came_in_between_is_taken_over_too() -> None:
    """P6: one that joins after the look and before the commit is found behind it, and the move ends once it has left."""
    groups = _Joined({SHARED: everywhere(position(40, "ci"))})
    moving = take_over(Script("ci"), isolation="per-hook")
    with pytest.raises(GroupInUseError):
        moving.run(groups)
    groups.groups[SHARED] = everywhere(position(60, "ci"))
    groups.members.clear()
    moving.run(groups)
    assert {place.offset for place in map(Place.read, groups.groups[CI].values())} == {60}


async def test_others_are_waited_for_and_then_named() -> None:
    """A replica that leaves in time lets the move through; one that stays fails the start, which says whom to stop."""
    groups = FakeGroups({SHARED: everywhere(position(40, "ci"))})
    groups.members.add(SHARED)
    keeper = keeper_of(groups, patience_seconds=0.0)
    with pytest.raises(SettingsError) as refused:
        await keeper.settle()
    assert SHARED in str(refused.value)
    groups.members.clear()
    keeper = keeper_of(groups)
    assert not keeper.check().ok
    await keeper.settle()
    assert keeper.check().ok
    assert CI in groups.groups


async def test_kafka_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """P9: while it is away nothing is decided; readiness tells why."""
    monkeypatch.setattr("hookline.service._groups._PAUSE_SECONDS", 0.0)
    groups = FakeGroups({SHARED: everywhere(position(40, "ci"))})
    reasons: list[str] = []

    def connect(_: ClientConfig, __: float) -> FakeGroups:
        reasons.append(keeper.check().reason)
        if len(reasons) < 3:
            raise BrokerUnreachableError("h:1", "connecting")
        return groups

    keeper = GroupKeeper(settings_of().client_config(), take_over(Script("ci"), isolation="per-hook"), connect=connect)
    await keeper.settle()
    assert ["h:1" in reason for reason in reasons] == [False, True, True]
    assert keeper.check().ok


async def test_others_have_their_time_again_after_kafka_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """P9: while it was away nobody could be seen to leave, so the time that they are given begins anew."""
    monkeypatch.setattr("hookline.service._groups._PAUSE_SECONDS", 0.0)
    now = 0.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    groups = FakeGroups({SHARED: everywhere(position(40, "ci"))})
    answers = ["in use", "away", "in use", "empty"]

    def connect(_: ClientConfig, __: float) -> FakeGroups:
        nonlocal now
        now += 50.0
        answer = answers.pop(0)
        if answer == "away":
            raise BrokerUnreachableError("h:1", "connecting")
        groups.members = {SHARED} if answer == "in use" else set()
        return groups

    moves = take_over(Script("ci"), isolation="per-hook")
    await GroupKeeper(settings_of().client_config(), moves, patience_seconds=60.0, connect=connect).settle()
    assert CI in groups.groups


def keeper_of(groups: FakeGroups, **more: Any) -> GroupKeeper:
    moves = take_over(Script("ci"), isolation="per-hook")
    return GroupKeeper(settings_of().client_config(), moves, connect=lambda _, __: groups, **more)


class _Joined(FakeGroups):
    """Groups whose shared one is joined while another is committed for the first time."""

    def commit(self, group: str, topic: str, positions: Mapping[int, Position]) -> None:
        """Commit; somebody comes."""
        is_new = group not in self.groups
        super().commit(group, topic, positions)
        if is_new:
            self.members.add(SHARED)
